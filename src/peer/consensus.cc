#include "gpl/peer/consensus.h"

#include <algorithm>
#include <utility>

#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

constexpr Duration reopen_after = seconds(1);

}  // namespace

Moment Consensus::SystemClock::now() const { return Moment{posix::boot_clock().since_epoch_ms}; }
Instant Consensus::SystemClock::wall() const { return posix::wall_clock(); }

Consensus::Consensus(net::Loop& loop, ConsensusOptions options, PlacementRule rule, Reach reach,
                     Told told)
    : loop_(loop),
      options_(std::move(options)),
      rule_(std::move(rule)),
      reach_(std::move(reach)),
      told_(std::move(told)),
      proposals_(peer_of(options_.node),
                 {[this](const Command& command) { return replica_->propose({command}); },
                  [this](PeerId to, wire::Propose ask) { reach_.send(to, std::move(ask)); }}),
      membership_(options_.node, options_.standing),
      self_(std::make_shared<Consensus*>(this)) {}

Result<std::unique_ptr<Consensus>> Consensus::open(net::Loop& loop, ConsensusOptions options,
                                                   PlacementRule rule, Reach reach, Told told) {
  std::unique_ptr<Consensus> consensus(
      new Consensus(loop, std::move(options), std::move(rule), std::move(reach), std::move(told)));
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
  ready_ = false;
}

Status Consensus::start() {
  auto disk = store::FolderDisk::open(options_.folder);
  if (!disk.ok()) return std::move(disk).error();
  disk_ = std::move(disk).value();
  auto committer = store::CommitThread::start(*disk_);
  if (!committer.ok()) return std::move(committer).error();
  committer_ = std::move(committer).value();
  if (Status opened = open_replica(); !opened.ok()) {
    shut();
    return opened;
  }
  leader_ = std::make_unique<Leader>(*replica_, clock_, rule_, options_.coordinator,
                                     [this](PeerId to, const LeaderToWorker& message) {
                                       if (to == self())
                                         told_.to_worker(message);
                                       else
                                         reach_.send(to, wire::LeaderSays{message});
                                     });
  auto watch = loop_.watch(committer_->descriptor(), [this] {
    if (committer_) committer_->take_completions();
    after_event();
  });
  if (!watch.ok()) {
    shut();
    return std::move(watch).error();
  }
  completions_ = std::move(watch).value();
  options_.found = options_.join = false;  // from here on there is a log
  opened_at_ = clock_.now();
  heard_term_ = 0;
  proposals_.restored(opened_at_, replica_->applied_index(), replica_->applied_term());
  after_event();
  return success();
}

Status Consensus::open_replica() {
  ReplicaOptions options;
  options.raft.id = options_.node;
  options.raft.seed = static_cast<std::uint64_t>(posix::wall_clock().since_epoch_ms);
  options.wal.segment_bytes = options_.segment_bytes;
  options.wal.must_exist = !options_.found && !options_.join;
  options.snapshot_after_entries = options_.snapshot_after_entries;
  Replica::Told told;
  told.applied = [this](const AppliedEntry& entry) { applied(entry); };
  told.restored = [this] { restored(); };
  told.stopped = [this](const Error& error) { stopped(error); };
  told.note = [this](const std::string& note) { told_.note(note); };
  raft::Configuration bootstrap;
  if (options_.found) bootstrap.voters.push_back(options_.node);
  auto replica =
      Replica::open(options, {*disk_, *committer_, links_, clock_}, std::move(told), bootstrap);
  if (!replica.ok()) return std::move(replica).error();
  replica_ = std::move(replica).value();
  if (options_.found && !replica_->node().configuration().contains(options_.node))
    return Error{Code::invalid,
                 "the log in " + options_.folder +
                     " is of another peer than this folder's identity: one of the two "
                     "was replaced; restore it, or remove both to begin anew"};
  return success();
}

void Consensus::applied(const AppliedEntry& entry) {
  if (leader_) leader_->applied(entry);
  note_forgotten(entry);
  if (ready_) told_.applied(entry);
  proposals_.applied(clock_.now(), entry);
  tell_finished();
}

/// A leader's snapshot has taken the place of the state.
void Consensus::restored() {
  proposals_.restored(clock_.now(), replica_->applied_index(), replica_->applied_term());
  if (ready_) told_.ready();
}

/// Leadership, members, proposals, timers: what follows from any event.
void Consensus::after_event() {
  if (!replica_ || !leader_) return;
  const Moment now = clock_.now();
  leader_->after_event();
  look_after_members(now);
  note_ready(now);
  note_leader(now);
  run_proposals(now);
  go_on_giving_up(now);
  set_timer();
}

void Consensus::set_timer() {
  std::optional<Moment> wake;
  const auto due = [&](std::optional<Moment> at) {
    if (at && (!wake || *at < *wake)) wake = at;
  };
  due(replica_->wake_at());
  due(leader_->wake_at());
  due(proposals_.wake_at());
  if (!ready_ && clock_.now() < waits_until()) due(waits_until());
  if (giving_up_) due(std::min(giving_up_->until, clock_.now() + milliseconds(100)));
  if (!wake) return timer_.cancel();
  timer_ = loop_.at(*wake, [this] { tick(); });
}

void Consensus::tick() {
  if (!replica_ || !leader_) return;
  const Moment now = clock_.now();
  if (const auto wake = replica_->wake_at(); wake && *wake <= now) replica_->tick();
  if (const auto wake = leader_->wake_at(); wake && *wake <= now) leader_->tick();
  after_event();
}

/// From within the replica: it is let go of once that has returned.
void Consensus::stopped(const Error& error) {
  const bool known = failure_.has_value();
  failure_ = error;
  stopping_ = true;
  ready_ = false;
  loop_.at_end_of_turn([self = self_, known] {
    if (*self == nullptr || !(*self)->stopping_) return;
    Consensus& consensus = **self;
    consensus.stopping_ = false;
    consensus.shut();
    consensus.proposals_.fail(*consensus.failure_);
    consensus.tell_finished();
    if (!known) consensus.told_.closed(*consensus.failure_);
    consensus.note_leader(consensus.clock_.now());
    if (consensus.giving_up_) consensus.given_up(*consensus.failure_);
    consensus.timer_ = consensus.loop_.after(reopen_after, [self] {
      if (*self != nullptr) (*self)->open_again();
    });
  });
}

void Consensus::open_again() {
  Status started = start();
  if (started.ok()) return;
  shut();
  failure_ = std::move(started).error();
  timer_ = loop_.after(reopen_after, [this] { open_again(); });
}

}  // namespace gpl::peer
