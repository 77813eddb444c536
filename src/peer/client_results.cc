#include <algorithm>
#include <utility>

#include "gpl/peer/client_session.h"
#include "gpl/peer/known_jobs.h"

namespace gpl::peer {
namespace {

constexpr int most_tries = 10;
constexpr Duration ask_again_after = milliseconds(500);

}  // namespace

void ClientSession::ask(Question question, wire::AskResults& asked) {
  if (!may_change(question, asked.job) || is_taken(question)) return;
  const auto look = [this, question, job = asked.job, task = asked.task] {
    tell_results(question, job, task);
  };
  results_[question] = parts_.news->subscribe(asked.job, look);
  parts_.loop.at_end_of_turn(guarded(look));
}

/// What each of its attempts here made has been put away; else the question waits, or is refused.
bool ClientSession::all_collected(Question question, JobId id) {
  for (const Fence& fence : parts_.attempts->of(id)) {
    const LocalAttempt& attempt = *parts_.attempts->find(fence);
    if (attempt.collected) continue;
    if (!attempt.not_collected) return false;
    results_.erase(question);
    refuse(question, Error{Code::io, "what it made is kept, but cannot be told yet: " +
                                         attempt.not_collected->message});
    return false;
  }
  return true;
}

/// Once the job has ended: first what is here, then what others have that ran it.
void ClientSession::tell_results(Question question, JobId id, std::optional<TaskId> task) {
  const ClusterState* state = parts_.consensus->state();
  if (!results_.contains(question) || state == nullptr || !parts_.attempts->complete()) return;
  if (!has_ended(state, id)) {
    const JobRecord* job = state->find_job(id);
    const std::vector<Fence> known = parts_.attempts->of(id);
    const LocalAttempt* last = known.empty() ? nullptr : parts_.attempts->find(known.back());
    if (job == nullptr || !foreseen_end(*state, *job, last)) return;
  }
  if (!all_collected(question, id)) return;
  results_.erase(question);
  Gathering gathering;
  for (const KeptResults& kept : parts_.results->find(id, task)) {
    for (const wire::ResultFile& file : kept.files) gathering.newest[{file.task, file.path}] = file;
    if (!gathering.kept_until || kept.kept_until < *gathering.kept_until)
      gathering.kept_until = kept.kept_until;
  }
  gatherings_[question] = std::move(gathering);
  std::set<PeerId> others;
  const std::vector<Fence> attempts = parts_.attempts->of(id);
  for (const Fence& fence : attempts)
    // One that has left the cluster has taken them along.
    if (const PeerId peer = parts_.attempts->find(fence)->ran_on; state->find_peer(peer) != nullptr)
      others.insert(peer);
  const JobRecord* job = state->find_job(id);
  const bool is_home = job != nullptr && job->submitter.peer == parts_.identity.peer;
  if (caller_.is_peer || (is_home && !attempts.empty()) || parts_.mesh->up().empty())
    return gather(question, id, task, std::move(others));
  parts_.holders->find(
      wire::Holding::results, holding_key(id), std::nullopt,
      guarded([this, question, id, task, others](const std::vector<PeerId>& holders) mutable {
        others.insert(holders.begin(), holders.end());
        gather(question, id, task, std::move(others));
      }));
}

void ClientSession::gather(Question question, JobId job, std::optional<TaskId> task,
                           std::set<PeerId> peers) {
  if (caller_.is_peer) peers.clear();
  gatherings_.at(question).awaited = peers;
  for (const PeerId peer : peers) ask_results_of(question, job, task, peer);
  gathered(question);
}

/// A peer that is just being restarted is asked again; one that stays away is told of.
void ClientSession::ask_results_of(Question question, JobId job, std::optional<TaskId> task,
                                   PeerId peer) {
  const auto told = guarded([this, question, job, task, peer](const Result<wire::Answer>& said) {
    const auto entry = gatherings_.find(question);
    if (entry == gatherings_.end() || !entry->second.awaited.contains(peer)) return;
    Gathering& gathering = entry->second;
    auto& [tries, again] = gathering.lost[peer];
    if (!said.ok() && ++tries < most_tries) {
      again = parts_.loop.after(ask_again_after, [this, question, job, task, peer] {
        ask_results_of(question, job, task, peer);
      });
      return;
    }
    gathering.awaited.erase(peer);
    const auto* results = said.ok() ? std::get_if<wire::Results>(&said.value()) : nullptr;
    const auto* refused = said.ok() ? std::get_if<wire::Refused>(&said.value()) : nullptr;
    if (results != nullptr) {
      keep_from(peer, gathering, *results, job);
    } else {
      gathering.failed =
          Error{Code::not_found, "what it made on " + name_of(peer) + " cannot be told: " +
                                     (refused != nullptr ? refused->message
                                      : said.ok()        ? "it gave no answer"
                                                         : said.error().message)};
    }
    gathered(question);
  });
  static_cast<void>(parts_.far->ask(peer, wire::AskResults{job, task}, told));
}

void ClientSession::keep_from(PeerId peer, Gathering& gathering, const wire::Results& results,
                              JobId job) {
  for (const wire::ResultFile& file : results.files) {
    gathering.newest[{file.task, file.path}] = file;
    far_files_[job][{file.task, file.path}] = peer;
  }
  if (!results.kept_until) return;
  if (!gathering.kept_until || *results.kept_until < *gathering.kept_until)
    gathering.kept_until = results.kept_until;
}

void ClientSession::gathered(Question question) {
  const auto entry = gatherings_.find(question);
  if (entry == gatherings_.end() || !entry->second.awaited.empty()) return;
  Gathering gathering = std::move(entry->second);
  gatherings_.erase(entry);
  if (gathering.failed) return refuse(question, *gathering.failed);
  wire::Results results;
  results.kept_until = gathering.kept_until;
  for (auto& [place, file] : gathering.newest) results.files.push_back(std::move(file));
  answer(question, std::move(results));
}

std::optional<PeerId> ClientSession::far_file(JobId job, TaskId task,
                                              const std::string& path) const {
  const auto files = far_files_.find(job);
  if (files == far_files_.end()) return std::nullopt;
  const auto at = files->second.find({task, path});
  return at == files->second.end() ? std::nullopt : std::optional(at->second);
}

bool ClientSession::is_kept_here(JobId job, TaskId task, const std::string& path) const {
  const std::vector<KeptResults> kept = parts_.results->find(job, task);
  return std::any_of(kept.begin(), kept.end(), [&](const KeptResults& each) {
    return std::any_of(each.files.begin(), each.files.end(),
                       [&](const wire::ResultFile& file) { return file.path == path; });
  });
}

void ClientSession::read_here(Question question, const wire::FetchFile& asked) {
  parts_.results->read(asked.job, asked.task, asked.path, asked.offset, asked.size_bytes,
                       guarded([this, question](Result<wire::FilePiece> piece) {
                         if (!piece.ok()) return refuse(question, piece.error());
                         answer(question, std::move(piece).value());
                       }));
}

/// Of a file that this session has not told of: whoever has results of the job.
void ClientSession::ask(Question question, wire::FetchFile& asked) {
  if (!may_change(question, asked.job) || is_taken(question)) return;
  if (const auto peer = far_file(asked.job, asked.task, asked.path))
    return relays_.ask(question, *peer, name_of(*peer), std::move(asked));
  if (caller_.is_peer || parts_.mesh->up().empty() ||
      is_kept_here(asked.job, asked.task, asked.path))
    return read_here(question, asked);
  parts_.holders->find(wire::Holding::results, holding_key(asked.job), std::nullopt,
                       guarded([this, question, asked](const std::vector<PeerId>& holders) {
                         if (holders.empty()) return read_here(question, asked);
                         const PeerId peer = holders.front();
                         far_files_[asked.job][{asked.task, asked.path}] = peer;
                         relays_.ask(question, peer, name_of(peer), asked);
                       }));
}

/// Each peer is told of what it has; this one of the rest.
void ClientSession::ask(Question question, wire::ForgetFiles& asked) {
  if (!may_change(question, asked.job)) return;
  std::map<PeerId, std::vector<std::string>> of_peers;
  for (std::string& path : asked.paths)
    of_peers[far_file(asked.job, asked.task, path).value_or(PeerId{})].push_back(std::move(path));
  struct UnderWay {
    std::size_t awaited = 0;
    std::optional<Error> failed;
  };
  auto under_way = std::make_shared<UnderWay>();
  under_way->awaited = of_peers.size();
  const std::function<void(Status)> done =
      guarded([this, question, under_way](const Status& status) {
        if (!status.ok()) under_way->failed = status.error();
        if (--under_way->awaited > 0) return;
        if (under_way->failed) return refuse(question, *under_way->failed);
        answer(question, wire::Done{});
      });
  if (of_peers.empty()) return answer(question, wire::Done{});
  for (auto& [peer, paths] : of_peers) {
    if (peer == PeerId{}) {
      parts_.results->forget(asked.job, asked.task, paths, done);
      continue;
    }
    const auto told = [done, name = name_of(peer)](const Result<wire::Answer>& said) {
      const auto* refused = said.ok() ? std::get_if<wire::Refused>(&said.value()) : nullptr;
      if (refused != nullptr)
        return done(Error{Code::io, "peer " + name + ": " + refused->message});
      done(said.ok() ? success() : Status(said.error()));
    };
    static_cast<void>(
        parts_.far->ask(peer, wire::ForgetFiles{asked.job, asked.task, std::move(paths)}, told));
  }
}

}  // namespace gpl::peer
