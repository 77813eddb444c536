#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/store/disk.h"
#include "gpl/store/record.h"
#include "gpl/store/segment.h"

namespace gpl::store {

struct LocatedRecord {
  std::uint64_t offset = 0;
  RecordBody body;
};

/// What one sync has made safe, as it stands in its segment.
struct Batch {
  std::uint64_t segment = 0;
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  std::uint64_t offset = 0;
  std::uint64_t end = 0;
  std::vector<LocatedRecord> records;
};

/// Takes the whole batches, in order. An error ends the reading.
using BatchSink = std::function<Status(Batch)>;

struct SegmentShape {
  SegmentHeader header;
  std::uint64_t end = 0;  ///< of its last whole batch
};

/// How the log's files are laid out.
struct LogShape {
  std::vector<SegmentShape> segments;  ///< by number; at least one
  std::uint64_t next_batch = 0;
  std::uint64_t last_batch_offset = 0;  ///< in the last segment
  bool torn = false;                    ///< the last segment has more than zeros behind its end
};

struct SegmentHeaders {
  std::vector<SegmentHeader> usable;  ///< by number, up to the first that is not
  std::optional<Error> error;         ///< of that one
};

/// The headers of the segments among `names`; checked against the files' names and sizes and
/// against each other. Code::invalid: damage; Code::unsupported; Code::io.
SegmentHeaders read_segment_headers(Disk& disk, const std::vector<std::string>& names);

/// Reads these segments, at least one usable, and checks their bytes and their sequence, not what
/// the records say. Errors as above; the sink has seen all that is before one.
Result<LogShape> read_log(Disk& disk, const SegmentHeaders& headers, const BatchSink& sink);

}  // namespace gpl::store
