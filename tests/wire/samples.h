#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpl/core/command.h"

/// Fixed values with something in every field.
namespace gpl::wire {

inline JobDescription sample_job() {
  JobDescription job;
  job.spec.command = {"python", "train.py", std::string("\0\xff", 2)};
  job.spec.name = "train";
  job.spec.env = {{"LANG", "C"}, {"EMPTY", ""}};
  job.spec.stage = {"data"};
  job.spec.staging = StagingMode::none;
  job.spec.folder = "/home/ana/work";
  job.spec.outputs = {"*.pt"};
  job.spec.pass_stdin = true;
  job.spec.secrets = {"TOKEN"};
  job.spec.time_limit = seconds(5400);
  job.requirement.gpus = 2;
  job.requirement.kind = AcceleratorKind::cuda;
  job.requirement.gpu_memory_bytes = std::uint64_t{40} << 30;
  job.requirement.gpu_share = true;
  job.requirement.gpu_model = "*H100*";
  job.requirement.compute_capability = ComputeCapability{9, 0};
  job.requirement.cpus = 8;
  job.requirement.memory_bytes = std::uint64_t{64} << 30;
  job.requirement.frameworks = {FrameworkWish::parse("torch.cuda >=2.1,<3").value(),
                                FrameworkWish::parse("jax").value()};
  job.requirement.environment = "ml";
  job.requirement.on = "lab2";
  job.requirement.labels = {{"rack", "7"}};
  job.shape = Array{{TaskId{0}, TaskId{99}}, 4};
  job.tree = std::string(32, 't');
  job.on_loss = OnLoss::retry;
  job.lease = seconds(240);
  job.retries = 3;
  job.priority = -5;
  job.after = {{JobId{7}, After::any}};
  job.held = true;
  job.allow_pending = true;
  return job;
}

inline Allocation sample_allocation() {
  return {4,
          std::uint64_t{16} << 30,
          {{{AcceleratorKind::cuda, 1, ""}, std::nullopt},
           {{AcceleratorKind::rocm, 0, "MIG-1"}, std::uint64_t{1} << 33}},
          "/opt/ml"};
}

inline PeerOffer sample_offer() {
  Accelerator card;
  card.id = "cuda:0";
  card.kind = AcceleratorKind::cuda;
  card.vendor = "nvidia";
  card.name = "NVIDIA H100";
  card.index = 1;
  card.uuid = "GPU-1";
  card.memory_bytes = std::uint64_t{80} << 30;
  card.memory_used_bytes = 0;
  card.unified_memory = true;
  card.compute_capability = ComputeCapability{9, 0};
  card.driver = "550.54";
  card.pci = "0000:01:00.0";
  card.mig_mode = false;
  card.partitions = {{"MIG-1", "3g.40gb", std::uint64_t{40} << 30, 2}};
  card.usable = true;
  card.problems = {"hot"};
  FrameworkBuild torch = {"2.4.0+cu121",           "torch", {"torch"}, true,
                          {AcceleratorKind::cuda}, "12.1",  {"old"}};
  return {"lab1",
          {"lab1", "linux", "x86_64", "6.1.0", 64, std::uint64_t{512} << 30},
          {card},
          {{"ml", "/opt/ml", "/opt/ml/bin/python", "3.11.2", {{"torch", torch}}, {"slow"}}},
          {{"nvidia-smi", 18, "no devices"}},
          {{"rack", "7"}},
          2,
          "draining"};
}

/// At least one of each alternative, in their order.
inline std::vector<Command> sample_commands() {
  const Instant at{1750000000123};
  const PeerId peer{0x99aabbccddeeff01};
  const Fence fence{2, AttemptId{300}};
  const command::Placing placing = {{TaskId{1}, TaskId{70000}}, peer, sample_allocation()};
  const RequestId request{0x0123456789abcdef, 0xfedcba9876543210};
  JobDescription gang = JobDescription{};
  gang.shape = Gang{4, "torchrun"};
  JobDescription service = JobDescription{};
  service.shape = Service{2};
  return {
      command::Submit{request, {"client-1", peer, 1000}, sample_job(), {placing}, at},
      command::Submit{{}, {}, {}, {}, {}},
      command::Submit{request, {}, gang, {}, at},
      command::Submit{request, {}, service, {}, at},
      command::Place{JobId{12}, placing, at},
      command::PlaceGang{JobId{12}, TaskId{3}, {{peer, sample_allocation()}}, 29500, 16, at},
      command::Start{fence, at},
      command::Report{fence, Exited{255}, at, false},
      command::Report{fence, Signalled{9, true}, at, true},
      command::Report{fence, TimedOut{9}, at, false},
      command::Report{fence, Cancelled{15}, at, false},
      command::Report{fence, FailedToStart{2, 127, "no such file"}, at, false},
      command::Report{fence, Lost{"the peer was given up"}, at, false},
      command::Cancel{JobId{12}, TaskRange{TaskId{5}, TaskId{9}}, at},
      command::Cancel{JobId{12}, std::nullopt, at},
      command::Hold{JobId{12}, at},
      command::Release{JobId{12}, at},
      command::PeerUp{peer, "boot/1/2", sample_offer(), at},
      command::PeerDown{peer, at},
      command::PeerForgotten{peer, at},
      command::AttemptsLost{peer, {fence, {2, AttemptId{301}}}, "rebooted", at},
      command::LeasesOver{peer, {fence}, at},
      command::Prune{{-1}, at},
      command::SetFeatureLevel{2, at},
      command::SetEpoch{3, at},
  };
}

}  // namespace gpl::wire
