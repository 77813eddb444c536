#include "gpl/peer/offer.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "gpl/core/command.h"
#include "gpl/host/device_probe.h"
#include "gpl/host/machine.h"
#include "gpl/host/python_env.h"
#include "gpl/host/user.h"
#include "gpl/wire/codec.h"

namespace gpl::peer {
namespace {

/// For what apply_limits says when it closes.
constexpr std::size_t closing_reserve_bytes = 1024;
constexpr std::size_t most_problems_when_cut = 8;
constexpr std::size_t most_words_when_cut = 200;

std::vector<std::string> own_environment() {
  std::vector<std::string> entries;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

std::string current_folder() {
  char folder[PATH_MAX];
  return ::getcwd(folder, sizeof folder) != nullptr ? folder : "/";
}

bool fits(const PeerOffer& offer) {
  return encoded_bytes(offer) + closing_reserve_bytes <= offer_limit_bytes;
}

/// Fewest of `most` that have to be left out: what `without(count)` makes then fits, or nothing
/// more can be left out. Leaving out more never takes more room.
template <class Without>
PeerOffer leave_out(std::size_t most, Without&& without) {
  std::size_t low = 0;
  std::size_t high = most;
  while (low < high) {
    const std::size_t count = low + (high - low) / 2;
    if (fits(without(count)))
      high = count;
    else
      low = count + 1;
  }
  return without(low);
}

void note_left_out(PeerOffer& offer, std::size_t count, std::size_t of, const std::string& what) {
  if (count == 0) return;
  offer.problems.push_back({"offer", std::nullopt,
                            std::to_string(count) + " of " + std::to_string(of) + " " + what +
                                " are left out: more does not fit a report to the cluster"});
}

/// Which environments to leave out first: the last ones without frameworks, then the last ones.
std::vector<std::size_t> order_of_leaving(const std::vector<PythonEnvironment>& environments) {
  std::vector<std::size_t> order;
  for (std::size_t i = environments.size(); i-- > 0;) order.push_back(i);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t i) { return environments[i].frameworks.empty(); });
  return order;
}

PeerOffer with_fewer_environments(const PeerOffer& offer) {
  const std::vector<std::size_t> order = order_of_leaving(offer.environments);
  PeerOffer bare = offer;
  bare.environments.clear();
  return leave_out(order.size(), [&](std::size_t count) {
    std::vector<std::size_t> kept(order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
    std::sort(kept.begin(), kept.end());
    PeerOffer cut = bare;
    for (const std::size_t i : kept) cut.environments.push_back(offer.environments[i]);
    note_left_out(cut, count, order.size(), "Python environments");
    return cut;
  });
}

void cut_words(std::string& words) {
  if (words.size() <= most_words_when_cut) return;
  std::size_t end = most_words_when_cut;
  // Not within a letter of UTF-8.
  while (end > 0 && (static_cast<unsigned char>(words[end]) & 0xc0) == 0x80) --end;
  words.resize(end);
  words += "...";
}

PeerOffer with_short_problems(PeerOffer offer) {
  // The last one says what was left out, and stays.
  auto& problems = offer.problems;
  if (problems.size() > most_problems_when_cut)
    problems.erase(problems.begin() + most_problems_when_cut - 1, problems.end() - 1);
  for (ProbeProblem& problem : problems) cut_words(problem.message);
  for (Accelerator& device : offer.accelerators) {
    if (device.problems.size() > most_problems_when_cut)
      device.problems.resize(most_problems_when_cut);
    for (std::string& words : device.problems) cut_words(words);
  }
  return offer;
}

PeerOffer with_fewer_devices(const PeerOffer& offer) {
  const std::size_t all = offer.accelerators.size();
  return leave_out(all, [&](std::size_t count) {
    PeerOffer cut = offer;
    cut.accelerators.resize(all - count);
    note_left_out(cut, count, all, "devices");
    return cut;
  });
}

PeerOffer without_used_memory(PeerOffer offer) {
  for (Accelerator& device : offer.accelerators) device.memory_used_bytes.reset();
  return offer;
}

}  // namespace

PeerOffer probe_offer(const host::Configuration& configuration, const Lending& lending) {
  host::DeviceProbeOptions options;
  options.environment = own_environment();
  options.working_folder = current_folder();
  host::DeviceReport report = host::probe_devices(options);
  host::EnvironmentSearch search = host::environment_search(
      options.environment, host::current_user().home, options.working_folder);
  search.configured = configuration.environments;
  host::FoundEnvironments found = host::find_environments(search);

  PeerOffer offer;
  offer.name = host::host_name();
  offer.host = std::move(report.host);
  offer.accelerators = std::move(report.accelerators);
  offer.environments = std::move(found.environments);
  offer.problems = std::move(report.problems);
  offer.problems.insert(offer.problems.end(), found.problems.begin(), found.problems.end());
  offer.labels = lending.labels;
  offer.feature_level = newest_feature_level;
  return fitted(std::move(offer));
}

PeerOffer fitted(PeerOffer offer) {
  if (!fits(offer)) offer = with_fewer_environments(offer);
  if (!fits(offer)) offer = with_short_problems(std::move(offer));
  if (!fits(offer)) offer = with_fewer_devices(offer);
  return offer;
}

std::size_t encoded_bytes(const PeerOffer& offer) {
  return wire::encode(Command(command::PeerUp{PeerId{}, "", offer, Instant{}})).size();
}

bool same_for_placing(const PeerOffer& a, const PeerOffer& b) {
  return without_used_memory(a) == without_used_memory(b);
}

}  // namespace gpl::peer
