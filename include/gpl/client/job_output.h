#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "gpl/client/attended_loop.h"
#include "gpl/client/output_queue.h"
#include "gpl/net/loop.h"
#include "gpl/wire/client_message.h"

namespace gpl::client {

/// "12.3 MB left out here": where output that nobody followed was dropped.
std::string skipped_words(std::uint64_t bytes);

/// The output of a followed job, carried to this process's stdout and stderr byte for byte, each
/// byte once whatever happens to the connection: it keeps how far each stream of each attempt has
/// been handed on, which is where the next Follow begins.
class JobOutput {
 public:
  struct Told {
    /// So many bytes have been handed on since the last call: for Taken. At the end of a turn.
    std::function<void(std::uint64_t bytes)> taken;
    /// Of one stream, once.
    std::function<void(wire::OutputStream stream, int error)> failed;
    /// May be empty. So many bytes were left out here.
    std::function<void(std::uint64_t bytes)> skipped;
  };

  /// `only`: the other stream is thrown away. `loop` outlives this.
  JobOutput(net::Loop& loop, const OutputTargets& targets, std::optional<wire::OutputStream> only,
            Told told);
  JobOutput(const JobOutput&) = delete;
  JobOutput& operator=(const JobOutput&) = delete;

  void take(wire::Output&& output);
  /// The connection it came by is gone: what is not handed on is dropped, and comes again from the
  /// positions that this returns.
  std::vector<wire::Position> begin_anew();
  bool drained() const { return out_.drained() && err_.drained(); }

 private:
  using Key = std::tuple<TaskId, AttemptId, wire::OutputStream>;

  OutputQueue::Told queue_told(wire::OutputStream stream);
  void handed_on(const wire::Position& end, std::uint64_t bytes);
  void count_taken(std::uint64_t bytes);

  net::Loop& loop_;
  std::optional<wire::OutputStream> only_;
  Told told_;
  OutputQueue out_;
  OutputQueue err_;
  std::map<Key, std::uint64_t> received_;
  std::map<Key, std::uint64_t> handed_on_;
  std::uint64_t untold_bytes_ = 0;
  bool telling_ = false;
};

}  // namespace gpl::client
