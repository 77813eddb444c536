#include <memory>
#include <utility>

#include "gpl/peer/client_session.h"

namespace gpl::peer {

TreeIntake& ClientSession::intake() {
  if (!intake_)
    intake_ = std::make_unique<TreeIntake>(
        *parts_.pool, *parts_.store, *parts_.pins, number_,
        [this](bool high) { high ? connection_->pause() : connection_->resume(); });
  return *intake_;
}

void ClientSession::ask(Question question, wire::AskChunks& asked) {
  if (const auto full = parts_.peer.short_of_space()) return refuse(question, *full);
  intake().ask(std::move(asked.chunks),
               guarded([this, question](Result<std::vector<ContentId>> missing) {
                 if (!missing.ok()) return refuse(question, missing.error());
                 answer(question, wire::ChunksMissing{std::move(missing).value()});
               }));
}

void ClientSession::ask(Question question, wire::PutChunk& asked) {
  static_cast<void>(question);
  if (!intake_error_) intake_error_ = parts_.peer.short_of_space();
  if (!intake_error_) intake().put(std::move(asked.id), std::move(asked.data));
}

void ClientSession::ask(Question question, wire::PutManifest& asked) {
  static_cast<void>(question);
  intake().put_manifest(std::move(asked.piece));
}

void ClientSession::ask(Question question, wire::CommitTree& asked) {
  static_cast<void>(asked);
  if (intake_error_) {
    refuse(question, *std::exchange(intake_error_, std::nullopt));
    kept_trees_.clear();
    return intake_.reset();
  }
  intake().commit(guarded([this, question](Result<TreeIntake::Answer> committed) {
    if (!committed.ok()) return refuse(question, committed.error());
    if (const auto* kept = std::get_if<wire::TreeKept>(&committed.value()))
      kept_trees_.insert(kept->tree);
    std::visit([&](auto& told) { answer(question, std::move(told)); }, committed.value());
  }));
}

/// The manifest is kept while it is asked for, piece by piece.
void ClientSession::ask(Question question, wire::FetchManifest& asked) {
  const auto id = artifact::Digest::from_bytes(asked.tree);
  if (!id) return refuse(question, Error{Code::invalid, "its tree is no content's name"});
  const auto piece = [this, question, offset = asked.offset] {
    if (!manifest_ || offset > manifest_->size())
      return refuse(question, Error{Code::invalid, "the manifest is not that long"});
    wire::TreePiece told{manifest_->substr(offset, wire::piece_limit_bytes), false};
    told.last = offset + told.data.size() == manifest_->size();
    answer(question, std::move(told));
  };
  if (manifest_ && manifest_of_ == asked.tree) return piece();
  const auto read = std::make_shared<Result<std::string>>(std::string());
  parts_.pool->submit(
      ticket_, [store = parts_.store.get(), id = *id, read] { *read = store->encoded_tree(id); },
      [this, question, tree = asked.tree, read, piece] {
        if (!read->ok()) return refuse(question, read->error());
        manifest_of_ = tree;
        manifest_ = std::make_shared<const std::string>(std::move(*read).value());
        piece();
      });
}

void ClientSession::ask(Question question, wire::FetchChunk& asked) {
  const auto id = artifact::Digest::from_bytes(asked.id);
  if (!id) return refuse(question, Error{Code::invalid, "its name is no content's"});
  const auto read = std::make_shared<Result<std::string>>(std::string());
  parts_.pool->submit(
      ticket_,
      [store = parts_.store.get(), id = *id, read] {
        Result<artifact::StoredChunk> chunk = store->chunk(id);
        if (chunk.ok()) {
          *read = chunk.value().chunk.bytes();
        } else {
          *read = std::move(chunk).error();
        }
      },
      [this, question, read] {
        if (!read->ok()) return refuse(question, read->error());
        if (caller_.peer) parts_.holders->is_fetching(*caller_.peer);
        answer(question, wire::ChunkIs{std::move(*read).value()});
      });
}

}  // namespace gpl::peer
