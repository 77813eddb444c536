#include "gpl/client/tree_upload.h"

#include "gpl/artifact/manifest.h"
#include "gpl/artifact/stat_cache.h"
#include "gpl/artifact/tree_snapshot.h"
#include "gpl/client/workplace.h"
#include "gpl/posix/clock.h"

namespace gpl::client {
namespace {

using artifact::Digest;

constexpr std::size_t piece_bytes = std::size_t{1} << 20U;
constexpr std::size_t on_its_way_bytes = std::size_t{8} << 20U;
constexpr int most_tries = 5;

Error not_a_digest() { return Error{Code::io, "the peer sent what names no content"}; }

// Nothing when it is to be tried again: the connection was lost, or the peer lost content.
Result<std::optional<ContentId>> try_upload(Session& session, const std::string& source,
                                            const artifact::Selection& selection,
                                            artifact::StatCache& cache, const Voice* voice) {
  PeerStore store(session);
  Result<artifact::TreeSnapshot> taken =
      artifact::snapshot_tree(source, selection.entries, &cache, store, posix::wall_clock(), {});
  if (!taken.ok() && taken.error().code == Code::busy) return std::optional<ContentId>();
  if (!taken.ok()) return std::move(taken).error();
  if (voice != nullptr) {
    std::vector<artifact::Note> notes = selection.notes;
    notes.insert(notes.end(), taken.value().notes.begin(), taken.value().notes.end());
    say_notes(notes, *voice);
  }
  Result<std::optional<ContentId>> kept = store.commit(taken.value().manifest);
  if (!kept.ok() && kept.error().code == Code::busy) return std::optional<ContentId>();
  return kept;
}

}  // namespace

Status PeerStore::still_there() const {
  if (session_.connected() && session_.connection() == connection_) return success();
  return Error{Code::busy, "the connection to the peer was lost"};
}

Result<std::vector<Digest>> PeerStore::missing(const std::vector<Digest>& ids) {
  if (ids.empty()) return std::vector<Digest>();
  wire::AskChunks question;
  for (const Digest& id : ids) question.chunks.emplace_back(id.bytes());
  Result<wire::ChunksMissing> answer = session_.ask_for<wire::ChunksMissing>(std::move(question));
  if (!answer.ok()) return std::move(answer).error();
  if (Status there = still_there(); !there.ok()) return std::move(there).error();
  std::vector<Digest> missing;
  for (const ContentId& id : answer.value().chunks) {
    const std::optional<Digest> digest = Digest::from_bytes(id);
    if (!digest) return not_a_digest();
    missing.push_back(*digest);
  }
  return missing;
}

Status PeerStore::put(const artifact::Chunk& chunk) {
  if (Status there = still_there(); !there.ok()) return there;
  session_.say(0, wire::PutChunk{ContentId(chunk.id().bytes()), chunk.bytes()});
  return session_.flush(on_its_way_bytes);
}

Result<std::optional<ContentId>> PeerStore::commit(const artifact::Manifest& manifest) {
  Result<std::string> bytes = artifact::encode_manifest(manifest);
  if (!bytes.ok()) return std::move(bytes).error();
  const std::string& all = bytes.value();
  for (std::size_t at = 0; at < all.size(); at += piece_bytes) {
    if (Status there = still_there(); !there.ok()) return std::move(there).error();
    session_.say(0, wire::PutManifest{all.substr(at, piece_bytes)});
    if (Status sent = session_.flush(on_its_way_bytes); !sent.ok()) return std::move(sent).error();
  }
  std::optional<wire::Answer> answer;
  const std::uint32_t number = session_.ask(
      wire::CommitTree{}, [&](wire::Answer&& told) { answer.emplace(std::move(told)); });
  Status waited = session_.run_until([&] { return answer || !still_there().ok(); });
  session_.forget(number);
  if (!waited.ok()) return std::move(waited).error();
  if (!answer) return still_there().error();
  if (std::holds_alternative<wire::ChunksMissing>(*answer)) return std::optional<ContentId>();
  if (const auto* refused = std::get_if<wire::Refused>(&*answer)) return refusal(*refused);
  const auto* kept = std::get_if<wire::TreeKept>(&*answer);
  if (kept == nullptr || kept->tree != artifact::digest_of(all).bytes()) {
    return Error{Code::io, "the peer keeps another tree than it was sent: report this as a bug"};
  }
  return std::optional<ContentId>(kept->tree);
}

Result<ContentId> upload_tree(Session& session, const std::string& source,
                              const artifact::Selection& selection, const std::string& cache_folder,
                              const Voice& voice) {
  if (selection.entries.empty()) {
    say_notes(selection.notes, voice);
    return ContentId();
  }
  artifact::StatCache cache = artifact::StatCache::load(cache_folder, source);
  for (int tries = 0; tries < most_tries; ++tries) {
    Status connected = session.run_until([&] { return session.connected(); });
    if (!connected.ok()) return std::move(connected).error();
    Result<std::optional<ContentId>> kept =
        try_upload(session, source, selection, cache, tries == 0 ? &voice : nullptr);
    if (!kept.ok()) return std::move(kept).error();
    if (!kept.value()) continue;
    (void)cache.save(posix::wall_clock());  // the next time takes longer, no more
    return *kept.value();
  }
  return Error{Code::io, "the files could not be brought to the peer in " +
                             std::to_string(most_tries) +
                             " tries: the connection was lost in each; try again"};
}

}  // namespace gpl::client
