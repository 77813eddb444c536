#include "gpl/store/log_reader.h"

#include <algorithm>
#include <cassert>
#include <optional>

#include "gpl/store/damage.h"
#include "segment_reader.h"

namespace gpl::store {
namespace {

Result<SegmentHeader> read_header(Disk& disk, std::uint64_t number) {
  const std::string name = segment_name(number);
  Result<std::string> bytes = disk.read(name, 0, segment_header_bytes);
  if (!bytes) return std::move(bytes).error();
  Result<SegmentHeader> header = decode_segment_header(name, bytes.value());
  if (!header) return header;
  Result<std::uint64_t> size = disk.size(name);
  if (!size) return std::move(size).error();
  if (number == 0) return damage(name, 16, "segments are numbered from 1");
  if (header.value().number != number) {
    return damage(
        name, 16,
        "this is segment " + std::to_string(header.value().number) + " under another name");
  }
  if (header.value().size_bytes != size.value()) {
    return damage(name, size.value(),
                  "the file ends here, and was made with " +
                      std::to_string(header.value().size_bytes) + " bytes");
  }
  return header;
}

Status check_sequence(const SegmentHeader& before, const SegmentHeader& header) {
  const std::string name = segment_name(header.number);
  if (header.number != before.number + 1) {
    return damage(segment_name(before.number + 1) + " is missing, between others");
  }
  if (header.generation != before.generation && header.generation != before.generation + 1) {
    return damage(name, 24,
                  "its generation " + std::to_string(header.generation) + " cannot follow " +
                      std::to_string(before.generation));
  }
  if (header.previous_end < segment_header_bytes || header.previous_end > before.size_bytes) {
    return damage(name, 56,
                  "the segment before it cannot end at " + std::to_string(header.previous_end));
  }
  return success();
}

}  // namespace

SegmentHeaders read_segment_headers(Disk& disk, const std::vector<std::string>& names) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (const auto number = parse_segment_name(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  SegmentHeaders headers;
  for (const std::uint64_t number : numbers) {
    Result<SegmentHeader> header = read_header(disk, number);
    Status fits = success();
    if (header && !headers.usable.empty()) {
      fits = check_sequence(headers.usable.back(), header.value());
    }
    if (!header || !fits) {
      headers.error = header ? fits.error() : header.error();
      break;
    }
    headers.usable.push_back(header.value());
  }
  return headers;
}

Result<LogShape> read_log(Disk& disk, const SegmentHeaders& headers, const BatchSink& sink) {
  const std::vector<SegmentHeader>& usable = headers.usable;
  assert(!usable.empty());
  LogShape shape;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    if (i > 0 && usable[i].first_batch != shape.next_batch) {
      return damage(segment_name(usable[i].number), 40,
                    "it begins with batch " + std::to_string(usable[i].first_batch) +
                        ", and the segment before it ends before batch " +
                        std::to_string(shape.next_batch));
    }
    std::optional<std::uint64_t> end;
    if (i + 1 < usable.size()) end = usable[i + 1].previous_end;
    SegmentReader reader(disk, usable[i], end, !end && !headers.error);
    for (;;) {
      Result<std::optional<Batch>> batch = reader.next();
      if (!batch) return std::move(batch).error();
      if (!batch.value()) break;
      shape.last_batch_offset = batch.value()->offset;
      Status taken = sink(*std::move(batch).value());
      if (!taken) return std::move(taken).error();
    }
    shape.segments.push_back({usable[i], reader.end()});
    shape.next_batch = reader.next_batch();
    shape.torn = reader.torn();
  }
  if (headers.error) return *headers.error;
  return shape;
}

}  // namespace gpl::store
