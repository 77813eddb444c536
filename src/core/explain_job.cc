#include <algorithm>
#include <cassert>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "explain_words.h"
#include "gpl/core/overloaded.h"
#include "gpl/core/scheduler.h"
#include "word_list.h"

namespace gpl {
namespace {

constexpr std::size_t most_counted = 100'000;
constexpr std::size_t most_named = 4;

std::string name_of_job(JobId id) { return "job " + std::to_string(id.value); }

std::string count_of(std::uint64_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

// The first few, and how many there are beside them.
std::string some_of(std::vector<std::string> names) {
  if (names.size() <= most_named) return in_words(names);
  const std::size_t more = names.size() - most_named;
  names.resize(most_named);
  names.push_back(std::to_string(more) + " more");
  return in_words(names);
}

std::vector<PeerView> all_views(const ClusterState& state) {
  std::vector<PeerView> views;
  for (const PeerId peer : state.peers()) views.push_back(state.view_of(peer));
  return views;
}

std::string words_for(const Outcome& outcome) {
  return std::visit(
      Overloaded{[](const Exited& o) { return "exit code " + std::to_string(o.code); },
                 [](const Signalled& o) { return "signal " + std::to_string(o.signal); },
                 [](const TimedOut&) { return std::string("its time limit was over"); },
                 [](const Cancelled&) { return std::string("cancelled"); },
                 [](const FailedToStart& o) { return "could not be started: " + o.message; },
                 [](const Lost& o) { return "lost: " + o.why; }},
      outcome);
}

std::string ended_headline(const ClusterState& state, const JobRecord& job, Instant now) {
  const std::vector<EndedTasks> ended = state.ended(job.id);
  std::string text = "ended " + format_short(now - *job.ended_at) + " ago: ";
  if (ended.size() != 1)
    return text + std::to_string(job.failed_count) + " of " +
           count_of(job.ended_count, "task", "tasks") + " failed";
  if (job.ended_count > 1) text += "each of " + std::to_string(job.ended_count) + " tasks: ";
  return text + words_for(ended.front().outcome);
}

// ", as far as is known: lab2 is unreachable for 20s".
std::string doubt_about(const PeerRecord& peer, Instant now) {
  if (!peer.down_at) return "";
  return ", as far as is known: " + peer.offer.name + " is unreachable for " +
         format_short(now - *peer.down_at);
}

std::string running_headline(const ClusterState& state, const JobRecord& job, Instant now) {
  const std::vector<AttemptId> attempts = state.attempts_of(job.id);
  if (attempts.size() == 1) {
    const Attempt& attempt = *state.find_attempt(attempts.front());
    const PeerRecord& peer = *state.find_peer(attempt.peer);
    const auto* started = std::get_if<Started>(&attempt.state);
    std::string text = started == nullptr ? "is being started on " + peer.offer.name
                                          : "runs on " + peer.offer.name + " since " +
                                                format_short(now - started->at);
    if (attempt.cancelled) text += ", and has been told to end";
    return text + doubt_about(peer, now);
  }
  std::set<PeerId> peers;
  for (const AttemptId id : attempts) peers.insert(state.find_attempt(id)->peer);
  std::vector<std::string> names;
  for (const PeerId peer : peers) names.push_back(state.find_peer(peer)->offer.name);
  return std::to_string(attempts.size()) + " tasks run on " + some_of(std::move(names));
}

std::string blocked_headline(const ClusterState& state, const JobRecord& job) {
  std::vector<std::string> parts;
  for (const Dependency& dependency : state.blocked_by(job.id)) {
    const std::string name = name_of_job(dependency.job);
    switch (dependency.after) {
      case After::ok:
        parts.push_back(name + " ends well");
        break;
      case After::any:
        parts.push_back(name + " ends");
        break;
      case After::fail:
        parts.push_back(name + " fails");
        break;
    }
  }
  return "blocked: until " + some_of(std::move(parts));
}

std::string words_in_front(std::size_t count) {
  if (count == 0) return "";
  return "; " + std::string(count == most_counted ? "at least " : "") +
         count_of(count, "job is", "jobs are") + " in front";
}

// Since when the only job that has what is asked for has it.
std::optional<Instant> held_since(const PeerAnswer& answer, const std::vector<PeerView>& views) {
  std::set<std::string> holders;
  for (const Reason& reason : answer.fit.reasons) holders.insert(reason.holder);
  if (holders.size() != 1) return std::nullopt;
  std::optional<Instant> since;
  const auto look_at = [&](const auto& hold) {
    if (hold.holder != *holders.begin() || !hold.since) return;
    since = since ? std::min(*since, *hold.since) : *hold.since;
  };
  for (const PeerView& view : views) {
    if (view.name != answer.peer) continue;
    std::for_each(view.holds.begin(), view.holds.end(), look_at);
    std::for_each(view.loads.begin(), view.loads.end(), look_at);
  }
  return since;
}

std::string waiting_headline(const PeerAnswer& answer, const std::vector<PeerView>& views,
                             Instant now) {
  std::vector<std::string> parts;
  if (const auto since = held_since(answer, views))
    parts.push_back("running " + format_short(now - *since));
  if (answer.fit.free_by && *answer.fit.free_by > now)
    parts.push_back("at most " + format_short(*answer.fit.free_by - now) + " more");
  const std::string times = joined(parts, ", ");
  return waiting_words(answer) + (times.empty() ? "" : " (" + times + ")");
}

// It fits, and has not been placed.
std::string turn_headline(const Explanation& explanation, std::size_t in_front) {
  const auto fitting =
      std::find_if(explanation.peers.begin(), explanation.peers.end(),
                   [](const PeerAnswer& peer) { return peer.fits == PeerAnswer::Fits::yes; });
  assert(fitting != explanation.peers.end());
  if (in_front == 0) return "waiting: it is about to start, on " + fitting->peer + " or elsewhere";
  return "waiting: " + fitting->peer + " fits, and its turn has not come";
}

void explain_waiting(const ClusterState& state, const JobRecord& job,
                     const std::vector<PeerView>& views, Instant now, JobExplanation& result) {
  Explanation& explanation = result.explanation;
  const QueuePlace place{job.description->priority, job.id};
  const std::size_t in_front = state.placeable_before(place, most_counted);
  result.position = in_front + 1;
  if (state.placings_left(job.id) == 0) {
    explanation.verdict = Verdict::waiting;
    explanation.headline = "waiting: as many of its tasks are under way as its array's limit lets";
  } else if (explanation.verdict == Verdict::fits) {
    explanation.verdict = Verdict::waiting;
    explanation.headline = turn_headline(explanation, in_front) + words_in_front(in_front);
  } else if (explanation.verdict == Verdict::waiting) {
    explanation.headline =
        waiting_headline(*soonest(explanation.peers), views, now) + words_in_front(in_front);
  }
}

}  // namespace

JobExplanation explain_job(const ClusterState& state, JobId id, Instant now) {
  const JobRecord* job = state.find_job(id);
  assert(job != nullptr);
  JobExplanation result;
  Explanation& explanation = result.explanation;
  if (job->waiting_count == 0) {
    explanation.verdict = Verdict::fits;
    explanation.headline = for_terminal(job->has_ended() ? ended_headline(state, *job, now)
                                                         : running_headline(state, *job, now));
    return result;
  }
  const std::vector<PeerView> views = all_views(state);
  explanation = explain(asked_in_cluster(job->description->requirement), views, now);
  if (job->held) {
    explanation.verdict = Verdict::held;
    explanation.headline =
        "held: until it is released (gpl release " + std::to_string(id.value) + ")";
  } else if (!state.blocked_by(id).empty()) {
    explanation.verdict = Verdict::blocked;
    explanation.headline = blocked_headline(state, *job);
  } else {
    explain_waiting(state, *job, views, now, result);
  }
  if (job->under_way_count > 0)
    explanation.headline +=
        "; " + count_of(job->under_way_count, "task is", "tasks are") + " under way";
  explanation.headline = for_terminal(std::move(explanation.headline));
  return result;
}

Explanation explain_new(const ClusterState& state, const Requirement& requirement,
                        bool all_reported, Instant now) {
  Explanation explanation = explain(asked_in_cluster(requirement), all_views(state), now);
  if (explanation.verdict != Verdict::never || all_reported) return explanation;
  explanation.verdict = Verdict::waiting;
  explanation.headline = "waiting: not all peers have reported yet";
  return explanation;
}

}  // namespace gpl
