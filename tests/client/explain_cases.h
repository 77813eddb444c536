#pragma once

#include <string>
#include <vector>

#include "simulated_peers.h"

/// What is asked of which machines: each has its explanation in tests/cases/explain.
struct ExplainCase {
  std::string name;
  std::string words;  ///< the options, with blanks between
  std::vector<simulated::PeerView> peers;
};

namespace simulated {

constexpr auto cuda = AcceleratorKind::cuda;
constexpr auto rocm = AcceleratorKind::rocm;
constexpr auto mps = AcceleratorKind::mps;

inline PythonEnvironment debian() {
  return environment("system", {{"numpy", build("numpy", "1.24.2")},
                                {"torch", build("torch", "1.13.0a0+gitunknown")}});
}
inline PythonEnvironment llm() {
  return environment("~/venvs/llm", {{"torch", build("torch", "2.4.0+cu121", {cuda})},
                                     {"vllm", build("vllm", "0.6.3")}});
}
inline PythonEnvironment jax(std::string version, std::vector<AcceleratorKind> kinds = {cuda}) {
  return environment("~/venvs/jax", {{"jax", build("jax", std::move(version), std::move(kinds))}});
}

inline PeerView with_holds(PeerView view, std::vector<DeviceHold> holds) {
  view.holds = std::move(holds);
  return view;
}
inline PeerView with_labels(PeerView view, std::vector<gpl::Label> labels) {
  view.labels = std::move(labels);
  return view;
}
inline PeerView with_problem(PeerView view, gpl::ProbeProblem problem) {
  view.problems.push_back(std::move(problem));
  return view;
}
inline PeerView lost(PeerView view, Duration reported, Duration silent) {
  view.reported_at = ago(reported);
  view.unreachable_since = ago(silent);
  return view;
}
inline PeerView silent(std::string name) {
  PeerView view;
  view.name = std::move(name);
  return view;
}
inline PeerView busy_host(PeerView view, int cpus, std::uint64_t memory_gib) {
  view.cpus_held = cpus;
  view.memory_held_bytes = gib(memory_gib);
  return view;
}
inline Accelerator used(Accelerator card, std::uint64_t memory_gib) {
  card.memory_used_bytes = gib(memory_gib);
  return card;
}
inline Accelerator old_driver(Accelerator card) {
  card.memory_bytes.reset();
  card.compute_capability.reset();
  return card;
}

inline PeerView lab1() { return peer("lab1", {rtx4090(0), rtx4090(1), rtx4090(2)}, {debian()}); }
inline PeerView mac() {
  return peer("mac", {m3()},
              {environment("~/venvs/mlx", {{"mlx", build("mlx", "0.9.0", {mps})},
                                           {"torch", build("torch", "2.4.0", {mps})}})});
}
inline gpl::ProbeProblem mismatch() {
  return {"nvidia-smi", 18, "Failed to initialize NVML: Driver/library version mismatch"};
}

inline std::vector<ExplainCase> cases_of_devices() {
  const Accelerator card = rtx4090(0);
  const Accelerator second = rtx4090(1);
  return {
      {"nothing_asked", "", {lab1()}},
      {"no_peers", "--gpu cuda", {}},
      {"one_card", "--gpu cuda", {lab1()}},
      {"cards_of_two_peers", "--gpus 2", {lab1(), peer("lab2", {h100(0), h100(1)}), mac()}},
      {"smallest_card_that_serves",
       "--gpu cuda --gpu-memory 12G",
       {peer("lab3", {h100(0), rtx4090(1), t4(2)})}},
      {"none_of_the_kind_anywhere",
       "--gpu rocm",
       {lab1(), peer("lab2", {h100(0)}), peer("lab3", {t4(0)})}},
      {"none_of_the_kind_here", "--gpu xpu", {mac()}},
      {"no_devices_at_all", "--gpu any", {peer("plain")}},
      {"any_kind_of_mixed_vendors", "--gpu any", {peer("mixed", {rtx4090(0), mi300(0), arc(0)})}},
      {"two_of_any_kind_are_of_one_kind",
       "--gpus 2",
       {peer("mixed", {rtx4090(0), mi300(0)}), peer("amd", {mi300(0), mi300(1)})}},
      {"two_of_any_kind_where_each_has_one", "--gpus 2", {peer("mixed", {rtx4090(0), mi300(0)})}},
      {"any_kind_while_both_are_held",
       "--gpu any",
       {with_holds(peer("mixed", {rtx4090(0), mi300(0)}),
                   {hold(card, "job 12", minutes(3), minutes(57)),
                    hold(mi300(0), "job 13", minutes(1), minutes(9))})}},
      {"too_few_cards", "--gpus 4 --gpu cuda", {lab1(), peer("lab2", {h100(0)}), mac()}},
      {"too_little_memory",
       "--gpu cuda --gpu-memory 40G",
       {lab1(), peer("lab2", {t4(0), rtx4090(1)}), mac()}},
      {"memory_that_only_looks_equal", "--gpu cuda --gpu-memory 24Gi", {[] {
         PeerView view = peer("lab1", {rtx4090(0)});
         view.accelerators[0].memory_bytes = gib(24) - 12'345'678;
         return view;
       }()}},
      {"memory_unknown_is_not_zero",
       "--gpu cuda --gpu-memory 10G --compute-capability 8.0",
       {peer("old", {old_driver(t4(0))})}},
      {"memory_unknown_does_not_matter_when_not_asked",
       "--gpu cuda",
       {peer("old", {old_driver(t4(0)), rtx4090(1)})}},
      {"compute_capability_too_low",
       "--gpu cuda --compute-capability 10.0",
       {lab1(), peer("lab2", {h100(0), t4(1)})}},
      {"compute_capability_is_compared_by_number",
       "--gpu cuda --compute-capability 9.0",
       {peer("dgx", {gb10(0)})}},
      {"model_glob", "--gpu-model *h100*", {lab1(), peer("lab2", {h100(0)})}},
      {"model_without_stars", "--gpu-model 4090", {lab1()}},
      {"model_that_nobody_has",
       "--gpu-model *B200* --gpu-memory 100G",
       {lab1(), peer("lab2", {h100(0)})}},
      {"unified_memory_is_the_hosts",
       "--gpu cuda --gpu-memory 100G",
       {peer("dgx", {gb10(0)}), peer("lab2", {h100(0)})}},
      {"unified_memory_has_an_end", "--gpu mps --gpu-memory 64G", {mac()}},
      {"card_that_needs_a_reset",
       "--gpus 3 --gpu cuda",
       {peer("lab1",
             {rtx4090(0), rtx4090(1), broken(rtx4090(2), "GPU 00000000:17:00.0 requires reset")})}},
      {"driver_is_broken", "--gpu cuda", {with_problem(peer("lab1"), mismatch()), mac()}},
      {"card_that_cannot_be_named", "--gpu cuda", {[] {
         PeerView view = peer("lab1", {broken(t4(0), "GPU is lost"), t4(1)});
         view.accelerators[1].uuid.clear();
         return view;
       }()}},
      {"outside_words_cannot_drive_a_terminal",
       "--gpu cuda",
       {peer("lab1", {broken(t4(0),
                             "lost\x1b[2J\n\xc2\x9b"
                             "31mnow")})}},
  };
}

inline std::vector<ExplainCase> cases_of_slices() {
  const PeerView mig = peer("mig", {cut_a100(0)});
  DeviceHold big = hold(cut_a100(0), "job 7 of bob", minutes(12), minutes(48));
  big.slice = "MIG-0a";
  DeviceHold whole = hold(cut_a100(0), "job 8", minutes(2));
  return {
      {"slice_of_a_card", "--gpu cuda", {mig}},
      {"slice_with_enough_memory", "--gpu cuda --gpu-memory 16G", {mig}},
      {"slice_that_is_held", "--gpu cuda --gpu-memory 16G", {with_holds(mig, {big})}},
      {"other_slice_of_the_card", "--gpu cuda --gpu-memory 8G", {with_holds(mig, {big})}},
      {"slices_all_too_small", "--gpu cuda --gpu-memory 30G", {mig}},
      {"slices_while_the_card_is_held", "--gpu cuda", {with_holds(mig, {whole})}},
      {"two_slices_are_not_given", "--gpus 2 --gpu cuda", {mig}},
      {"slices_beside_whole_cards",
       "--gpus 2 --gpu cuda",
       {peer("mig", {cut_a100(0), rtx4090(1), rtx4090(2)})}},
  };
}

inline std::vector<ExplainCase> cases_of_holds() {
  const Accelerator a = rtx4090(0);
  const Accelerator b = rtx4090(1);
  const Accelerator c = rtx4090(2);
  const DeviceHold job12 = hold(b, "job 12", minutes(3), minutes(57));
  const PeerView two = peer("lab2", {a, b});
  return {
      {"held_with_a_limit", "--gpus 2 --gpu cuda", {with_holds(two, {job12})}},
      {"held_without_a_limit",
       "--gpus 2 --gpu cuda",
       {with_holds(two, {hold(b, "job 3 of ana", hours(26))})}},
      {"held_past_its_limit",
       "--gpus 2 --gpu cuda",
       {with_holds(two, {hold(b, "job 4", hours(2), minutes(-1))})}},
      {"held_by_several_jobs",
       "--gpus 2 --gpu cuda",
       {with_holds(lab1(), {hold(a, "job 12", minutes(3), minutes(57)),
                            hold(b, "job 13", minutes(2), minutes(10)),
                            hold(c, "job 14", minutes(1), minutes(30))})}},
      {"held_by_jobs_that_all_have_to_end",
       "--gpus 3 --gpu cuda",
       {with_holds(lab1(),
                   {hold(a, "job 12", minutes(3), minutes(57)), hold(b, "job 13", minutes(2))})}},
      {"held_by_one_job_alone",
       "--gpus 2 --gpu cuda",
       {with_holds(lab1(), {hold(a, "job 12", minutes(3)), hold(b, "job 12", minutes(3)),
                            hold(c, "job 12", minutes(3))})}},
      {"held_and_too_few", "--gpus 3 --gpu cuda", {with_holds(two, {job12})}},
      {"the_sooner_of_two_peers",
       "--gpu cuda",
       {with_holds(peer("lab1", {a}), {hold(a, "job 1", minutes(9))}),
        with_holds(peer("lab2", {a}), {hold(a, "job 2", minutes(9), hours(5))}),
        with_holds(peer("lab3", {a}), {hold(a, "job 3", minutes(9), minutes(40))})}},
      {"two_share_a_card",
       "--gpu-memory 10Gi --gpu-share",
       {with_holds(peer("lab1", {a}), {share(a, 10, "job 3")})}},
      {"no_room_left_to_share",
       "--gpu-memory 10Gi --gpu-share",
       {with_holds(peer("lab1", {used(a, 22)}),
                   {share(a, 10, "job 3", minutes(5)), share(a, 9, "job 4", minutes(20))})}},
      {"a_whole_card_is_not_shared",
       "--gpu-memory 10Gi --gpu-share",
       {with_holds(peer("lab1", {a}), {hold(a, "job 3", minutes(3))})}},
      {"a_shared_card_is_not_whole",
       "--gpu cuda",
       {with_holds(peer("lab1", {a}), {share(a, 4, "job 3")})}},
      {"memory_used_outside_gpl",
       "--gpu cuda --gpu-memory 20Gi",
       {peer("lab1", {used(a, 8), used(b, 23)})}},
      {"memory_used_outside_and_held",
       "--gpus 2 --gpu cuda --gpu-memory 20Gi",
       {with_holds(peer("lab1", {used(a, 8), b}), {job12})}},
      {"unified_memory_shared_out",
       "--gpu-memory 64Gi --gpu-share",
       {with_holds(peer("dgx", {gb10(0)}), {share(gb10(0), 100, "job 3")})}},
      {"cpus_and_memory_held", "--cpus 8 --memory 64Gi", {busy_host(lab1(), 30, 100)}},
      {"cpus_and_memory_beyond_the_machine",
       "--cpus 64 --memory 1000Gi",
       {lab1(), busy_host(mac(), 8, 0)}},
      {"device_and_cpus_held",
       "--gpu cuda --cpus 8",
       {busy_host(with_holds(peer("lab1", {b}), {job12}), 30, 0)}},
  };
}

inline std::vector<ExplainCase> cases_of_frameworks() {
  PythonEnvironment bare = jax("0.4.35");
  bare.python.clear();
  const PythonEnvironment onnx =
      environment("~/venvs/onnx", {{"onnxruntime", build("onnxruntime-gpu", "1.17.1", {cuda})}});
  const PythonEnvironment cpu =
      environment("~/venvs/cpu", {{"torch", build("torch", "2.4.0+cpu")}});
  const PythonEnvironment hip =
      environment("~/venvs/rocm", {{"torch", build("torch", "2.4.0+rocm6.1", {rocm})}});
  return {
      {"framework_not_installed", "--framework jax", {lab1()}},
      {"framework_not_installed_on_several_peers",
       "--framework jax>=0.4.30",
       {lab1(), peer("lab2", {}, {llm(), debian(), onnx}), peer("bare")}},
      {"framework_version", "--framework mlx>=0.10", {mac()}},
      {"prerelease_is_below_its_release", "--framework torch>=1.13", {lab1()}},
      {"prerelease_counts_as_installed", "--framework torch>=1.12", {lab1()}},
      {"nearest_environment_is_told",
       "--framework jax>=0.4.30",
       {peer("lab1", {}, {debian(), jax("0.4.26")})}},
      {"frameworks_in_different_environments",
       "--framework torch>=2 --framework jax --framework numpy",
       {peer("lab1", {}, {llm(), jax("0.4.30")})}},
      {"every_lack_of_the_nearest_environment",
       "--framework torch>=2.5 --framework vllm<0.6 --framework numpy",
       {peer("lab1", {rtx4090(0)}, {llm()})}},
      {"environment_by_name",
       "--environment ~/venvs/jax --framework jax",
       {peer("lab1", {}, {debian(), jax("0.4.30")})}},
      {"environment_by_folder",
       "--environment /home/ana/venvs/jax/",
       {peer("lab1", {}, {debian(), jax("0.4.30")})}},
      {"environment_missing", "--environment ~/venvs/tf --framework torch.cuda", {lab1()}},
      {"environment_without_python",
       "--environment ~/venvs/jax --framework jax",
       {peer("lab1", {}, {debian(), bare})}},
      {"torch_cuda_fits", "--gpu cuda --framework torch.cuda", {peer("lab1", {t4(0)}, {llm()})}},
      {"torch_cuda_with_a_cpu_build",
       "--gpu cuda --framework torch.cuda",
       {peer("lab1", {t4(0)}, {cpu})}},
      {"torch_cuda_without_a_device", "--framework torch.cuda", {peer("lab1", {}, {llm()})}},
      {"torch_cuda_with_an_unusable_device",
       "--framework torch.cuda",
       {peer("lab1", {broken(t4(0), "GPU requires reset")}, {llm()})}},
      {"torch_cuda_on_debian", "--framework torch.cuda>=2", {peer("debian", {}, {debian()})}},
      {"torch_cuda_with_a_broken_driver",
       "--gpu cuda --framework torch.cuda",
       {with_problem(peer("lab1", {}, {llm()}), mismatch())}},
      {"torch_rocm_takes_the_amd_card",
       "--gpus 1 --framework torch.rocm",
       {peer("mixed", {rtx4090(0), mi300(0)}, {llm(), hip})}},
      {"distribution_by_its_own_name",
       "--framework onnxruntime-gpu>=1.18",
       {peer("lab1", {}, {onnx})}},
      {"cuda_job_needs_no_torch", "--gpu cuda", {peer("lab1", {rtx4090(0)})}},
  };
}

inline std::vector<ExplainCase> cases_of_peers() {
  const PeerView old = lost(peer("old", {t4(0), t4(1)}, {jax("0.4.26")}), hours(2), hours(1));
  const PeerView away = lost(peer("away", {t4(0)}, {jax("0.4.35")}), hours(2), hours(1));
  const PeerView lab2 = with_holds(peer("lab2", {rtx4090(0), rtx4090(1)}, {jax("0.4.30")}),
                                   {hold(rtx4090(1), "job 12", minutes(3), minutes(57))});
  return {
      {"sketch_of_the_design",
       "--gpus 2 --gpu cuda --framework jax>=0.4.30",
       {lab1(), lab2, mac(), old}},
      {"nearest_is_unreachable", "--framework jax>=0.4.30", {lab1(), mac(), old}},
      {"only_an_unreachable_peer_would_do", "--framework jax>=0.4.30", {lab1(), away}},
      {"peer_that_has_not_reported", "--gpu cuda", {mac(), silent("new")}},
      {"peer_with_an_old_report", "--gpu cuda", {[] {
         PeerView view = lab1();
         view.reported_at = ago(minutes(6));
         return view;
       }()}},
      {"on_another_peer", "--on mac --gpu cuda", {lab1(), mac()}},
      {"on_a_peer_that_nobody_knows", "--on lab9 --gpu cuda", {lab1(), mac()}},
      {"on_a_peer_that_has_not_reported", "--on lab9", {lab1(), silent("lab9"), silent("lab8")}},
      {"labels",
       "--label zone=a --label disk=nvme",
       {with_labels(lab1(), {{"zone", "a"}, {"disk", "nvme"}}),
        with_labels(peer("lab2"), {{"zone", "b"}}), mac()}},
      {"labels_that_nobody_has",
       "--label zone=a --label disk=nvme",
       {with_labels(peer("lab2"), {{"zone", "b"}, {"zone", "c"}}),
        with_labels(mac(), {{"zone", "a"}})}},
      {"everything_is_wrong",
       "--on lab9 --label zone=a --cpus 64 --memory 500Gi --gpus 4 --gpu cuda --gpu-memory 40Gi "
       "--gpu-model *A100* --compute-capability 9.0 --framework jax>=0.4.30 --framework torch.cuda",
       {lost(peer("lab1", {rtx4090(0), broken(t4(1), "GPU is lost")}, {debian()}), hours(3),
             hours(2))}},
  };
}

}  // namespace simulated
