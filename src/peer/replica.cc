#include "gpl/peer/replica.h"

#include <cassert>
#include <utility>

#include "gpl/store/snapshot_file.h"
#include "gpl/wire/codec.h"

namespace gpl::peer {

namespace {

/// The others have gone on to what this version cannot apply as they do.
bool is_of_newer_gpl(const Command& command, const Applied& applied) {
  return std::holds_alternative<command::SetFeatureLevel>(command) && applied.refused &&
         applied.refused->code == Code::unsupported;
}

}  // namespace

/// Feeds the consensus an event, and performs what it wants done about it.
template <class F>
void Replica::feed(F&& event) {
  if (failure_) return;
  event(around_.clock.now());
  perform();
}

template <class Answer, class F>
Answer Replica::ask(F&& event) {
  if (failure_) return *failure_;
  Answer answer = event(around_.clock.now());
  perform();
  return answer;
}

Result<std::unique_ptr<Replica>> Replica::open(const ReplicaOptions& options, Around around,
                                               Told told, const raft::Configuration& bootstrap) {
  auto opened = store::Wal::open(around.disk, bootstrap, options.wal);
  if (!opened.ok()) return std::move(opened).error();
  auto& [wal, restored, snapshot_name, notes] = opened.value();
  ClusterState state;
  if (!snapshot_name.empty()) {
    auto loaded = Snapshots::load(around.disk, snapshot_name);
    if (!loaded.ok()) return std::move(loaded).error();
    state = std::move(loaded.value().state);
  }
  for (const auto& note : notes) told.note(note);
  std::unique_ptr<Replica> replica(new Replica(options, around, std::move(told), std::move(wal),
                                               std::move(state), std::move(restored)));
  replica->perform();
  return replica;
}

Replica::Replica(const ReplicaOptions& options, Around around, Told told, store::Wal wal,
                 ClusterState state, raft::Restored restored)
    : options_(options),
      around_(around),
      told_(std::move(told)),
      wal_(std::move(wal)),
      state_(std::move(state)),
      applied_(restored.snapshot.index),
      applied_term_(restored.snapshot.term),
      node_(options_.raft, std::move(restored), around.clock.now()),
      queue_(wal_, around.committer,
             {.send =
                  [this](raft::Message m) {
                    if (!failure_) around_.transport.send(std::move(m));
                  },
              .synced =
                  [this](std::uint64_t sequence) {
                    feed([&](Moment now) { node_.synced(now, sequence); });
                  },
              .replaced =
                  [this](const raft::SnapshotMark& mark) {
                    feed([&](Moment now) { node_.snapshot_installed(now, mark); });
                    wal_.replaced();
                    compact(mark);
                  },
              .failed = [this](Error error) { stop(std::move(error)); }}),
      snapshots_(
          around.disk, around.committer,
          {.saved = [this](const raft::SnapshotMark& mark) { saved(mark); },
           .piece =
               [this](const raft::SnapshotRead& read, std::string data, std::uint64_t total_bytes) {
                 feed([&](Moment now) {
                   node_.snapshot_piece(now, read, std::move(data), total_bytes);
                 });
               },
           .received = [this](const raft::SnapshotMark& mark,
                              ClusterState arrived) { received(mark, std::move(arrived)); },
           .refused = [this](const raft::SnapshotMark& mark) { refused(mark); },
           .note = [this](const std::string& text) { told_.note(text); }}),
      snapshot_index_(applied_) {}

void Replica::tick() {
  feed([&](Moment now) { node_.tick(now); });
}

void Replica::receive(raft::Message message) {
  feed([&](Moment now) { node_.receive(now, std::move(message)); });
}

Result<Replica::Proposed> Replica::propose(const std::vector<Command>& commands) {
  return ask<Result<Proposed>>([&](Moment now) -> Result<Proposed> {
    // What another term has put in the place of older ones is not coming any more.
    while (!unapplied_.empty() && unapplied_.back().index > node_.last_index()) {
      unapplied_bytes_ -= unapplied_.back().bytes;
      unapplied_.pop_back();
    }
    if (unapplied_bytes_ >= options_.unapplied_limit_bytes)
      return Error{Code::busy, "the cluster is behind: " + std::to_string(unapplied_.size()) +
                                   " changes wait to be written by a majority of the voters; try " +
                                   "again when they have been"};
    std::string data = wire::encode(commands);
    const std::uint64_t bytes = data.size();
    auto index = node_.propose(now, std::move(data));
    if (!index.ok()) return std::move(index).error();
    unapplied_.push_back({index.value(), bytes});
    unapplied_bytes_ += bytes;
    return Proposed{index.value(), node_.term()};
  });
}

Result<raft::Index> Replica::add_learner(raft::NodeId id) {
  return ask<Result<raft::Index>>([&](Moment now) { return node_.add_learner(now, id); });
}

Result<raft::Index> Replica::promote(raft::NodeId id) {
  return ask<Result<raft::Index>>([&](Moment now) { return node_.promote(now, id); });
}

Result<raft::Index> Replica::remove(raft::NodeId id) {
  return ask<Result<raft::Index>>([&](Moment now) { return node_.remove(now, id); });
}

Status Replica::transfer(raft::NodeId to) {
  return ask<Status>([&](Moment now) { return node_.transfer(now, to); });
}

void Replica::reached(raft::NodeId id) {
  feed([&](Moment now) { node_.reached(now, id); });
}

void Replica::perform() {
  fed_meanwhile_ = true;
  if (performing_) return;
  performing_ = true;
  while (std::exchange(fed_meanwhile_, false) && !failure_) perform(node_.take_output());
  performing_ = false;
  if (failure_) return;
  queue_.pump();
  snapshot_if_due();
}

/// In the order that raft/output.h prescribes.
void Replica::perform(raft::Output output) {
  for (auto& message : output.send_now) around_.transport.send(std::move(message));
  queue_.add(std::move(output.persist), std::move(output.send_synced));
  for (auto& piece : output.snapshot_writes) snapshots_.write(std::move(piece));
  queue_.pump();
  for (auto& entry : output.committed) {
    if (failure_) return;
    apply(entry);
  }
  for (const auto& read : output.snapshot_reads) snapshots_.read(read);
}

void Replica::apply(raft::Entry& entry) {
  assert(entry.index == applied_ + 1);
  AppliedEntry done{entry.index, entry.term, {}, {}};
  switch (entry.kind) {
    case raft::EntryKind::noop:
    case raft::EntryKind::configuration:
      break;
    case raft::EntryKind::command: {
      auto commands = wire::decode<std::vector<Command>>(entry.data);
      if (!commands.ok())
        return stop({commands.error().code,
                     "log entry " + std::to_string(entry.index) +
                         " cannot be read: " + commands.error().message +
                         "; it may be of a newer gpl: start that version on this machine"});
      done.commands = std::move(commands).value();
      for (const auto& command : done.commands) {
        done.results.push_back(state_.apply(command));
        if (is_of_newer_gpl(command, done.results.back()))
          return stop({Code::unsupported, "log entry " + std::to_string(entry.index) + ": " +
                                              done.results.back().refused->message +
                                              "; start a newer version on this machine"});
      }
      break;
    }
  }
  applied_ = entry.index;
  applied_term_ = entry.term;
  forget_proposed_to(entry.index);
  bytes_since_snapshot_ += entry.data.size();
  told_.applied(done);
}

void Replica::forget_proposed_to(raft::Index index) {
  while (!unapplied_.empty() && unapplied_.front().index <= index) {
    unapplied_bytes_ -= unapplied_.front().bytes;
    unapplied_.pop_front();
  }
}

void Replica::snapshot_if_due() {
  if (!is_snapshot_due()) return;
  // Not while one that is received takes its place: the log is about to begin after it.
  const auto mark = node_.mark_at(applied_);
  if (!mark) return;
  snapshot_index_ = applied_;
  bytes_since_snapshot_ = 0;
  snapshots_.take(*mark, state_.freeze());
}

bool Replica::is_snapshot_due() const {
  if (snapshots_.taking() || applied_ == snapshot_index_) return false;
  // A new one takes the place of the one that a follower is being sent, which would begin anew.
  const std::uint64_t patience = node_.sends_snapshot() ? 4 : 1;
  return (applied_ - snapshot_index_) / patience >= options_.snapshot_after_entries ||
         bytes_since_snapshot_ / patience >= options_.snapshot_after_bytes;
}

void Replica::saved(const raft::SnapshotMark& mark) {
  if (failure_) return;
  node_.snapshot_saved(mark);
  perform();
  compact(mark);
}

void Replica::compact(const raft::SnapshotMark& mark) {
  auto operations = wal_.compact(mark);
  if (operations.empty()) return;
  around_.committer.submit(store::Committer::Lane::background, std::move(operations),
                           [this](const Status& status) {
                             if (!status.ok())
                               told_.note("old log files stay: " + status.error().message);
                             wal_.compacted(status);
                           });
}

void Replica::refused(const raft::SnapshotMark& mark) {
  feed([&](Moment now) { node_.snapshot_refused(now, mark); });
}

void Replica::received(const raft::SnapshotMark& mark, ClusterState state) {
  if (failure_) return;
  if (mark.index <= applied_) return refused(mark);
  // Taking a large state apart takes long: not on the loop.
  auto old = std::make_shared<ClusterState>(std::exchange(state_, std::move(state)));
  around_.committer.submit(
      store::Committer::Lane::background,
      store::Committer::Source(
          [old = std::move(old)]() mutable -> Result<std::optional<store::Operation>> {
            old.reset();
            return std::optional<store::Operation>();
          }),
      [](const Status&) {});
  applied_ = mark.index;
  applied_term_ = mark.term;
  forget_proposed_to(mark.index);
  snapshot_index_ = mark.index;
  bytes_since_snapshot_ = 0;
  queue_.replace(mark);
  queue_.pump();
  told_.restored();
}

void Replica::stop(Error error) {
  if (failure_) return;
  failure_ = std::move(error);
  told_.stopped(*failure_);
}

}  // namespace gpl::peer
