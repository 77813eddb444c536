#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/peer/pool.h"
#include "gpl/peer/strand.h"
#include "gpl/peer/tree_pins.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// What one client connection brings in (AskChunks, PutChunk, PutManifest, CommitTree), tree after
/// tree, in order. A tree that was kept stays pinned until `release`, or until this ends; what is
/// not committed by then is dropped. On the loop's thread; pool, store and pins must outlive it,
/// and the store the pool.
class TreeIntake {
 public:
  using Asked = std::function<void(Result<std::vector<ContentId>> missing)>;
  /// ChunksMissing (at most 100,000 of them): put these, and commit again. The manifest need not be
  /// sent again.
  using Answer = std::variant<wire::TreeKept, wire::ChunksMissing>;
  using Committed = std::function<void(Result<Answer>)>;

  /// `queued_bytes` at which the client should be made to wait, and at which it may go on.
  static constexpr std::size_t high_water_bytes = std::size_t{16} << 20U;
  static constexpr std::size_t low_water_bytes = std::size_t{4} << 20U;

  /// `client`: a number that no other client of this process has had. `pressure` (may be empty)
  /// tells from within `put` that the high water was passed (true), and later that what is queued
  /// has fallen to the low one (false).
  TreeIntake(Pool& pool, const artifact::ChunkStore& store, TreePins& pins, std::uint64_t client,
             std::function<void(bool high)> pressure);
  ~TreeIntake();
  TreeIntake(const TreeIntake&) = delete;
  TreeIntake& operator=(const TreeIntake&) = delete;

  /// Each that is not there once. Code::invalid for what is no id.
  void ask(std::vector<ContentId> ids, Asked done);
  /// What goes wrong (a chunk that is not what its id says, a full disk) is told by `commit`; until
  /// then nothing more is taken.
  void put(ContentId id, std::string data);
  void put_manifest(std::string piece);
  /// TreeKept: whole, pinned, and survives a power loss. After that, or an error, the next tree
  /// begins. Code::invalid, too_large, io.
  void commit(Committed done);

  /// The trees that were kept need not be any more.
  void release();

  /// Content that has not been written yet.
  std::size_t queued_bytes() const { return queued_bytes_; }

 private:
  struct State;
  void taken(std::size_t bytes);

  TreePins& pins_;
  std::function<void(bool)> pressure_;
  std::size_t queued_bytes_ = 0;
  bool high_ = false;
  std::string manifest_;  // the pieces so far
  bool manifest_too_large_ = false;
  std::shared_ptr<State> state_;  // used by the pool, one work at a time
  std::optional<Strand> strand_;  // none only while this ends
};

}  // namespace gpl::peer
