#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gpl/net/timer.h"
#include "gpl/peer/mirrors.h"
#include "mirror_folders.h"

namespace gpl::peer {

/// What the copies are, and the questions about them. Output that comes is put away at the end of
/// the turn, with all that came in it.
struct Mirrors::State : std::enable_shared_from_this<Mirrors::State> {
  enum class Stage {
    waits,     ///< to be asked for
    asked,     ///< its worker tells
    broken,    ///< is asked for again after a while
    told,      ///< its worker has told all, which is not yet all put away, or not on disk
    complete,  ///< and that is on disk
  };
  /// Of what the worker has told, not yet put away.
  struct Piece {
    wire::OutputStream stream = wire::OutputStream::out;
    std::uint64_t gap_bytes = 0;  ///< before it, which are nowhere
    std::string data;
    std::size_t put_bytes = 0;  ///< of the data
  };
  struct Copy {
    MirrorSubject subject;
    Stage stage = Stage::waits;
    std::shared_ptr<host::KeptOutput> output;  ///< while something may be put into it
    std::array<std::uint64_t, 2> bytes{};      ///< of its files
    std::array<std::uint64_t, 2> came{};       ///< up to there, the backlog included
    std::array<std::uint64_t, 2> given{};      ///< to who follows it
    std::deque<Piece> backlog;
    std::uint64_t taken_bytes = 0;  ///< put away, and not yet said to the worker
    std::optional<FarSessions::Number> question;
    std::optional<wire::AttemptOver> over;
    bool followed = false;  ///< by an attached client: nothing may be dropped
    bool watched = false;
    bool tell = false;  ///< how much there is, whether it has grown or not
    bool noted = false;
    bool reported = false;  ///< its end, by its worker: what is missing will come
    bool syncing = false;
    Duration patience;  ///< until it is asked for again
    net::Timer again;
  };

  explicit State(Around with) : around(std::move(with)), folders(around.state_folder) {}

  // Which there are (mirrors.cc).
  void add(const MirrorSubject& subject);
  void consider(const ClusterState& state, const Attempt& attempt);
  void take_found(MirrorFolders::Found found);
  void let_go_of_unfollowed();
  void discard(const Fence& fence);
  void give_up(Copy& copy);

  // What is asked, and what comes (mirror_questions.cc).
  Copy* find(const Fence& fence);
  void touch(const Fence& fence);
  void at_end_of_turn();
  void look_after(Copy& copy);
  bool has_place(const Copy& copy) const;
  void ask(Copy& copy);
  void end_question(Copy& copy);
  void ask_waiting();
  void take(const Fence& fence, Result<wire::Answer> answer);
  void take(Copy& copy, wire::Output output);
  void refused(Copy& copy);
  void break_off(Copy& copy, Duration patience);
  bool open(Copy& copy);
  bool put_away(Copy& copy);
  void tell_end(Copy& copy);
  void sync(Copy& copy);

  Around around;
  MirrorFolders folders;
  std::map<Fence, Copy> copies;
  std::set<std::pair<JobId, Fence>> by_job;
  std::set<Fence> waiting;
  std::size_t questions = 0;
  std::set<Fence> touched;  ///< to be looked after at the end of the turn
  bool end_of_turn_due = false;
  net::Timer come_back;
  Ticket ticket;
};

}  // namespace gpl::peer
