#include "gpl/peer/consensus.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

constexpr Duration reopen_after = seconds(1);

}  // namespace

Moment Consensus::SystemClock::now() const { return Moment{posix::boot_clock().since_epoch_ms}; }
Instant Consensus::SystemClock::wall() const { return posix::wall_clock(); }

Consensus::Consensus(net::Loop& loop, ConsensusOptions options, PlacementRule rule, Told told)
    : loop_(loop),
      options_(std::move(options)),
      rule_(std::move(rule)),
      told_(std::move(told)),
      self_(std::make_shared<Consensus*>(this)) {}

Result<std::unique_ptr<Consensus>> Consensus::open(net::Loop& loop, ConsensusOptions options,
                                                   PlacementRule rule, Told told) {
  std::unique_ptr<Consensus> consensus(
      new Consensus(loop, std::move(options), std::move(rule), std::move(told)));
  if (Status started = consensus->start(); !started.ok()) return std::move(started).error();
  return consensus;
}

Consensus::~Consensus() {
  *self_ = nullptr;
  shut();
}

/// The committer calls back into the replica, and so goes first.
void Consensus::shut() {
  timer_.cancel();
  completions_.cancel();
  committer_.reset();
  leader_.reset();
  replica_.reset();
  disk_.reset();
  leads_since_.reset();
}

Status Consensus::start() {
  auto disk = store::FolderDisk::open(options_.folder);
  if (!disk.ok()) return std::move(disk).error();
  disk_ = std::move(disk).value();
  auto committer = store::CommitThread::start(*disk_);
  if (!committer.ok()) return std::move(committer).error();
  committer_ = std::move(committer).value();
  ReplicaOptions options;
  options.raft.id = options_.node;
  options.raft.seed = static_cast<std::uint64_t>(posix::wall_clock().since_epoch_ms);
  options.wal.segment_bytes = options_.segment_bytes;
  options.wal.must_exist = !options_.found;
  Replica::Told told;
  told.applied = [this](const AppliedEntry& entry) { applied(entry); };
  told.restored = [this] {
    if (leads()) told_.leading();
  };
  told.stopped = [this](const Error& error) { stopped(error); };
  told.note = [this](const std::string& note) { told_.note(note); };
  auto replica = Replica::open(options, {*disk_, *committer_, transport_, clock_}, std::move(told),
                               {{options_.node}, {}});
  if (!replica.ok()) {
    committer_.reset();
    disk_.reset();
    return std::move(replica).error();
  }
  replica_ = std::move(replica).value();
  if (!replica_->node().configuration().is_voter(options_.node)) {
    shut();
    return Error{Code::invalid,
                 "the log in " + options_.folder +
                     " is of another peer than this folder's identity: one of the two "
                     "was replaced; restore it, or remove both to begin anew"};
  }
  leader_ = std::make_unique<Leader>(
      *replica_, clock_, rule_, options_.coordinator,
      [this](PeerId to, const LeaderToWorker& message) { told_.send(to, message); });
  auto watch = loop_.watch(committer_->descriptor(), [this] {
    if (committer_) committer_->take_completions();
    after_event();
  });
  if (!watch.ok()) {
    shut();
    return std::move(watch).error();
  }
  completions_ = std::move(watch).value();
  options_.found = false;  // from here on there is a log
  after_event();
  return success();
}

void Consensus::applied(const AppliedEntry& entry) {
  if (leader_) leader_->applied(entry);
  told_.applied(entry);
  settle(entry);
}

/// Who proposed it is told; whoever proposed another entry for this place never will be. They may
/// propose anew.
void Consensus::settle(const AppliedEntry& entry) {
  const auto [first, last] = proposals_.equal_range(entry.index);
  std::vector<Proposal> settled;
  for (auto at = first; at != last; ++at) settled.push_back(std::move(at->second));
  proposals_.erase(first, last);
  for (const Proposal& proposal : settled) {
    Result<Applied> result = Error{Code::busy, "another leader took over before it was durable"};
    if (proposal.term == entry.term && !entry.results.empty()) result = entry.results.front();
    proposal.done(std::move(result));
  }
}

/// Leadership, timers: what follows from any event.
void Consensus::after_event() {
  if (!replica_ || !leader_) return;
  leader_->after_event();
  if (!leads()) leads_since_.reset();
  if (leads() && !leads_since_) {
    leads_since_ = clock_.now();
    loop_.at_end_of_turn([self = self_] {
      if (*self != nullptr && (*self)->leads()) (*self)->leading();
    });
  }
  std::optional<Moment> wake = replica_->wake_at();
  if (const auto leaders = leader_->wake_at(); leaders && (!wake || *leaders < *wake))
    wake = leaders;
  if (!wake) return timer_.cancel();
  timer_ = loop_.at(*wake, [this] { tick(); });
}

void Consensus::leading() {
  if (failure_) told_.note("the log is open again");
  failure_.reset();
  told_.leading();
}

void Consensus::tick() {
  if (!replica_) return;
  const Moment now = clock_.now();
  if (const auto wake = replica_->wake_at(); wake && *wake <= now) replica_->tick();
  if (leader_)
    if (const auto wake = leader_->wake_at(); wake && *wake <= now) leader_->tick();
  after_event();
}

void Consensus::propose(Command command, Done done) {
  Result<Replica::Proposed> proposed =
      leads() ? replica_->propose({std::move(command)})
              : Result<Replica::Proposed>(
                    failure_.value_or(Error{Code::busy, "the peer is starting: try again"}));
  if (!proposed.ok()) {
    loop_.at_end_of_turn(
        [done = std::move(done), error = std::move(proposed).error()] { done(error); });
    return;
  }
  proposals_.emplace(proposed.value().index, Proposal{proposed.value().term, std::move(done)});
  after_event();
}

void Consensus::receive(PeerId from, const WorkerToLeader& message) {
  if (!leader_) return;
  leader_->receive(from, message);
  after_event();
}

/// From within the replica: it is let go of once that has returned.
void Consensus::stopped(const Error& error) {
  const bool known = failure_.has_value();
  failure_ = error;
  stopping_ = true;
  loop_.at_end_of_turn([self = self_, known] {
    if (*self == nullptr || !(*self)->stopping_) return;
    Consensus& consensus = **self;
    consensus.stopping_ = false;
    consensus.shut();
    consensus.fail_proposals(*consensus.failure_);
    if (!known) consensus.told_.closed(*consensus.failure_);
    consensus.timer_ = consensus.loop_.after(reopen_after, [self] {
      if (*self != nullptr) (*self)->open_again();
    });
  });
}

void Consensus::fail_proposals(const Error& error) {
  const auto proposals = std::exchange(proposals_, {});
  for (const auto& [index, proposal] : proposals) proposal.done(error);
}

void Consensus::open_again() {
  Status started = start();
  if (started.ok()) return;
  shut();
  failure_ = std::move(started).error();
  timer_ = loop_.after(reopen_after, [this] { open_again(); });
}

}  // namespace gpl::peer
