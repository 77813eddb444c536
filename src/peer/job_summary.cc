#include "gpl/peer/job_summary.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/size.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_listed_command_bytes = 1000;

constexpr std::size_t most_places_told = 32;

QueuePlace place_of(const JobRecord& job) { return {job.description->priority, job.id}; }

std::string words_of(const DeviceChoice& device, const PeerOffer& offer) {
  std::string words = std::string(name_of(device.kind)) + ":" + std::to_string(device.index);
  if (device.slice.empty()) return words;
  for (const Accelerator& card : offer.accelerators) {
    if (card.kind != device.kind || card.index != device.index) continue;
    for (const Partition& slice : card.partitions) {
      if (slice.uuid == device.slice) return words + " " + slice.profile;
    }
  }
  return words + " " + device.slice;
}

/// "lab2 cuda:0 cuda:1".
std::string place_words(const ClusterState& state, const Attempt& attempt) {
  const PeerRecord* peer = state.find_peer(attempt.peer);
  // Who gives a peer up gives its attempts up, too.
  assert(peer != nullptr);
  std::string words = peer->offer.name;
  for (const DeviceClaim& claim : attempt.allocation.devices)
    words += " " + words_of(claim.device, peer->offer);
  return words;
}

void tell_attempts(const ClusterState& state, Instant now, wire::JobSummary& summary) {
  std::set<std::string> places;
  for (const AttemptId id : state.attempts_of(summary.id)) {
    const Attempt& attempt = *state.find_attempt(id);
    places.insert(place_words(state, attempt));
    const PeerRecord& peer = *state.find_peer(attempt.peer);
    // What runs there goes on, as far as anybody knows.
    if (peer.down_at)
      summary.why =
          "lost contact with " + peer.offer.name + " for " + format_short(now - *peer.down_at);
    const auto* started = std::get_if<Started>(&attempt.state);
    if (started == nullptr) continue;
    if (!summary.started_at || started->at < *summary.started_at) summary.started_at = started->at;
  }
  summary.state = summary.started_at ? "running" : "starting";
  summary.where.assign(places.begin(), places.end());
  if (summary.where.size() <= most_places_told) return;
  const std::size_t more = summary.where.size() - most_places_told;
  summary.where.resize(most_places_told);
  summary.where.push_back("and " + std::to_string(more) + " more");
}

void tell_end(const ClusterState& state, const JobNotes& notes, wire::JobSummary& summary) {
  summary.state = "ended";
  summary.started_at = notes.started_at;
  summary.where = notes.where;
  const std::vector<EndedTasks> ended = state.ended(summary.id);
  const auto failed = std::find_if(ended.begin(), ended.end(), [](const EndedTasks& tasks) {
    return tasks.outcome != Outcome(Exited{0});
  });
  if (failed != ended.end())
    summary.outcome = failed->outcome;
  else if (!ended.empty())
    summary.outcome = ended.front().outcome;
}

std::string with_more(const std::string& first, std::size_t more) {
  return more == 0 ? first : first + " and " + std::to_string(more) + " more";
}

std::string wait_for_jobs(const std::vector<Dependency>& jobs) {
  return with_more("waits for job " + std::to_string(jobs.front().job.value), jobs.size() - 1);
}

/// Why no peer takes anything; "" when one does.
std::string closed_words(const ClusterState& state, Instant now) {
  std::vector<const PeerRecord*> peers;
  for (const PeerId id : state.peers()) {
    peers.push_back(state.find_peer(id));
    if (!peers.back()->down_at && peers.back()->offer.closed.empty()) return "";
  }
  if (peers.empty()) return "waits for a peer";
  if (peers.size() > 1) return "waits for a peer that takes work";
  const PeerRecord& only = *peers.front();
  if (only.down_at)
    return only.offer.name + " unreachable for " + format_short(now - *only.down_at);
  return only.offer.name + " " + only.offer.closed;
}

std::string device_words(const Requirement& asked) {
  const std::string count = std::to_string(asked.gpus) + " ";
  if (asked.kind) return count + std::string(name_of(*asked.kind));
  return count + (asked.gpus == 1 ? "gpu" : "gpus");
}

/// What it asks for, in a few words: what of that is missing takes the scheduler to say.
std::string wait_for_room(const ClusterState& state, const Requirement& asked, Instant now) {
  if (std::string closed = closed_words(state, now); !closed.empty()) return closed;
  for (const PeerId id : state.peers()) {
    const PeerRecord& peer = *state.find_peer(id);
    if (!asked.on.empty() && peer.offer.name == asked.on && peer.down_at)
      return "waits for " + asked.on + ", unreachable for " + format_short(now - *peer.down_at);
  }
  std::vector<std::string> parts;
  if (asked.gpus > 0) parts.push_back(device_words(asked));
  if (asked.cpus)
    parts.push_back(std::to_string(*asked.cpus) + (*asked.cpus == 1 ? " cpu" : " cpus"));
  if (asked.memory_bytes) parts.push_back(format_memory_size(*asked.memory_bytes));
  for (const FrameworkWish& wish : asked.frameworks) parts.push_back(wish.shown_name());
  std::string words = "waits for ";
  for (std::size_t i = 0; i < parts.size(); ++i) words += (i == 0 ? "" : ", ") + parts[i];
  if (parts.empty()) words += "its turn";
  if (!asked.on.empty()) words += " on " + asked.on;
  return words;
}

void tell_waiting(const ClusterState& state, const JobRecord& job, const ListingContext& context,
                  Instant now, wire::JobSummary& summary) {
  const std::vector<Dependency> blocking = state.blocked_by(job.id);
  if (job.held) {
    summary.state = summary.why = "held";
  } else if (!blocking.empty()) {
    summary.state = "blocked";
    summary.why = wait_for_jobs(blocking);
  } else {
    summary.state = "queued";
    summary.why = wait_for_room(state, job.description->requirement, now);
    if (context.positions != nullptr) {
      summary.position = context.positions->of(job.id);
    } else if (state.is_placeable(place_of(job))) {
      constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
      summary.position = state.placeable_before(place_of(job), all) + 1;
    }
  }
}

/// The first words, for a line: a list of many jobs has to fit an answer.
std::vector<std::string> shortened(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  std::size_t left = most_listed_command_bytes;
  for (const std::string& word : command) {
    const bool whole = word.size() < left;
    words.push_back(whole ? word : word.substr(0, left) + "...");
    if (!whole) break;
    left -= word.size();
  }
  return words;
}

std::string name_of_submitter(const Submitter& submitter, const ListingContext& context) {
  std::string name = context.name_of ? context.name_of(submitter) : "";
  if (!name.empty()) return name;
  return submitter.client.empty() ? std::to_string(submitter.uid) : submitter.client;
}

}  // namespace

QueuePositions::QueuePositions(const ClusterState& state, std::size_t at_most) {
  std::uint64_t position = 0;
  for (const JobId job : state.placeable({}, at_most)) positions_[job] = ++position;
}

std::uint64_t QueuePositions::of(JobId job) const {
  const auto found = positions_.find(job);
  return found == positions_.end() ? 0 : found->second;
}

wire::JobSummary summarise(const ClusterState& state, JobId id, const ListingContext& context,
                           Instant now) {
  const JobRecord* job = state.find_job(id);
  assert(job != nullptr);
  const JobNotes notes = context.notes_of ? context.notes_of(id) : JobNotes();
  wire::JobSummary summary;
  summary.id = id;
  summary.name = job->description->spec.name;
  summary.submitter = job->submitter;
  summary.submitter_name = name_of_submitter(job->submitter, context);
  summary.command =
      context.details ? job->description->spec.command : shortened(job->description->spec.command);
  summary.submitted_at = job->submitted_at;
  summary.ended_at = job->ended_at;
  summary.tasks = job->waiting_count + job->under_way_count + job->ended_count;
  summary.waiting = job->waiting_count;
  summary.running = job->under_way_count;
  summary.succeeded = job->ended_count - job->failed_count;
  summary.failed = job->failed_count;
  summary.kept_files = notes.kept_files;
  summary.kept_bytes = notes.kept_bytes;
  summary.kept_until = notes.kept_until;
  summary.left_out_bytes = notes.left_out_bytes;
  summary.client_gone = notes.client_gone;
  if (context.details) summary.description = *job->description;
  if (job->has_ended())
    tell_end(state, notes, summary);
  else if (job->under_way_count > 0)
    tell_attempts(state, now, summary);
  else
    tell_waiting(state, *job, context, now, summary);
  return summary;
}

}  // namespace gpl::peer
