#include "segment_reader.h"

#include <algorithm>
#include <variant>

#include "gpl/store/damage.h"

namespace gpl::store {
namespace {

Error wrong_record(const std::string& name, std::uint64_t offset, const Error& error) {
  if (error.code == Code::unsupported) return too_new(name, offset, error.message);
  return damage(name, offset,
                "the checksums of the record match, but what it holds is " + error.message);
}

}  // namespace

SegmentReader::SegmentReader(Disk& disk, const SegmentHeader& header,
                             std::optional<std::uint64_t> end, bool is_last)
    : disk_(disk),
      window_(disk, segment_name(header.number)),
      name_(segment_name(header.number)),
      header_(header),
      known_end_(end),
      is_last_(is_last),
      next_batch_(header.first_batch) {}

Result<std::optional<Batch>> SegmentReader::next() {
  if (known_end_ && end_ == *known_end_) return std::optional<Batch>();
  Batch batch{header_.number, header_.generation, next_batch_, end_, end_, {}};
  do {
    Result<std::optional<LocatedRecord>> record = record_at(batch.end);
    if (!record || !record.value()) record = record_now_at(batch.end);
    if (!record) return std::move(record).error();
    if (!record.value()) {
      Result<std::optional<Batch>> end = judge_end(batch.end);
      if (end) return end;
      // A running peer may have written it, and the later batch, since the look at this place.
      record = record_now_at(batch.end);
      if (!record || !record.value()) return end;
    }
    if (const auto* onward = std::get_if<Onward>(&record.value()->body)) {
      if (!known_end_ && !is_last_) return std::optional<Batch>();
      return judge_onward(batch.end, *onward);
    }
    batch.records.push_back(*std::move(record).value());
    batch.end += record_bytes_;
  } while (!batch_ended_);
  if (known_end_ && batch.end > *known_end_) {
    return damage(name_, *known_end_,
                  "the segment after it says that it ends here, which is within a batch");
  }
  end_ = batch.end;
  ++next_batch_;
  return std::optional<Batch>(std::move(batch));
}

Error SegmentReader::judge_onward(std::uint64_t offset, const Onward& onward) {
  const std::string next = segment_name(onward.segment);
  if (!known_end_ && onward.segment == header_.number + 1 && disk_.size(next)) {
    return Error{Code::busy, "the log went on in " + next +
                                 " while it was read: its peer is running; look again"};
  }
  return damage(name_, offset,
                "it says that the log goes on in " + next +
                    (known_end_ ? ", before its end" : ", which is missing"));
}

Result<std::optional<LocatedRecord>> SegmentReader::record_now_at(std::uint64_t offset) {
  window_.forget();
  return record_at(offset);
}

Result<std::optional<LocatedRecord>> SegmentReader::record_at(std::uint64_t offset) {
  Result<std::string_view> head = window_.at(offset, record_header_bytes);
  if (!head) return std::move(head).error();
  const std::optional<RecordHeader> header = decode_header(head.value(), offset);
  if (!header || header->generation != header_.generation || header->batch != next_batch_) {
    return std::optional<LocatedRecord>();
  }
  if (Status known = check(*header); !known) return wrong_record(name_, offset, known.error());
  record_bytes_ = record_bytes(*header);
  batch_ended_ = header->ends_batch();
  if (record_bytes_ > header_.size_bytes - offset) {
    return damage(name_, offset, "a record would go beyond the end of the file");
  }
  Result<std::string_view> whole = window_.at(offset, record_bytes_);
  if (!whole) return std::move(whole).error();
  if (whole.value().size() < record_bytes_ || !is_intact(whole.value(), offset)) {
    return std::optional<LocatedRecord>();
  }
  Result<RecordBody> body = decode_body(*header, whole.value());
  if (body) return std::optional<LocatedRecord>({offset, std::move(body).value()});
  return wrong_record(name_, offset, body.error());
}

Result<std::optional<Batch>> SegmentReader::judge_end(std::uint64_t offset) {
  const std::string batch = "batch " + std::to_string(next_batch_);
  if (known_end_) {
    return damage(name_, offset,
                  "here is no valid record of " + batch +
                      ", and the segment after it says that this one " + "goes on to offset " +
                      std::to_string(*known_end_));
  }
  if (next_batch_ == header_.first_batch) {
    return damage(
        name_, offset,
        "its opening batch is not whole, though it was synced before the file had its name");
  }
  if (Status later = search_later_batch(offset); !later) return std::move(later).error();
  if (Status searched = search_non_zero(); !searched) return std::move(searched).error();
  return std::optional<Batch>();
}

// The header of a record is enough: a batch is begun only when the one before it is on disk.
Status SegmentReader::search_later_batch(std::uint64_t offset) {
  for (std::uint64_t at = offset; at + record_header_bytes <= header_.size_bytes; at += 8) {
    Result<std::string_view> bytes = window_.at(at, record_header_bytes);
    if (!bytes) return std::move(bytes).error();
    const std::optional<RecordHeader> header = decode_header(bytes.value(), at);
    if (!header || header->generation != header_.generation || header->batch <= next_batch_)
      continue;
    return damage(name_, offset,
                  "here is no valid record of batch " + std::to_string(next_batch_) +
                      ", and it had been synced, as the later batch " +
                      std::to_string(header->batch) + " at offset " + std::to_string(at) +
                      " shows");
  }
  return success();
}

Status SegmentReader::search_non_zero() {
  constexpr std::size_t step = std::size_t{64} * 1024;
  for (std::uint64_t at = end_; at < header_.size_bytes && !torn_; at += step) {
    Result<std::string_view> bytes = window_.at(at, step);
    if (!bytes) return std::move(bytes).error();
    torn_ = std::any_of(bytes.value().begin(), bytes.value().end(), [](char c) { return c != 0; });
  }
  return success();
}

}  // namespace gpl::store
