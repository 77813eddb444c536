#include "gpl/core/explain.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "explain_words.h"
#include "gpl/core/size.h"
#include "word_list.h"

namespace gpl {
namespace {

// Facts this old are told with their age.
constexpr Duration stale_after = seconds(60);

std::string slice_profile(const DeviceChoice& choice, const PeerView& peer) {
  for (const Accelerator& device : peer.accelerators) {
    if (device.kind != choice.kind || device.index != choice.index) continue;
    for (const Partition& slice : device.partitions) {
      if (slice.uuid == choice.slice) return slice.profile + " ";
    }
  }
  return "";
}

std::string describe(const Placement& placement, const PeerView& peer) {
  std::vector<std::string> parts;
  for (const DeviceChoice& choice : placement.devices) {
    std::string id = std::string(name_of(choice.kind)) + ":" + std::to_string(choice.index);
    if (!choice.slice.empty()) id += " " + slice_profile(choice, peer) + choice.slice;
    if (placement.shared_memory_bytes) {
      id = format_memory_size(*placement.shared_memory_bytes) + " of " + id;
    }
    parts.push_back(std::move(id));
  }
  if (placement.environment) {
    parts.push_back("environment " + peer.environments[*placement.environment].name);
  }
  return joined(parts, ", ");
}

// The texts, those in a row that say the same of several devices as one.
std::string describe(const std::vector<Reason>& reasons) {
  std::vector<SameWords> said;
  for (const Reason& reason : reasons) {
    const std::string start = reason.subject + ": ";
    const bool of_device = reason.subject.find(':') != std::string::npos;
    if (of_device && reason.text.starts_with(start)) {
      add_same(said, reason.subject, reason.text.substr(start.size()));
    } else {
      said.push_back({{}, reason.text});
    }
  }
  std::vector<std::string> texts;
  for (const SameWords& same : said) {
    texts.push_back(same.subjects.empty() ? same.words : subjects_of(same) + ": " + same.words);
  }
  return joined(texts, "; ");
}

PeerAnswer answer_of(const Requirement& requirement, const PeerView& peer, Instant now) {
  PeerAnswer answer;
  answer.peer = peer.name;
  answer.fit = judge(requirement, peer, now);
  if (peer.reported_at) answer.report_age = now - *peer.reported_at;
  if (answer.fit.fits()) {
    answer.fits = PeerAnswer::Fits::yes;
    answer.why = describe(*answer.fit.placement, peer);
    if (const auto& chosen = answer.fit.placement->environment) {
      answer.environment = peer.environments[*chosen].name;
    }
  } else {
    answer.fits = answer.fit.will_fit() ? PeerAnswer::Fits::soon : PeerAnswer::Fits::no;
    answer.why = describe(answer.fit.reasons);
  }
  if (answer.report_age && *answer.report_age > stale_after) {
    answer.why += (answer.why.empty() ? "" : "; ") + std::string("reported ") +
                  format_short(*answer.report_age) + " ago";
  }
  answer.why = for_terminal(std::move(answer.why));
  return answer;
}

std::string peer_count(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " peer" : " peers");
}

bool has(const PeerAnswer& answer, ReasonCode code) {
  return std::any_of(answer.fit.reasons.begin(), answer.fit.reasons.end(),
                     [&](const Reason& reason) { return reason.code == code; });
}

bool waits_for_device(const Reason& reason) {
  return reason.code == ReasonCode::gpu_held || reason.code == ReasonCode::gpu_memory_used;
}

// The smaller, the sooner it may be.
std::pair<int, std::int64_t> delay_of(const PeerAnswer& answer) {
  if (has(answer, ReasonCode::not_reported)) return {4, 0};
  if (has(answer, ReasonCode::unreachable)) return {3, 0};
  if (has(answer, ReasonCode::closed)) return {2, 0};
  if (!answer.fit.free_by) return {1, 0};
  return {0, answer.fit.free_by->since_epoch_ms};
}

std::string fits_headline(const std::vector<const PeerAnswer*>& fitting) {
  const PeerAnswer& first = *fitting.front();
  std::string text = "fits: " + first.peer + (first.why.empty() ? "" : " (" + first.why + ")");
  if (fitting.size() > 1) text += ", and " + std::to_string(fitting.size() - 1) + " more";
  return text;
}

std::string waiting_headline(const PeerAnswer& peer, Instant now) {
  std::string text = waiting_words(peer);
  if (peer.fit.free_by && *peer.fit.free_by > now) {
    text += " (at most " + format_short(*peer.fit.free_by - now) + " more)";
  }
  return text;
}

// What of a peer's reasons no wait mends.
std::string lasting(const PeerAnswer& answer) {
  std::vector<Reason> reasons;
  for (const Reason& reason : answer.fit.reasons) {
    if (!reason.passes) reasons.push_back(reason);
  }
  return describe(reasons);
}

std::string never_headline(const Requirement& requirement, const std::vector<PeerAnswer>& peers) {
  if (peers.empty()) return "never: there is no peer to ask";
  std::vector<const PeerAnswer*> meant;
  for (const PeerAnswer& peer : peers) {
    if (!has(peer, ReasonCode::other_peer)) meant.push_back(&peer);
  }
  const std::string asked = " (" + peer_count(peers.size()) + " asked)";
  if (meant.empty()) return "never: no peer is called " + requirement.on + asked;
  const std::string why = lasting(*meant.front());
  if (meant.size() == 1) return "never: " + meant.front()->peer + " cannot run this: " + why;
  const bool all_the_same = std::all_of(
      meant.begin(), meant.end(), [&](const PeerAnswer* each) { return lasting(*each) == why; });
  return "never: no peer can run this" + (all_the_same ? ": " + why : "") + asked;
}

std::vector<Remedy> lasting_remedies(const PeerAnswer& answer) {
  std::vector<Remedy> remedies;
  for (const Reason& reason : answer.fit.reasons) {
    if (reason.passes) continue;
    for (const Remedy& remedy : reason.remedies) {
      const bool said = std::any_of(remedies.begin(), remedies.end(), [&](const Remedy& other) {
        return other.change == remedy.change;
      });
      if (!said) remedies.push_back(remedy);
    }
  }
  return remedies;
}

// By how much a peer misses: one that --on does not name comes last, and of equals one that would
// not have to be waited for comes first.
std::tuple<bool, int, bool> miss_of(const PeerAnswer& answer) {
  int effort = 0;
  for (const Remedy& remedy : lasting_remedies(answer)) effort += remedy.effort;
  const bool waits = std::any_of(answer.fit.reasons.begin(), answer.fit.reasons.end(),
                                 [](const Reason& reason) { return reason.passes; });
  return {has(answer, ReasonCode::other_peer), effort, waits};
}

// "lab2 fits if jax >=0.4.30; it has 0.4.26".
std::string describe_miss(const PeerAnswer& answer) {
  const std::vector<Remedy> remedies = lasting_remedies(answer);
  std::vector<std::string> changes;
  for (const Remedy& remedy : remedies) {
    const bool alone = remedies.size() == 1;
    std::string now = remedy.now;
    if (!now.empty()) now = alone ? "; " + now : " (" + now + ")";
    changes.push_back(remedy.change + now);
  }
  const std::string waits = awaited(answer.fit.reasons);
  return answer.peer + (waits.empty() ? " fits if " : " fits, once " + waits + ", if ") +
         in_words(changes);
}

// Whether it helps a person to be told what is missing there.
bool comes_near(const PeerAnswer& answer) {
  constexpr std::size_t most = 4;
  const std::vector<Remedy> remedies = lasting_remedies(answer);
  return answer.fits == PeerAnswer::Fits::no && !remedies.empty() && remedies.size() <= most &&
         std::all_of(remedies.begin(), remedies.end(),
                     [](const Remedy& remedy) { return remedy.effort < Remedy::out_of_reach; });
}

std::string nearest_miss(const std::vector<PeerAnswer>& peers) {
  const PeerAnswer* nearest = nullptr;
  for (const PeerAnswer& peer : peers) {
    if (!comes_near(peer)) continue;
    if (nearest == nullptr || miss_of(peer) < miss_of(*nearest)) nearest = &peer;
  }
  return nearest == nullptr ? "" : describe_miss(*nearest);
}

}  // namespace

std::string for_terminal(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) text[i] = ' ';
    // U+0080 to U+009F, in UTF-8.
    if (byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      text[i] = text[i + 1] = ' ';
    }
  }
  return text;
}

std::string awaited(const std::vector<Reason>& reasons) {
  std::vector<std::string> devices;  // of kinds of which any will do
  std::vector<std::string> parts;
  for (const Reason& reason : reasons) {
    if (!reason.passes || reason.remedies.empty()) continue;
    std::vector<std::string>& list = waits_for_device(reason) ? devices : parts;
    const std::string& change = reason.remedies.front().change;
    if (std::find(list.begin(), list.end(), change) == list.end()) list.push_back(change);
  }
  // One job may have both a device and the processors.
  if (devices.size() == 1) std::erase(parts, devices.front());
  if (!devices.empty()) parts.push_back(joined(devices, " or "));
  return in_words(parts);
}

const PeerAnswer* soonest(const std::vector<PeerAnswer>& peers) {
  const PeerAnswer* first = nullptr;
  for (const PeerAnswer& peer : peers) {
    if (peer.fits != PeerAnswer::Fits::soon) continue;
    if (first == nullptr || delay_of(peer) < delay_of(*first)) first = &peer;
  }
  return first;
}

std::string waiting_words(const PeerAnswer& peer) {
  if (has(peer, ReasonCode::not_reported)) {
    return "waiting: " + peer.peer + " has not reported yet what it has";
  }
  return "waiting: " + peer.peer + " will fit when " + awaited(peer.fit.reasons);
}

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::fits:
      return "fits";
    case Verdict::waiting:
      return "waiting";
    case Verdict::never:
      return "never";
    case Verdict::held:
      return "held";
    case Verdict::blocked:
      return "blocked";
  }
  return "";
}

std::string_view name_of(PeerAnswer::Fits fits) {
  switch (fits) {
    case PeerAnswer::Fits::yes:
      return "yes";
    case PeerAnswer::Fits::soon:
      return "soon";
    case PeerAnswer::Fits::no:
      return "no";
  }
  return "";
}

Explanation explain(const Requirement& requirement, const std::vector<PeerView>& peers,
                    Instant now) {
  Explanation explanation;
  for (const PeerView& peer : peers) {
    explanation.peers.push_back(answer_of(requirement, peer, now));
  }
  std::vector<const PeerAnswer*> fitting;
  for (const PeerAnswer& peer : explanation.peers) {
    if (peer.fits == PeerAnswer::Fits::yes) fitting.push_back(&peer);
  }
  if (!fitting.empty()) {
    explanation.verdict = Verdict::fits;
    explanation.headline = fits_headline(fitting);
  } else if (const PeerAnswer* soon = soonest(explanation.peers)) {
    explanation.verdict = Verdict::waiting;
    explanation.headline = waiting_headline(*soon, now);
  } else {
    explanation.headline = never_headline(requirement, explanation.peers);
  }
  if (fitting.empty()) explanation.nearest = nearest_miss(explanation.peers);
  explanation.headline = for_terminal(std::move(explanation.headline));
  explanation.nearest = for_terminal(std::move(explanation.nearest));
  return explanation;
}

std::string to_text(const Explanation& explanation) {
  std::size_t width = 4;
  for (const PeerAnswer& peer : explanation.peers) width = std::max(width, peer.peer.size());
  const auto pad = [](std::string text, std::size_t to) {
    text.resize(std::max(text.size(), to), ' ');
    return text + "  ";
  };
  std::string text = explanation.headline + "\n";
  if (!explanation.peers.empty()) text += pad("PEER", width) + pad("FITS", 4) + "WHY\n";
  for (const PeerAnswer& peer : explanation.peers) {
    std::string line = pad(peer.peer, width) + pad(std::string(name_of(peer.fits)), 4) + peer.why;
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  if (!explanation.nearest.empty()) text += "nearest: " + explanation.nearest + "\n";
  return text;
}

}  // namespace gpl
