#include "gpl/peer/tree_intake.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "gpl/artifact/chunk.h"
#include "gpl/artifact/digest.h"
#include "gpl/artifact/exchange.h"
#include "gpl/artifact/intake.h"
#include "gpl/artifact/manifest.h"

namespace gpl::peer {
namespace {

// So many ids fit into one frame.
constexpr std::size_t most_missing = 100'000;

Result<artifact::Digest> digest_from(const ContentId& id) {
  const auto digest = artifact::Digest::from_bytes(id);
  if (digest) return *digest;
  return Error{Code::invalid, "the id of a chunk has 32 bytes, not " + std::to_string(id.size())};
}

std::vector<ContentId> ids_of(const std::vector<artifact::Digest>& digests) {
  std::vector<ContentId> ids;
  ids.reserve(digests.size());
  for (const artifact::Digest& digest : digests) ids.emplace_back(digest.bytes());
  return ids;
}

Error too_large() {
  return {Code::too_large, "a tree's manifest may have " +
                               std::to_string(artifact::max_manifest_bytes >> 20U) +
                               " MiB: stage fewer files"};
}

}  // namespace

struct TreeIntake::State {
  State(const artifact::ChunkStore& chunk_store, std::string pin_owner)
      : store(chunk_store), owner(std::move(pin_owner)) {}

  Result<std::vector<ContentId>> missing(const std::vector<ContentId>& ids);
  void put(const ContentId& id, std::string data);
  Result<Answer> commit(const std::string& encoded, bool manifest_too_large);
  void unpin_all(bool for_good);

  const artifact::ChunkStore& store;
  const std::string owner;
  // Of the intake's work, one at a time.
  std::optional<artifact::Intake> intake;
  std::optional<artifact::Manifest> manifest;  // of a commit that lacked chunks
  std::optional<Error> failed;

 private:
  Status begin();
  void end();
  Result<Answer> keep_tree();
  Status pin(const artifact::Digest& tree);

  // Of both the intake's work and that of the pins.
  std::mutex mutex_;
  std::vector<artifact::Digest> pinned_;
  bool client_gone_ = false;
};

Status TreeIntake::State::begin() {
  if (failed) return *failed;
  if (intake) return success();
  Result<artifact::Intake> begun = store.intake();
  if (!begun.ok()) return begun.error();
  intake.emplace(std::move(begun).value());
  return success();
}

void TreeIntake::State::end() {
  intake.reset();
  manifest.reset();
  failed.reset();
}

Result<std::vector<ContentId>> TreeIntake::State::missing(const std::vector<ContentId>& ids) {
  std::vector<artifact::Digest> digests;
  digests.reserve(ids.size());
  for (const ContentId& id : ids) {
    const Result<artifact::Digest> digest = digest_from(id);
    if (!digest.ok()) return digest.error();
    digests.push_back(digest.value());
  }
  if (Status begun = begin(); !begun.ok()) return begun.error();
  const Result<std::vector<artifact::Digest>> absent = intake->missing(digests);
  if (!absent.ok()) return absent.error();
  return ids_of(absent.value());
}

void TreeIntake::State::put(const ContentId& id, std::string data) {
  Status done = begin();
  const Result<artifact::Digest> digest = digest_from(id);
  if (done.ok() && !digest.ok()) done = digest.error();
  if (done.ok() && (data.empty() || data.size() > artifact::chunk_size_bytes)) {
    done = Error{Code::invalid,
                 "a chunk has 1 byte to 4 MiB, not " + std::to_string(data.size()) + " bytes"};
  }
  if (done.ok()) {
    const Result<artifact::Chunk> chunk =
        artifact::Chunk::verified(digest.value(), std::move(data));
    done = chunk.ok() ? intake->put(chunk.value()) : chunk.error();
  }
  if (done.ok() || failed) return;
  failed = done.error();
  intake.reset();  // what was put is of no use any more, and takes space
}

Result<TreeIntake::Answer> TreeIntake::State::commit(const std::string& encoded,
                                                     bool manifest_too_large) {
  Status ready = manifest_too_large ? Status(too_large()) : begin();
  if (ready.ok() && (!encoded.empty() || !manifest)) {
    Result<artifact::Manifest> decoded = artifact::decode_manifest(encoded);
    if (decoded.ok()) {
      manifest = std::move(decoded).value();
    } else {
      ready = decoded.error();
    }
  }
  Result<Answer> answer = ready.ok() ? keep_tree() : Result<Answer>(ready.error());
  const bool incomplete =
      answer.ok() && std::holds_alternative<wire::ChunksMissing>(answer.value());
  if (!incomplete) end();
  return answer;
}

Result<TreeIntake::Answer> TreeIntake::State::keep_tree() {
  Result<std::vector<artifact::Digest>> absent = artifact::missing(*manifest, *intake);
  if (!absent.ok()) return absent.error();
  if (!absent.value().empty()) {
    absent.value().resize(std::min(absent.value().size(), most_missing));
    return Answer(wire::ChunksMissing{ids_of(absent.value())});
  }
  const Result<artifact::Digest> tree = intake->put_tree(*manifest);
  if (!tree.ok()) return tree.error();
  const Result<artifact::Committed> committed = intake->commit();
  if (!committed.ok()) return committed.error();
  // Before the intake ends: from then on it protects nothing.
  if (Status pinned = pin(tree.value()); !pinned.ok()) return pinned.error();
  return Answer(wire::TreeKept{ContentId(tree.value().bytes())});
}

Status TreeIntake::State::pin(const artifact::Digest& tree) {
  const std::lock_guard lock(mutex_);
  if (client_gone_) return success();
  Status pinned = store.pin({tree, owner}, posix::Durability::none);
  if (pinned.ok()) pinned_.push_back(tree);
  return pinned;
}

// A pin that cannot be removed is removed when the peer starts again.
void TreeIntake::State::unpin_all(bool for_good) {
  const std::lock_guard lock(mutex_);
  for (const artifact::Digest& tree : pinned_) (void)store.unpin({tree, owner});
  pinned_.clear();
  if (for_good) client_gone_ = true;
}

TreeIntake::TreeIntake(Pool& pool, const artifact::ChunkStore& store, TreePins& pins,
                       std::uint64_t client, std::function<void(bool)> pressure)
    : pins_(pins),
      pressure_(std::move(pressure)),
      state_(std::make_shared<State>(store, "client-" + std::to_string(client))),
      strand_(std::in_place, pool) {}

TreeIntake::~TreeIntake() {
  strand_.reset();  // so that the state ends on the pool: it may have files to remove
  pins_.after_pins([state = std::move(state_)] { state->unpin_all(true); });
}

void TreeIntake::release() {
  pins_.after_pins([state = state_] { state->unpin_all(false); });
}

void TreeIntake::ask(std::vector<ContentId> ids, Asked done) {
  auto missing = std::make_shared<Result<std::vector<ContentId>>>(std::vector<ContentId>());
  strand_->submit(
      [state = state_, missing, ids = std::move(ids)] { *missing = state->missing(ids); },
      [missing, done = std::move(done)] { done(std::move(*missing)); });
}

void TreeIntake::put(ContentId id, std::string data) {
  const std::size_t bytes = data.size();
  strand_->submit([state = state_, id = std::move(id),
                   data = std::move(data)]() mutable { state->put(id, std::move(data)); },
                  [this, bytes] { taken(bytes); });
  queued_bytes_ += bytes;
  if (high_ || queued_bytes_ <= high_water_bytes) return;
  high_ = true;
  if (pressure_) pressure_(true);
}

void TreeIntake::taken(std::size_t bytes) {
  queued_bytes_ -= bytes;
  if (!high_ || queued_bytes_ > low_water_bytes) return;
  high_ = false;
  if (pressure_) pressure_(false);
}

void TreeIntake::put_manifest(std::string piece) {
  if (manifest_too_large_) return;
  manifest_too_large_ = piece.size() > artifact::max_manifest_bytes - manifest_.size();
  if (manifest_too_large_) {
    manifest_ = {};
  } else {
    manifest_ += piece;
  }
}

void TreeIntake::commit(Committed done) {
  auto answer = std::make_shared<Result<Answer>>(Answer(wire::ChunksMissing{}));
  strand_->submit([state = state_, answer, encoded = std::exchange(manifest_, {}),
                   large = std::exchange(manifest_too_large_,
                                         false)] { *answer = state->commit(encoded, large); },
                  [answer, done = std::move(done)] { done(std::move(*answer)); });
}

}  // namespace gpl::peer
