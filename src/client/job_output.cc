#include "gpl/client/job_output.h"

#include <algorithm>
#include <utility>

#include "gpl/core/size.h"

namespace gpl::client {

std::string skipped_words(std::uint64_t bytes) {
  return "... " + format_file_size(bytes) + " of output left out here";
}

JobOutput::JobOutput(net::Loop& loop, const OutputTargets& targets,
                     std::optional<wire::OutputStream> only, Told told)
    : loop_(loop),
      only_(only),
      told_(std::move(told)),
      out_(loop, targets.out, targets.out_closed, queue_told(wire::OutputStream::out)),
      err_(loop, targets.err, false, queue_told(wire::OutputStream::err)) {}

OutputQueue::Told JobOutput::queue_told(wire::OutputStream stream) {
  return {[this](const wire::Position& end, std::size_t bytes) { handed_on(end, bytes); },
          [this, stream](int error) { told_.failed(stream, error); }};
}

void JobOutput::take(wire::Output&& output) {
  wire::Position at = output.at;
  const Key key{at.task, at.attempt, at.stream};
  std::uint64_t& received = received_[key];
  const std::uint64_t end = at.offset + output.data.size();
  // The peer began further back than it was asked to.
  if (end <= received) return count_taken(output.data.size());
  if (at.offset < received) {
    const std::uint64_t known = received - at.offset;
    output.data.erase(0, known);
    at.offset = received;
    count_taken(known);
  } else if (output.skipped_bytes > 0 && told_.skipped && (!only_ || *only_ == at.stream)) {
    told_.skipped(output.skipped_bytes);
  }
  received = end;
  if (only_ && *only_ != at.stream) {
    at.offset = end;
    return handed_on(at, output.data.size());
  }
  OutputQueue& queue = at.stream == wire::OutputStream::out ? out_ : err_;
  queue.add(at, std::move(output.data));
}

void JobOutput::handed_on(const wire::Position& end, std::uint64_t bytes) {
  std::uint64_t& offset = handed_on_[Key{end.task, end.attempt, end.stream}];
  offset = std::max(offset, end.offset);
  count_taken(bytes);
}

void JobOutput::count_taken(std::uint64_t bytes) {
  untold_bytes_ += bytes;
  if (std::exchange(telling_, true)) return;
  loop_.at_end_of_turn([this] {
    telling_ = false;
    const std::uint64_t taken = std::exchange(untold_bytes_, 0);
    if (taken > 0) told_.taken(taken);
  });
}

std::vector<wire::Position> JobOutput::begin_anew() {
  out_.drop();
  err_.drop();
  received_ = handed_on_;
  untold_bytes_ = 0;
  std::vector<wire::Position> positions;
  for (const auto& [key, offset] : handed_on_) {
    const auto& [task, attempt, stream] = key;
    positions.push_back({task, attempt, stream, offset});
  }
  return positions;
}

}  // namespace gpl::client
