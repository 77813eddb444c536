#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpl/peer/consensus.h"
#include "gpl/peer/job_news.h"
#include "gpl/peer/local_attempts.h"
#include "gpl/peer/output_feed.h"
#include "gpl/peer/output_watch.h"
#include "gpl/peer/output_window.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// How a job ends, told by the keeper of its only task's attempt before the log has taken it: the
/// exit is on the worker's disk. Nothing where another attempt may follow, the log may say
/// otherwise, or it is not known yet.
std::optional<Outcome> foreseen_end(const ClusterState& state, const JobRecord& job,
                                    const LocalAttempt* attempt);

/// Answers one Follow: the output of a job's task, attempt after attempt, and how it ended. No more
/// than a window of bytes is on its way at a time.
class Follower {
 public:
  struct Around {
    const Consensus& consensus;
    const LocalAttempts& attempts;
    JobNews& news;
    OutputWatch& watch;
    std::function<std::string(const Fence&)> folder_of;  ///< where an attempt's files are
    std::function<std::string(PeerId)> name_of;          ///< of a peer; PeerId{}: of this one
  };
  /// `answer` is told from within calls, and must not end this; `over` is told after the last one,
  /// at the end of a turn, and may.
  struct Told {
    std::function<void(wire::Answer)> answer;
    std::function<void()> over;
  };

  Follower(net::Loop& loop, Around around, wire::Follow question, Told told);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// To be called once, after the making.
  void start();
  /// The client has handed on so much.
  void taken(std::uint64_t bytes);
  JobId job() const { return question_.job; }

 private:
  void advance();
  bool begin_next();
  bool give_pieces();
  void end_attempt();
  bool conclude();
  void finish(std::vector<wire::Answer> last);

  net::Loop& loop_;
  Around around_;
  wire::Follow question_;
  Told told_;
  TaskId task_;
  std::map<std::pair<AttemptId, wire::OutputStream>, std::uint64_t> from_;
  JobNews::Subscription news_;
  Fence current_;  ///< of the feed, or the last one that is over
  PeerId ran_on_;  ///< where that one ran
  std::optional<OutputFeed> feed_;
  std::optional<OutputWatch::Number> watching_;
  std::uint64_t tellings_before_ = 0;  ///< of the attempt's output, when it began to be watched
  OutputWatch::Given given_;           ///< of the current attempt, and taken by the client
  OutputWindow window_;
  bool advancing_ = false;
  bool finished_ = false;
  bool attached_ = false;
};

}  // namespace gpl::peer
