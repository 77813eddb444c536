#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpl/posix/fd.h"

namespace gpl::host {

/// The input of an attempt on its way to the job: a stream that is told in pieces by offset.
class AttemptInput {
 public:
  /// Of what is on its way, at most.
  static constexpr std::uint64_t limit_bytes = std::uint64_t{4} * 1024 * 1024;

  /// The end of the job's pipe to write to, made non-blocking.
  void attach(posix::Fd pipe);

  /// What is known already is passed over, and so is what comes after a gap. False when more is on
  /// its way than anyone may send.
  bool put(std::uint64_t offset, std::string_view data, bool end);

  /// The pipe, while there is something to write; else -1.
  int wanted() const;
  void write();
  bool open() const { return pipe_.valid(); }
  /// The job has ended.
  void close();

  /// So much has been handed to the job, or would have been had it not closed its input.
  std::uint64_t taken() const { return taken_; }

 private:
  posix::Fd pipe_;
  std::string waiting_;
  std::uint64_t taken_ = 0;
  bool ended_ = false;   ///< after `waiting_` comes nothing
  bool closed_ = false;  ///< by the job
};

}  // namespace gpl::host
