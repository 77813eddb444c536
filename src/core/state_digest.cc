#include "state_digest.h"

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace gpl {
namespace {

/// Takes in values one after the other. Every list begins with its length and every choice with its
/// number, so that different values are never the same sequence of words.
class Digest {
 public:
  explicit Digest(std::uint64_t start) : value_(start) {}
  std::uint64_t value() const { return value_; }

  template <class... T>
  void all(const T&... values) {
    (add(values), ...);
  }

 private:
  // The finaliser of MurmurHash3 (Appleby), over what there is and one word more.
  void word(std::uint64_t word) {
    std::uint64_t z = (value_ + 0x9e3779b97f4a7c15u) ^ word;
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
    value_ = z ^ (z >> 33);
  }

  template <std::integral T>
  void add(T value) {
    word(static_cast<std::uint64_t>(value));
  }
  template <class T>
  requires std::is_enum_v<T>
  void add(T value) { word(static_cast<std::uint64_t>(value)); }
  template <class Tag>
  void add(Id<Tag> id) {
    word(id.value);
  }
  void add(const std::string& text) {
    word(text.size());
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t bytes = 0;
      for (std::size_t i = at; i < text.size() && i < at + 8; ++i)
        bytes |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i - at));
      word(bytes);
    }
  }
  template <class T>
  void add(const std::optional<T>& value) {
    word(value.has_value());
    if (value) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    word(values.size());
    for (const T& value : values) add(value);
  }
  template <class K, class V>
  void add(const std::map<K, V>& values) {
    word(values.size());
    for (const auto& [key, value] : values) all(key, value);
  }
  template <class... T>
  void add(const std::variant<T...>& value) {
    word(value.index());
    std::visit([this](const auto& held) { this->add(held); }, value);
  }

  void add(Instant at) { add(at.since_epoch_ms); }
  void add(Duration d) { add(d.count_ms); }
  void add(const RequestId& id) { all(id.high, id.low); }
  void add(TaskRange tasks) { all(tasks.first, tasks.last); }
  void add(const Fence& fence) { all(fence.epoch, fence.attempt); }
  void add(const Error& error) { all(error.code, error.message); }
  void add(const Overlap& overlap) { all(overlap.job, overlap.task); }

  // Jobs.
  void add(const EnvironmentVariable& variable) { all(variable.name, variable.value); }
  void add(const JobSpec& spec) {
    all(spec.command, spec.name, spec.env, spec.stage, spec.staging, spec.folder, spec.outputs,
        spec.pass_stdin, spec.secrets, spec.time_limit);
  }
  void add(const SpecifierSet& specifiers) { add(specifiers.to_string()); }
  void add(const FrameworkWish& wish) { all(wish.name, wish.backend, wish.specifiers); }
  void add(const Label& label) { all(label.key, label.value); }
  void add(const ComputeCapability& c) { all(c.major_number, c.minor_number); }
  void add(const Requirement& r) {
    all(r.gpus, r.kind, r.gpu_memory_bytes, r.gpu_share, r.gpu_model, r.compute_capability, r.cpus,
        r.memory_bytes, r.frameworks, r.environment, r.on, r.labels);
  }
  void add(const Single&) {}
  void add(const Array& array) { all(array.tasks, array.limit); }
  void add(const Gang& gang) { all(gang.nodes, gang.launcher); }
  void add(const Service& service) { add(service.replicas); }
  void add(const Dependency& dependency) { all(dependency.job, dependency.after); }
  void add(const Submitter& by) { all(by.client, by.peer, by.uid); }
  void add(const JobDescription& job) {
    all(job.spec, job.requirement, job.shape, job.tree, job.on_loss, job.lease, job.retries,
        job.priority, job.after, job.held, job.allow_pending);
  }

  // Peers and what is held of them.
  void add(const DeviceChoice& device) { all(device.kind, device.index, device.slice); }
  void add(const DeviceClaim& claim) { all(claim.device, claim.shared_memory_bytes); }
  void add(const Allocation& a) { all(a.cpus, a.memory_bytes, a.devices, a.environment); }
  void add(const HostFacts& host) {
    all(host.name, host.os, host.arch, host.kernel, host.cpus, host.memory_bytes);
  }
  void add(const Partition& p) { all(p.uuid, p.profile, p.memory_bytes, p.gpu_instance); }
  void add(const Accelerator& a) {
    all(a.id, a.kind, a.vendor, a.name, a.index, a.uuid, a.memory_bytes, a.memory_used_bytes,
        a.unified_memory, a.compute_capability, a.driver, a.pci, a.mig_mode, a.partitions, a.usable,
        a.problems);
  }
  void add(const FrameworkBuild& build) {
    all(build.version, build.dist, build.dists, build.editable, build.backends,
        build.backend_version, build.warnings);
  }
  void add(const PythonEnvironment& e) {
    all(e.name, e.root, e.python, e.python_version, e.frameworks, e.problems);
  }
  void add(const ProbeProblem& p) { all(p.source, p.exit, p.message); }
  void add(const PeerOffer& o) {
    all(o.name, o.host, o.accelerators, o.environments, o.problems, o.labels, o.feature_level,
        o.closed);
  }

  // Outcomes.
  void add(const Exited& exited) { add(exited.code); }
  void add(const Signalled& signalled) { all(signalled.signal, signalled.core_dumped); }
  void add(const TimedOut& timed_out) { add(timed_out.signal); }
  void add(const Cancelled& cancelled) { add(cancelled.signal); }
  void add(const FailedToStart& f) { all(f.errno_value, f.exit, f.message); }
  void add(const Lost& lost) { add(lost.why); }

  // Commands.
  void add(const command::Placing& p) { all(p.tasks, p.peer, p.allocation); }
  void add(const command::Submit& c) { all(c.request, c.submitter, c.job, c.placings, c.at); }
  void add(const command::Place& c) { all(c.job, c.placing, c.at); }
  void add(const command::PlaceGang::Node& node) { all(node.peer, node.allocation); }
  void add(const command::PlaceGang& c) {
    all(c.job, c.task, c.nodes, c.first_port, c.port_count, c.at);
  }
  void add(const command::Start& c) { all(c.attempt, c.at); }
  void add(const command::Report& c) { all(c.attempt, c.outcome, c.at, c.outlived_lease); }
  void add(const command::Cancel& c) { all(c.job, c.tasks, c.at); }
  void add(const command::Hold& c) { all(c.job, c.at); }
  void add(const command::Release& c) { all(c.job, c.at); }
  void add(const command::PeerUp& c) { all(c.peer, c.keeper, c.offer, c.at); }
  void add(const command::PeerDown& c) { all(c.peer, c.at); }
  void add(const command::PeerForgotten& c) { all(c.peer, c.at); }
  void add(const command::AttemptsLost& c) { all(c.peer, c.attempts, c.why, c.at); }
  void add(const command::LeasesOver& c) { all(c.peer, c.attempts, c.at); }
  void add(const command::Prune& c) { all(c.before, c.at); }
  void add(const command::SetFeatureLevel& c) { all(c.level, c.at); }
  void add(const command::SetEpoch& c) { all(c.epoch, c.at); }

  std::uint64_t value_;
};

}  // namespace

std::uint64_t digest_after(std::uint64_t before, const Command& command, const Applied& applied) {
  Digest digest(before);
  digest.all(command, applied.refused, applied.job, applied.placed, applied.to_end, applied.ended,
             applied.given_up, applied.overlaps);
  return digest.value();
}

}  // namespace gpl
