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

}  // namespace gpl::peer
