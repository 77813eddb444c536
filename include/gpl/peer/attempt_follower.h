#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "gpl/net/loop.h"
#include "gpl/peer/job_news.h"
#include "gpl/peer/local_attempts.h"
#include "gpl/peer/output_feed.h"
#include "gpl/peer/output_watch.h"
#include "gpl/peer/output_window.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// Answers one FollowAttempt of another peer: the output of an attempt here, and how it ended.
class AttemptFollower {
 public:
  struct Around {
    const LocalAttempts& attempts;
    JobNews& news;
    OutputWatch& watch;
    std::function<std::string(const Fence&)> folder_of;
    std::function<bool(JobId)> has_ended;  ///< the job, as far as is known here
  };
  /// As of Follower.
  struct Told {
    std::function<void(wire::Answer)> answer;
    std::function<void()> over;
  };

  AttemptFollower(net::Loop& loop, Around around, const wire::FollowAttempt& question, Told told);
  ~AttemptFollower();
  AttemptFollower(const AttemptFollower&) = delete;
  AttemptFollower& operator=(const AttemptFollower&) = delete;

  void start();
  void taken(std::uint64_t bytes);
  /// Who asked is gone, and may come back: nothing is told any more, and nothing dropped meanwhile.
  void mute();
  bool attached() const { return question_.attached && !told_all_; }
  const Fence& attempt() const { return question_.attempt; }
  /// The asker has been told all of it.
  bool told_all() const { return told_all_; }

 private:
  void advance();
  void finish(wire::Answer last);

  net::Loop& loop_;
  Around around_;
  wire::FollowAttempt question_;
  Told told_;
  JobNews::Subscription news_;
  OutputFeed feed_;
  OutputWatch::Given given_;
  std::optional<OutputWatch::Number> watching_;
  OutputWindow window_;
  bool seen_ = false;  ///< it has been known here
  bool finished_ = false;
  bool told_all_ = false;
};

}  // namespace gpl::peer
