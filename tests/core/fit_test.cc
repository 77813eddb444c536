#include "gpl/core/fit.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "gpl/core/explain.h"

using namespace gpl;

namespace {

constexpr Instant now{1'750'000'000'000};
constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

// Of full size from the first try on: small ones would all be broken, held and odd.
int upto(int most) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, most + 1)); }
bool one_in(int count) { return upto(count - 1) == 0; }
template <class T>
T any_of(std::vector<T> of) {
  return *rc::gen::elementOf(std::move(of));
}

Accelerator any_device(AcceleratorKind kind, int index) {
  Accelerator device;
  device.kind = kind;
  device.index = index;
  device.id = std::string(name_of(kind)) + ":" + std::to_string(index);
  device.name = any_of<std::string>({"NVIDIA A100", "Tesla T4", ""});
  if (!one_in(6)) device.uuid = "GPU-" + device.id;
  device.usable = !one_in(6);
  device.unified_memory = one_in(8);
  if (!one_in(5)) device.memory_bytes = static_cast<std::uint64_t>(upto(3) + 1) * 8 * gib;
  if (one_in(3)) device.memory_used_bytes = static_cast<std::uint64_t>(upto(24)) * gib;
  if (!one_in(5)) device.compute_capability = ComputeCapability{upto(3) + 7, upto(1)};
  if (kind != AcceleratorKind::cuda || !one_in(4)) return device;
  device.mig_mode = true;
  for (int i = upto(3); i > 0; --i) {
    device.partitions.push_back({"MIG-" + device.id + std::to_string(i), "1g",
                                 static_cast<std::uint64_t>(upto(2) + 1) * 4 * gib, i});
  }
  return device;
}

PythonEnvironment any_environment(int number) {
  PythonEnvironment environment;
  environment.name = "env" + std::to_string(number);
  environment.root = "/" + environment.name;
  if (!one_in(5)) environment.python = environment.root + "/bin/python3";
  for (const char* name : {"torch", "jax"}) {
    if (one_in(3)) continue;
    FrameworkBuild build;
    build.version = any_of<std::string>({"1.13.0a0", "2.0", "2.5+cu121", "odd one"});
    build.dist = name;
    build.dists = {name, std::string(name) + "-extra"};
    if (!one_in(3))
      build.backends.push_back(
          any_of<AcceleratorKind>({AcceleratorKind::cuda, AcceleratorKind::rocm}));
    environment.frameworks[name] = std::move(build);
  }
  return environment;
}

DeviceHold any_hold(const PeerView& peer) {
  const Accelerator& device = any_of(peer.accelerators);
  DeviceHold hold;
  hold.kind = device.kind;
  hold.index = device.index;
  hold.holder = "job " + std::to_string(upto(3));
  if (!device.partitions.empty() && !one_in(4)) hold.slice = any_of(device.partitions).uuid;
  if (!one_in(3)) hold.shared_memory_bytes = static_cast<std::uint64_t>(upto(12) + 1) * gib;
  if (!one_in(3)) hold.since = Instant{now.since_epoch_ms - upto(100'000)};
  if (!one_in(3)) hold.ends_by = Instant{now.since_epoch_ms + upto(100'000)};
  return hold;
}

void add_loads(PeerView& peer) {
  int cpus_left = peer.cpus_held;
  int gib_left = static_cast<int>(peer.memory_held_bytes / gib);
  for (int i = upto(4); i > 0; --i) {
    const int cpus = upto(cpus_left);
    const int held_gib = upto(gib_left);
    LoadHold load{cpus, static_cast<std::uint64_t>(held_gib) * gib, "job 1", now, std::nullopt};
    if (!one_in(3)) load.ends_by = Instant{now.since_epoch_ms + upto(100'000)};
    peer.loads.push_back(load);
    cpus_left -= cpus;
    gib_left -= held_gib;
  }
}

PeerView any_peer(const std::string& name) {
  PeerView peer;
  peer.name = name;
  peer.host.cpus = upto(3) * 8;
  peer.host.memory_bytes = static_cast<std::uint64_t>(upto(3)) * 16 * gib;
  for (const AcceleratorKind kind : {AcceleratorKind::cuda, AcceleratorKind::rocm}) {
    const int count = upto(3);
    for (int i = 0; i < count; ++i) peer.accelerators.push_back(any_device(kind, i));
  }
  for (int i = upto(2); i > 0; --i) peer.environments.push_back(any_environment(i));
  for (int i = peer.accelerators.empty() ? 0 : upto(3); i > 0; --i) {
    peer.holds.push_back(any_hold(peer));
  }
  if (one_in(3)) peer.cpus_held = upto(8);
  if (one_in(3)) peer.memory_held_bytes = static_cast<std::uint64_t>(upto(16)) * gib;
  add_loads(peer);
  if (!one_in(8)) peer.reported_at = now;
  if (one_in(8)) peer.unreachable_since = now;
  if (one_in(8)) peer.closed = "draining";
  if (!one_in(3)) peer.labels = {{"zone", any_of<std::string>({"a", "b"})}};
  return peer;
}

// A valid one: what contradicts is left out.
Requirement any_requirement() {
  Requirement asked;
  asked.gpus = upto(3);
  if (asked.gpus > 0) {
    if (one_in(3))
      asked.kind = any_of<AcceleratorKind>({AcceleratorKind::cuda, AcceleratorKind::rocm});
    if (one_in(2)) asked.gpu_memory_bytes = static_cast<std::uint64_t>(upto(20) + 1) * gib;
    asked.gpu_share = asked.gpu_memory_bytes && one_in(2);
    if (one_in(6)) asked.gpu_model = any_of<std::string>({"*a100", "tesla ??", "*"});
    if (one_in(5)) asked.compute_capability = ComputeCapability{8, 0};
  }
  if (one_in(4)) asked.cpus = upto(15) + 1;
  if (one_in(4)) asked.memory_bytes = static_cast<std::uint64_t>(upto(40) + 1) * gib;
  for (const char* text : {"torch>=2", "jax-extra", "torch.cuda", "jax.rocm<3"}) {
    if (one_in(6)) asked.frameworks.push_back(FrameworkWish::parse(text).value());
  }
  if (one_in(8)) asked.environment = any_of<std::string>({"env1", "/env2/", "env9"});
  if (one_in(8)) asked.on = any_of<std::string>({"p0", "p9"});
  if (one_in(8)) asked.labels = {{"zone", "a"}};
  if (!validate(asked).ok()) asked.frameworks.clear();
  return asked;
}

const Accelerator& device_of(const PeerView& peer, const DeviceChoice& choice) {
  return *std::find_if(peer.accelerators.begin(), peer.accelerators.end(),
                       [&](const Accelerator& device) {
                         return device.kind == choice.kind && device.index == choice.index;
                       });
}

std::optional<std::uint64_t> memory_of(const PeerView& peer, const DeviceChoice& choice) {
  const Accelerator& device = device_of(peer, choice);
  for (const Partition& slice : device.partitions) {
    if (slice.uuid == choice.slice) return slice.memory_bytes;
  }
  if (device.memory_bytes || !device.unified_memory || peer.host.memory_bytes == 0) {
    return device.memory_bytes;
  }
  return peer.host.memory_bytes;
}

// The rules once more, as plainly as they can be written: may one device be given?
bool may_have(const Requirement& asked, const PeerView& peer, const DeviceChoice& choice) {
  const Accelerator& device = device_of(peer, choice);
  const std::optional<std::uint64_t> memory = memory_of(peer, choice);
  if (!device.usable || choice.slice.empty() != device.partitions.empty()) return false;
  if (!choice.slice.empty() && asked.gpus != 1) return false;
  if (asked.kind && *asked.kind != choice.kind) return false;
  if (!asked.gpu_model.empty() && !matches_model(asked.gpu_model, device.name)) return false;
  if (asked.compute_capability && !(device.compute_capability >= asked.compute_capability)) {
    return false;
  }
  if (!device_environment({choice}, peer.accelerators).ok()) return false;
  std::uint64_t shared = 0;
  for (const DeviceHold& hold : peer.holds) {
    const bool same = hold.kind == choice.kind && hold.index == choice.index &&
                      (hold.slice == choice.slice || hold.slice.empty() || choice.slice.empty());
    if (same && !(asked.gpu_share && hold.shared_memory_bytes)) return false;
    if (same) shared += *hold.shared_memory_bytes;
  }
  if (!asked.gpu_memory_bytes) return true;
  const std::uint64_t used = choice.slice.empty() ? device.memory_used_bytes.value_or(0) : 0;
  return memory && std::max(used, shared) + *asked.gpu_memory_bytes <= *memory;
}

bool serves(const FrameworkWish& wish, const PythonEnvironment& environment) {
  for (const auto& [name, build] : environment.frameworks) {
    if (wish.name != name && wish.name != name + "-extra") continue;
    const Result<Version> version = Version::parse(build.version);
    const bool drives =
        !wish.backend || (!build.backends.empty() && build.backends.front() == *wish.backend);
    return drives &&
           (wish.specifiers.empty() || (version.ok() && wish.specifiers.contains(version.value())));
  }
  return false;
}

bool satisfies(const Placement& placement, const Requirement& asked, const PeerView& peer) {
  if (placement.devices.size() != static_cast<std::size_t>(asked.gpus)) return false;
  std::set<std::pair<int, std::string>> each;
  for (const DeviceChoice& choice : placement.devices) {
    if (!may_have(asked, peer, choice)) return false;
    if (choice.kind != placement.devices.front().kind) return false;
    if (!each.insert({choice.index, choice.slice}).second) return false;
  }
  for (const FrameworkWish& wish : asked.frameworks) {
    if (wish.backend && asked.gpus > 0 && placement.devices.front().kind != *wish.backend) {
      return false;
    }
    if (!placement.environment || !serves(wish, peer.environments[*placement.environment])) {
      return false;
    }
  }
  if (asked.wants_environment() && peer.environments[*placement.environment].python.empty()) {
    return false;
  }
  const bool shares = placement.shared_memory_bytes.has_value();
  return shares == asked.gpu_share && (!shares || *placement.shared_memory_bytes > 0) &&
         (!asked.cpus || *asked.cpus + peer.cpus_held <= peer.host.cpus) &&
         (!asked.memory_bytes ||
          *asked.memory_bytes + peer.memory_held_bytes <= peer.host.memory_bytes) &&
         (asked.on.empty() || asked.on == peer.name);
}

std::vector<DeviceChoice> all_choices(const PeerView& peer) {
  std::vector<DeviceChoice> all;
  for (const Accelerator& device : peer.accelerators) {
    if (device.partitions.empty()) all.push_back({device.kind, device.index, ""});
    for (const Partition& slice : device.partitions) {
      all.push_back({device.kind, device.index, slice.uuid});
    }
  }
  return all;
}

PeerView emptied(PeerView peer) {
  peer.holds.clear();
  peer.loads.clear();
  peer.cpus_held = 0;
  peer.memory_held_bytes = 0;
  peer.unreachable_since.reset();
  peer.closed.clear();
  for (Accelerator& device : peer.accelerators) device.memory_used_bytes.reset();
  return peer;
}

// Several a try: of those that fit there are to be enough.
bool holds_for_any(void (*property)(const Requirement&, const PeerView&)) {
  return rc::check([&] {
    for (int i = 0; i < 20; ++i) property(any_requirement(), any_peer("p0"));
  });
}

}  // namespace

TEST_CASE("a peer gets a placement exactly when there is no reason against it") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    const Fit fit = judge(asked, peer, now);
    RC_ASSERT(fit.fits() == fit.reasons.empty());
    RC_ASSERT(!(fit.fits() && fit.free_by));
    for (const Reason& reason : fit.reasons) {
      RC_ASSERT(!reason.text.empty() && !reason.subject.empty());
    }
  }));
}

TEST_CASE("a placement is what was asked, by rules written a second time") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    const Fit fit = judge(asked, peer, now);
    RC_CLASSIFY(fit.fits() && asked.gpus > 0, "devices given");
    if (fit.fits()) RC_ASSERT(satisfies(*fit.placement, asked, peer));
  }));
}

TEST_CASE("devices are refused only when too few of them could be given") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    const Fit fit = judge(asked, peer, now);
    const bool refused = std::any_of(fit.reasons.begin(), fit.reasons.end(), [](const Reason& r) {
      return name_of(r.code).starts_with("gpu_");
    });
    std::optional<AcceleratorKind> needed;
    for (const FrameworkWish& wish : asked.frameworks) needed = needed ? needed : wish.backend;
    bool enough = asked.gpus == 0;
    for (const AcceleratorKind kind : {AcceleratorKind::cuda, AcceleratorKind::rocm}) {
      int count = 0;
      for (const DeviceChoice& choice : all_choices(peer)) {
        count += choice.kind == kind && may_have(asked, peer, choice) ? 1 : 0;
      }
      enough = enough || (count >= asked.gpus && (!needed || asked.kind || *needed == kind));
    }
    RC_ASSERT(!peer.reported_at || refused == !enough);
  }));
}

TEST_CASE("CUDA can be shown every placement of its devices") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    const Fit fit = judge(asked, peer, now);
    if (!fit.fits() || fit.placement->devices.empty()) return;
    RC_ASSERT(device_environment(fit.placement->devices, peer.accelerators).ok());
    if (fit.placement->devices.front().kind != AcceleratorKind::cuda) return;
    const Result<std::string> value =
        cuda_visible_devices(fit.placement->devices, peer.accelerators);
    RC_ASSERT(value.ok());
    RC_ASSERT(visible_to_cuda(value.value(), peer.accelerators) == fit.placement->devices);
  }));
}

TEST_CASE("a job gets the least capable of the devices that it could have") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    const Fit fit = judge(asked, peer, now);
    if (!fit.fits()) return;
    const auto less = [&](const DeviceChoice& a, const DeviceChoice& b) {
      const auto rank = [&](const DeviceChoice& choice) {
        return std::tuple(memory_of(peer, choice).value_or(0),
                          device_of(peer, choice).compute_capability.value_or(ComputeCapability{}),
                          choice.index);
      };
      return rank(a) < rank(b);
    };
    const std::vector<DeviceChoice>& chosen = fit.placement->devices;
    for (const DeviceChoice& other : all_choices(peer)) {
      if (chosen.empty() || other.kind != chosen.front().kind) continue;
      if (std::find(chosen.begin(), chosen.end(), other) != chosen.end()) continue;
      if (!may_have(asked, peer, other)) continue;
      for (const DeviceChoice& one : chosen) RC_ASSERT(!less(other, one));
    }
  }));
}

TEST_CASE("nothing fits worse once what is held is free") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    PeerView free = peer;
    free.holds.clear();
    free.loads.clear();
    free.cpus_held = 0;
    free.memory_held_bytes = 0;
    const Fit before = judge(asked, peer, now);
    const Fit after = judge(asked, free, now);
    RC_ASSERT(!before.fits() || after.fits());
    RC_ASSERT(!before.will_fit() || after.will_fit());
  }));
}

TEST_CASE("a job will fit exactly when it would on the peer emptied and answering") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    if (!peer.reported_at) return;
    const bool will = judge(asked, peer, now).will_fit();
    RC_ASSERT(will == judge(asked, emptied(peer), now).fits());
  }));
}

TEST_CASE("a closed peer takes nothing, and says why; it will be over") {
  PeerView peer;
  peer.name = "lab1";
  peer.host.cpus = 8;
  peer.reported_at = now;
  peer.closed = "lends from 20:00 to 08:00";
  const Fit fit = judge({}, peer, now);
  REQUIRE(fit.reasons.size() == 1);
  CHECK(fit.reasons[0].code == ReasonCode::closed);
  CHECK(fit.reasons[0].text == "lends from 20:00 to 08:00");
  CHECK(name_of(ReasonCode::closed) == "closed");
  CHECK(!fit.fits());
  CHECK(fit.will_fit());
  const Explanation explanation = explain({}, {peer}, now);
  CHECK(explanation.verdict == Verdict::waiting);
  CHECK(explanation.headline == "waiting: lab1 will fit when it takes new work again");
  CHECK(explanation.peers[0].why == "lends from 20:00 to 08:00");
}

TEST_CASE("of peers that will fit one that is closed comes behind those where jobs end") {
  PeerView closed;
  closed.name = "lab1";
  closed.host.cpus = 8;
  closed.reported_at = now;
  closed.closed = "draining";
  PeerView busy = closed;
  busy.name = "lab2";
  busy.closed.clear();
  busy.cpus_held = 8;
  Requirement asked;
  asked.cpus = 1;
  CHECK(explain(asked, {closed, busy}, now).headline ==
        "waiting: lab2 will fit when 1 cpu is free");
}

TEST_CASE("at the moment when time limits have freed it, the job fits") {
  CHECK(holds_for_any([](const Requirement& asked, const PeerView& peer) {
    const Fit fit = judge(asked, peer, now);
    if (!fit.free_by) return;
    PeerView later = peer;
    std::erase_if(later.holds, [&](const DeviceHold& hold) {
      return hold.ends_by && *hold.ends_by <= *fit.free_by;
    });
    std::erase_if(later.loads, [&](const LoadHold& load) {
      if (!load.ends_by || *load.ends_by > *fit.free_by) return false;
      later.cpus_held -= load.cpus;
      later.memory_held_bytes -= load.memory_bytes;
      return true;
    });
    // Whether a job's memory is then used by others, nobody can tell.
    for (Accelerator& device : later.accelerators) device.memory_used_bytes.reset();
    RC_ASSERT(fit.will_fit());
    RC_ASSERT(judge(asked, later, *fit.free_by).fits());
  }));
}

TEST_CASE("the verdict is the best of the peers' answers, which are those of judge") {
  CHECK(rc::check([] {
    const Requirement asked = any_requirement();
    const std::vector<PeerView> peers = {any_peer("p0"), any_peer("p1")};
    const Explanation explanation = explain(asked, peers, now);
    bool fits = false;
    bool will = false;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      const Fit fit = judge(asked, peers[i], now);
      RC_ASSERT(explanation.peers[i].fit.reasons == fit.reasons);
      RC_ASSERT(explanation.peers[i].fit.placement == fit.placement);
      fits = fits || fit.fits();
      will = will || fit.will_fit();
    }
    RC_ASSERT(explanation.verdict == (fits   ? Verdict::fits
                                      : will ? Verdict::waiting
                                             : Verdict::never));
    RC_ASSERT(explanation.headline.starts_with(name_of(explanation.verdict)));
    RC_ASSERT(!fits || explanation.nearest.empty());
  }));
}

TEST_CASE("a model's glob takes stars and question marks, and no case") {
  CHECK(matches_model("*4090", "NVIDIA GeForce RTX 4090"));
  CHECK(matches_model("nvidia*rtx*", "NVIDIA GeForce RTX 4090"));
  CHECK(matches_model("Tesla ?4", "tesla T4"));
  CHECK(matches_model("*", ""));
  CHECK(matches_model("**a*", "banana"));
  CHECK_FALSE(matches_model("4090", "NVIDIA GeForce RTX 4090"));
  CHECK_FALSE(matches_model("?", ""));
  CHECK_FALSE(matches_model("*4090", "RTX 4090 D"));
  CHECK_FALSE(matches_model("", "a"));
}

TEST_CASE("each code of a reason has a name of its own") {
  std::set<std::string_view> names;
  const int last = static_cast<int>(ReasonCode::framework_device);
  for (int i = 0; i <= last; ++i) names.insert(name_of(static_cast<ReasonCode>(i)));
  CHECK(names.size() == static_cast<std::size_t>(last) + 1);
  CHECK(names.count("") == 0);
}
