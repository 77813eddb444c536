// Random histories of a log, with crashes within any operation: those of an append, of a segment
// made ahead, of a snapshot, a compaction, a replacement, and of the recovery itself.

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <deque>

#include "effort.h"
#include "log_model.h"
#include "memory_disk.h"

namespace gpl::store {
namespace {

constexpr WalOptions small{.segment_bytes = 3000};

/// The choices of one history; when they run out it ends.
class Choices {
 public:
  explicit Choices(std::vector<std::uint32_t> numbers) : numbers_(std::move(numbers)) {}
  bool done() const { return next_ >= numbers_.size(); }
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool one_in(std::uint64_t of) { return below(of) == 0; }
  std::uint32_t next() { return done() ? 1 : numbers_[next_++]; }

 private:
  std::vector<std::uint32_t> numbers_;
  std::size_t next_ = 0;
};

/// Lets operations pass until it is struck: that one happens in part, those after it not at all.
class FragileDisk : public Disk {
 public:
  enum class Strike { none, killed, sync_failed };

  Result<std::vector<std::string>> list() override { return memory.list(); }
  Result<std::uint64_t> size(std::string_view name) override { return memory.size(name); }
  Result<std::string> read(std::string_view name, std::uint64_t offset,
                           std::size_t limit_bytes) override {
    return memory.read(name, offset, limit_bytes);
  }
  Status perform(const Operation& operation) override {
    if (struck) return Error{Code::io, "the process is gone"};
    if (!operations_left || (*operations_left)-- > 0) return memory.perform(operation);
    struck = true;
    Prng prng(seed);
    const auto* sync = std::get_if<Sync>(&operation);
    if (strike == Strike::sync_failed && sync != nullptr) {
      memory.fail_sync(sync->name, prng);
    } else {
      memory.half_perform(operation, prng);
    }
    return Error{Code::io, "struck"};
  }

  MemoryDisk memory;
  std::optional<std::uint64_t> operations_left;  // nothing: never struck
  Strike strike = Strike::none;
  std::uint64_t seed = 0;
  bool struck = false;
};

class History {
 public:
  explicit History(Choices choices) : choices_(std::move(choices)) {
    possible_.push_back(LogModel{{}, {0, 0, three_voters}, {}});
  }

  /// What went wrong; "": nothing.
  std::string run() {
    start();
    while (!choices_.done() && fault_.empty()) {
      arm();
      while (!disk_.struck && !choices_.done() && fault_.empty()) step();
      if (fault_.empty()) crash();
      start();
    }
    return fault_;
  }
  std::size_t starts() const { return starts_; }

 private:
  void arm() {
    disk_.struck = false;
    disk_.operations_left = choices_.below(60);
    disk_.strike =
        choices_.one_in(3) ? FragileDisk::Strike::sync_failed : FragileDisk::Strike::killed;
    disk_.seed = choices_.next();
  }

  void crash() {
    background_.clear();
    if (!choices_.one_in(3)) {
      Prng prng(choices_.next());
      disk_.memory.lose_power(prng);
    }
  }

  void step() {
    const std::uint64_t kind = choices_.below(16);
    if (kind == 0) return save_snapshot();
    if (kind == 1) return replace();
    if (kind <= 3) return prepare();
    append();
  }

  // Of the operations in the other lane, none or some have happened before each of this one's.
  bool perform(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      while (!background_.empty() && choices_.one_in(2)) perform_background();
      if (!disk_.perform(operation)) return false;
    }
    return true;
  }
  void perform_background() {
    const auto [operation, then] = std::move(background_.front());
    background_.pop_front();
    if (disk_.perform(operation) && then) then();
  }
  void submit_background(const std::vector<Operation>& operations, std::function<void()> then) {
    for (std::size_t i = 0; i < operations.size(); ++i) {
      background_.push_back({operations[i], i + 1 == operations.size() ? then : nullptr});
    }
  }

  LogModel& model() { return possible_.back(); }

  raft::Persist random_persist(const LogModel& log) {
    raft::Persist persist;
    if (choices_.one_in(3)) {
      raft::HardState next = log.hard_state;
      if (next.vote.value != 0 || choices_.one_in(2))
        next = {next.term + choices_.below(3) + 1, {}};
      if (choices_.one_in(2)) next.vote = raft::NodeId{choices_.below(3) + 1};
      persist.hard_state = next;
    }
    raft::Index index = log.last_index() + 1;
    if (choices_.one_in(4)) {
      const raft::Index oldest = std::max(log.begin.index, newest_snapshot_) + 1;
      if (oldest < index) index -= choices_.below(index - oldest + 1);
    }
    const std::uint64_t count = choices_.below(4);
    for (std::uint64_t i = 0; i < count; ++i, ++index) {
      const std::uint64_t bytes = choices_.one_in(8) ? choices_.below(4000) : choices_.below(200);
      std::string data(bytes, static_cast<char>(choices_.next()));
      persist.entries.push_back({index, ++term_, raft::EntryKind::command, std::move(data)});
    }
    if (count > 0) {
      raft::HardState next = persist.hard_state.value_or(log.hard_state);
      if (next.term < term_) persist.hard_state = raft::HardState{term_, {}};
      term_ = std::max(term_, next.term);
    }
    return persist;
  }

  void append() {
    LogModel next = model();
    std::vector<raft::Persist> persists;
    do {
      persists.push_back(random_persist(next));
      next.apply(persists.back());
    } while (choices_.one_in(3));
    commit(wal_->append(persists), std::move(next));
  }

  void commit(const std::vector<Operation>& operations, LogModel next) {
    possible_.push_back(std::move(next));
    if (perform(operations)) possible_.erase(possible_.begin());
  }

  void prepare() {
    submit_background(wal_->prepare(), [this] { wal_->prepared(success()); });
  }

  // As the peer does: a snapshot of what is synced, in the background; then what it made needless.
  void save_snapshot() {
    const LogModel& log = model();
    if (log.last_index() <= std::max(newest_snapshot_, asked_snapshot_)) return;
    const raft::Index lowest = std::max(log.begin.index, newest_snapshot_);
    raft::SnapshotMark mark;
    mark.index = lowest + 1 + choices_.below(log.last_index() - lowest);
    mark.term = log.term_of(mark.index);
    mark.configuration = three_voters;
    if (mark.index <= asked_snapshot_) return;
    asked_snapshot_ = mark.index;
    submit_background(snapshot_operations(mark, {"a", std::string(700, 'b')}), [this, mark] {
      newest_snapshot_ = std::max(newest_snapshot_, mark.index);
      compact(mark);
    });
  }

  void compact(const raft::SnapshotMark& mark) {
    submit_background(wal_->compact(mark), [this] { wal_->compacted(success()); });
  }

  // A leader's snapshot: it is adopted first, then the log is begun anew.
  void replace() {
    const LogModel& log = model();
    raft::SnapshotMark mark{
        std::max({log.begin.index, newest_snapshot_, asked_snapshot_}) + 1 + choices_.below(10),
        ++term_, three_voters};
    std::vector<Operation> operations = incoming_piece(0, "");
    for (const Operation& operation : snapshot_operations(mark, {"received"})) {
      if (const auto* write = std::get_if<Write>(&operation)) {
        for (const Operation& piece : incoming_piece(write->offset, write->bytes)) {
          operations.push_back(piece);
        }
      }
    }
    for (const Operation& operation : adopt_incoming(mark)) operations.push_back(operation);
    if (!perform(operations)) return;
    asked_snapshot_ = std::max(asked_snapshot_, mark.index);
    newest_snapshot_ = mark.index;
    if (log.hard_state.term < mark.term) {
      const raft::Persist persist = persist_of(raft::HardState{mark.term, {}}, {});
      LogModel later = log;
      later.apply(persist);
      commit(wal_->append({persist}), std::move(later));
      if (disk_.struck) return;
    }
    LogModel next = model();
    next.replace(mark);
    commit(wal_->replace(mark), std::move(next));
    if (disk_.struck) return;
    wal_->replaced();
    compact(mark);
  }

  /// Opens the log; the process may be struck again within the recovery.
  void start() {
    for (;;) {
      ++starts_;
      disk_.struck = false;
      disk_.operations_left.reset();
      if (choices_.one_in(3)) {
        arm();
        disk_.operations_left = choices_.below(8);
      }
      Result<Wal::Opened> opened = Wal::open(disk_, three_voters, small);
      if (opened) return check(std::move(opened).value());
      if (!disk_.struck) {
        fault_ = "refused: " + opened.error().message;
        return;
      }
      crash();
    }
  }

  void check(Wal::Opened opened) {
    const raft::SnapshotMark& mark = opened.restored.snapshot;
    if (mark.index < newest_snapshot_) fault_ = "an older snapshot was taken than was saved";
    for (const LogModel& log : possible_) {
      LogModel joined = log;
      const bool reaches = mark.index <= log.last_index() &&
                           (mark.index == log.begin.index || log.entries.contains(mark.index)) &&
                           log.term_of(mark.index) == mark.term;
      if (!reaches) joined.replace(mark);
      if (joined.hard_state.term < mark.term) joined.hard_state = {mark.term, {}};
      if (joined.restored(mark) != opened.restored) continue;
      possible_ = {joined};
      newest_snapshot_ = asked_snapshot_ = mark.index;
      wal_ = std::move(opened.wal);
      return;
    }
    fault_ += "the log says what was never synced, or not all that was: term " +
              std::to_string(opened.restored.hard_state.term) + ", " +
              std::to_string(opened.restored.entries.size()) + " entries after " +
              std::to_string(mark.index);
  }

  struct Background {
    Operation operation;
    std::function<void()> then;
  };

  Choices choices_;
  FragileDisk disk_;
  std::optional<Wal> wal_;
  std::vector<LogModel>
      possible_;  // what is synced; behind it, what that is with what is on its way
  std::deque<Background> background_;
  raft::Index newest_snapshot_ = 0;  // that is known to be complete
  raft::Index asked_snapshot_ = 0;
  raft::Term term_ = 0;
  std::string fault_;
  std::size_t starts_ = 0;
};

}  // namespace

TEST_CASE("After any crash a log says what was synced, and the batch on its way or nothing of it") {
  CHECK(rc::check("no history of crashes loses or invents anything",
                  [](std::vector<std::uint32_t> numbers) {
                    const std::string fault = History(Choices(std::move(numbers))).run();
                    RC_ASSERT(fault == "");
                  }));
}

TEST_CASE("The same over long histories") {
  std::size_t starts = 0;
  for (std::uint64_t seed = 1; seed <= 200 * effort(); ++seed) {
    Prng prng(seed);
    std::vector<std::uint32_t> numbers(1500);
    for (std::uint32_t& number : numbers) number = static_cast<std::uint32_t>(prng.next() >> 32);
    History history((Choices(std::move(numbers))));
    CAPTURE(seed);
    REQUIRE(history.run() == "");
    starts += history.starts();
  }
  CHECK(starts > 1'000);
}

}  // namespace gpl::store
