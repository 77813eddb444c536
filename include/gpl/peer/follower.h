#pragma once

#include <cstdint>
#include <deque>
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
#include "gpl/wire/client_message.h"

namespace gpl::peer {

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
    std::string peer_name;
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
  struct Sent {
    Fence attempt;
    wire::OutputStream stream = wire::OutputStream::out;
    std::uint64_t end = 0;  ///< offset after it
    std::uint64_t bytes = 0;
  };

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
  std::optional<OutputFeed> feed_;
  std::optional<OutputWatch::Number> watching_;
  std::uint64_t tellings_before_ = 0;  ///< of the attempt's output, when it began to be watched
  OutputWatch::Given given_;           ///< of the current attempt, and taken by the client
  std::deque<Sent> on_the_way_;
  std::uint64_t window_used_ = 0;
  std::uint64_t taken_of_first_ = 0;
  bool advancing_ = false;
  bool finished_ = false;
  bool attached_ = false;
};

}  // namespace gpl::peer
