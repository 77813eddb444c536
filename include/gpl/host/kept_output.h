#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/host/skipped_output.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::host {

/// Takes what an attempt writes from its pipes to its files. At most `cap_bytes` of both streams
/// together are on disk. Is the output followed, then nothing that was not delivered is dropped: at
/// the cap, or when the disk is full, the pipes are not read, so the job waits as on any pipe. Else
/// its head (half the cap) and its tail are kept, and what is between is skipped.
class KeptOutput {
 public:
  using Stream = wire::OutputStream;
  static constexpr std::array<Stream, 2> streams = {Stream::out, Stream::err};

  /// Makes the files in the attempt's open folder. Requires a cap of at least 64 KiB.
  static Result<KeptOutput> make(int attempt_folder, std::uint64_t cap_bytes);

  /// Goes on with what is in the folder, or makes it: for a copy of an attempt's output, which
  /// comes by `put` and `pass_over`.
  static Result<KeptOutput> go_on(int folder, std::uint64_t cap_bytes);

  /// The ends to read, which are made non-blocking.
  void attach(posix::Fd out, posix::Fd err);

  /// What has been delivered of each stream counts only while it is followed.
  void follow(bool on, std::uint64_t out_bytes, std::uint64_t err_bytes);

  /// -1 when it is not to be read now: at its end, or there is no room.
  int wanted(Stream stream);
  /// Whether its end has not been reached.
  bool open(Stream stream) const { return of(stream).pipe.valid(); }
  /// Reads some of it. Requires that it was `wanted`.
  void read(Stream stream, Moment now);
  /// When `retry` is due, because the disk is full.
  std::optional<Moment> wake_at() const { return retry_at_; }
  void retry(Moment now);

  /// Takes as much as there is room for, and returns how much: what it did not take is to be put
  /// again when `wake_at` is due, or when a follower has been given more, or is gone.
  std::size_t put(Stream stream, std::string_view bytes, Moment now);
  /// The stream's next bytes are nowhere: they had been skipped before they came here.
  void pass_over(Stream stream, std::uint64_t bytes);

  /// The job has ended: reads what its pipes hold, whatever the cap. Returns false while the disk
  /// is too full for what somebody follows; with `give_up` that is skipped.
  bool finish(Moment now, bool give_up);
  /// On disk, so that it outlasts a power failure.
  Status sync() const;

  std::uint64_t bytes(Stream stream) const { return of(stream).written; }
  const SkippedOutput& skipped() const { return skipped_; }
  /// What went wrong, once: for the peer's log.
  std::optional<std::string> take_note();

 private:
  struct Kept {
    posix::Fd pipe;
    posix::Fd file;
    std::uint64_t written = 0;
    std::uint64_t delivered = 0;
    std::uint64_t head_end = 0;  ///< once `head_whole_`
    std::string pending;         ///< read, and not yet written: the disk is full
  };
  static std::size_t index(Stream stream) { return static_cast<std::size_t>(stream); }
  Kept& of(Stream stream) { return kept_[index(stream)]; }
  const Kept& of(Stream stream) const { return kept_[index(stream)]; }
  Stretch& hole(Stream stream) { return skipped_.of[index(stream)]; }
  const Stretch& hole(Stream stream) const { return skipped_.of[index(stream)]; }

  void find_heads();
  std::uint64_t written() const;
  std::uint64_t stored() const;
  std::uint64_t tail_begin(Stream stream) const;
  std::uint64_t room();
  void drop_delivered(bool head_too);
  void trim_tails(std::uint64_t to_bytes);
  void skip(Stream stream, std::uint64_t from, std::uint64_t to);
  bool punch(const Kept& kept, std::uint64_t from, std::uint64_t to);
  void take(Stream stream, std::string_view bytes, Moment now);
  std::string_view write(Stream stream, std::string_view bytes);
  bool free_space();
  void grow(Stream stream, std::uint64_t bytes);
  void lose(Stream stream, std::uint64_t bytes);
  void note(std::string text);

  std::array<Kept, 2> kept_;
  posix::Fd skipped_file_;
  SkippedOutput skipped_;
  std::uint64_t cap_bytes_ = 0;
  bool followed_ = false;
  bool head_whole_ = false;
  bool can_punch_ = true;
  std::optional<Moment> retry_at_;
  std::optional<std::string> note_;
  bool noted_ = false;
};

}  // namespace gpl::host
