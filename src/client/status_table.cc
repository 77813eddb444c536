#include "gpl/client/status_table.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "gpl/client/job_words.h"
#include "gpl/client/shown_words.h"
#include "gpl/client/text_table.h"
#include "gpl/core/size.h"

namespace gpl::client {
namespace {

constexpr std::size_t most_places_shown = 3;

/// "31/125 GiB", "0.4/1.9 GiB".
std::string memory_cell(const wire::PeerSummary& peer) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  if (peer.memory_lent_bytes == 0) return "-";
  const double lent = static_cast<double>(peer.memory_lent_bytes) / gib;
  const double held = static_cast<double>(peer.view.memory_held_bytes) / gib;
  const auto shown = [&](double value) {
    const auto tenths = static_cast<std::uint64_t>(value * 10 + 0.5);
    std::string whole = std::to_string(lent < 10 ? tenths / 10 : (tenths + 5) / 10);
    return lent < 10 && tenths > 0 ? whole + "." + std::to_string(tenths % 10) : whole;
  };
  return shown(held) + "/" + shown(lent) + " GiB";
}

/// What there is of one kind; a card that is cut into slices counts as these.
struct DeviceCount {
  std::size_t all = 0;
  std::size_t held = 0;
  std::size_t shared = 0;  // of them, by parts of their memory
  std::size_t unusable = 0;
};

void count_holds(const PeerView& view, const Accelerator& device, DeviceCount& count) {
  std::set<std::string> held;  // slices; "" the card
  bool is_shared = false;
  for (const DeviceHold& hold : view.holds) {
    if (hold.kind != device.kind || hold.index != device.index) continue;
    held.insert(hold.slice);
    is_shared = is_shared || hold.shared_memory_bytes.has_value();
  }
  count.held += held.size();
  if (is_shared) ++count.shared;
}

std::string device_cell(const PeerView& view, bool answers) {
  std::map<AcceleratorKind, DeviceCount> kinds;
  for (const Accelerator& device : view.accelerators) {
    DeviceCount& count = kinds[device.kind];
    count.all += std::max<std::size_t>(1, device.partitions.size());
    if (!device.usable) ++count.unusable;
    count_holds(view, device, count);
  }
  std::string cell;
  for (const auto& [kind, count] : kinds) {
    cell += (cell.empty() ? "" : "; ") + std::string(name_of(kind)) + " ";
    if (!answers) {
      cell += std::to_string(count.all);
      continue;
    }
    cell += std::to_string(count.held) + "/" + std::to_string(count.all) + " held";
    if (count.shared > 0) cell += ", " + std::to_string(count.shared) + " shared";
    if (count.unusable > 0) cell += ", " + std::to_string(count.unusable) + " unusable";
  }
  return cell.empty() ? "-" : cell;
}

std::string peer_state_cell(const wire::PeerSummary& peer, Instant now) {
  const PeerView& view = peer.view;
  if (view.unreachable_since)
    return printable(peer.state) + " " + format_short(now - *view.unreachable_since);
  std::string cell = printable(peer.state);
  if (peer.state != "up") return cell;
  cell += " " + format_short(now - peer.up_at);
  return view.closed.empty() ? cell : cell + ", " + printable(view.closed);
}

Instant since_when(const wire::JobSummary& job) {
  if (job.ended_at) return *job.ended_at;
  return job.started_at.value_or(job.submitted_at);
}

/// One place whole; of several the peers.
std::string place_cell(const std::vector<std::string>& places) {
  if (places.empty()) return "-";
  if (places.size() == 1) return printable(places.front());
  std::vector<std::string> peers;
  for (const std::string& place : places) {
    std::string peer = place.substr(0, place.find(' '));
    if (std::find(peers.begin(), peers.end(), peer) == peers.end())
      peers.push_back(std::move(peer));
  }
  std::string cell;
  for (std::size_t i = 0; i < std::min(most_places_shown, peers.size()); ++i)
    cell += (i == 0 ? "" : ", ") + printable(peers[i]);
  if (peers.size() > most_places_shown)
    cell += " +" + std::to_string(peers.size() - most_places_shown);
  return cell;
}

/// Why it did not start, or is lost: the table's word for it says no reason.
std::string reason_of_end(const wire::JobSummary& job) {
  if (!job.outcome) return "";
  const bool needs_words = std::holds_alternative<FailedToStart>(*job.outcome) ||
                           std::holds_alternative<Lost>(*job.outcome);
  return needs_words ? outcome_words(*job.outcome) : "";
}

std::string note_of(const wire::JobSummary& job) {
  std::string note;
  const auto add = [&](const std::string& words) {
    if (!words.empty()) note += (note.empty() ? "" : "; ") + words;
  };
  const std::string id = std::to_string(job.id.value);
  if (job.state == "held")
    add("until gpl release " + id);
  else
    add(printable(job.why));
  add(reason_of_end(job));
  if (job.client_gone && job.state != "ended") add("client is gone: gpl attach " + id);
  add(kept_words(job));
  return note;
}

}  // namespace

std::string cluster_line(const wire::ClusterStatus& status) {
  std::string line = status.cluster.empty() ? "no cluster yet" : "cluster " + status.cluster;
  line += status.leader.empty() ? " · no leader: nothing new starts until there is one"
                                : " · leader " + printable(status.leader);
  const std::size_t peers = status.peers.size();
  if (peers <= 1) return line + " · this machine alone: not protected against its loss\n";
  line += " · " + std::to_string(status.voters) + (status.voters == 1 ? " voter" : " voters") +
          " of " + std::to_string(peers) + " peers";
  if (status.unprotected)
    return line + " · unprotected: the second peer does not keep up, or is away\n";
  if (status.can_lose == 0) return line + " · unprotected: no machine may be lost\n";
  return line + " · protected against the loss of " + std::to_string(status.can_lose) +
         (status.can_lose == 1 ? " machine\n" : " machines\n");
}

std::string peers_text(const std::vector<wire::PeerSummary>& peers, const Screen& screen) {
  TextTable table;
  table.header = {"PEER", "STATE", "CPUS", "MEMORY", "DEVICES"};
  for (const wire::PeerSummary& peer : peers) {
    const bool answers = !peer.view.unreachable_since;
    const std::string cpus =
        std::to_string(peer.view.cpus_held) + "/" + std::to_string(peer.cpus_lent);
    table.rows.push_back(
        {{printable(peer.view.name), peer_state_cell(peer, screen.now), answers ? cpus : "-",
          answers ? memory_cell(peer) : "-", device_cell(peer.view, answers)},
         ""});
  }
  return table.rows.empty() ? "" : to_text(table, screen.width);
}

std::string links_text(const std::vector<wire::PeerSummary>& peers, const Screen& screen) {
  TextTable table;
  table.header = {"PEER", "STATE", "PART", "ADDRESS", "CPUS", "MEMORY", "DEVICES", "LABELS"};
  for (const wire::PeerSummary& peer : peers) {
    const bool answers = !peer.view.unreachable_since;
    std::string labels;
    for (const Label& label : peer.view.labels)
      labels += (labels.empty() ? "" : ", ") + printable(label.key + "=" + label.value);
    const std::string cpus =
        std::to_string(peer.view.cpus_held) + "/" + std::to_string(peer.cpus_lent);
    table.rows.push_back({{printable(peer.view.name), peer_state_cell(peer, screen.now),
                           peer.part.empty() ? "-" : printable(peer.part),
                           peer.address.empty() ? "not linked" : printable(peer.address),
                           answers ? cpus : "-", answers ? memory_cell(peer) : "-",
                           device_cell(peer.view, answers), labels.empty() ? "-" : labels},
                          ""});
  }
  return table.rows.empty() ? "" : to_text(table, screen.width);
}

std::string jobs_text(const std::vector<wire::JobSummary>& jobs, const Screen& screen) {
  TextTable table;
  table.header = {"JOB", "STATE", "FOR", "WHERE", "BY", "COMMAND"};
  table.last_may_be_cut = true;
  for (const wire::JobSummary& job : jobs) {
    const std::string command = printable(job.name.empty() ? shell_words(job.command) : job.name);
    table.rows.push_back({{std::to_string(job.id.value), state_words(job),
                           format_short(screen.now - since_when(job)), place_cell(job.where),
                           printable(job.submitter_name), command},
                          note_of(job)});
  }
  return table.rows.empty() ? "" : to_text(table, screen.width);
}

std::string cluster_text(const wire::ClusterStatus& status, const Screen& screen) {
  std::vector<wire::JobSummary> jobs = status.active;
  jobs.insert(jobs.end(), status.ended.begin(), status.ended.end());
  std::string text = cluster_line(status) + peers_text(status.peers, screen);
  text += jobs.empty() ? "no jobs\n" : jobs_text(jobs, screen);
  if (status.more_active > 0)
    text += "and " + std::to_string(status.more_active) +
            " more that have not ended: gpl status --all --everyone\n";
  return text;
}

}  // namespace gpl::client
