#include "gpl/peer/health.h"

#include <string_view>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/core/size.h"

namespace gpl::peer {
namespace {

using wire::HealthRow;
using Level = wire::HealthRow::Level;

bool contains(std::string_view text, std::string_view part) {
  return to_lower(text).find(part) != std::string::npos;
}

/// What to do about what a driver or tool says; "": nobody knows.
std::string mend_of(std::string_view words) {
  if (contains(words, "version mismatch")) return "reboot, or reload the driver";
  if (contains(words, "reset")) return "nvidia-smi --gpu-reset, or reboot";
  if (contains(words, "timed out")) return "see whether it hangs when run by hand";
  if (contains(words, "couldn't communicate")) return "load the driver, or reboot";
  return "";
}

std::string with_mend(const std::string& words) {
  const std::string mend = mend_of(words);
  return mend.empty() ? words : words + ": " + mend;
}

HealthRow row_of_problem(const ProbeProblem& problem) {
  std::string words = problem.message;
  if (problem.exit && *problem.exit != 0) words += " (exit " + std::to_string(*problem.exit) + ")";
  // What a mend is known for keeps every device of the kind from being used.
  const Level level = contains(words, "version mismatch") ? Level::fail : Level::warn;
  return {level, problem.source, with_mend(words)};
}

HealthRow row_of_unusable(const Accelerator& device) {
  std::string why;
  for (const std::string& problem : device.problems) why += (why.empty() ? "" : "; ") + problem;
  if (why.empty()) why = "its driver does not say why";
  return {Level::warn, device.id, "unusable: " + with_mend(why)};
}

}  // namespace

HealthRow row_of(const host::Finding& finding) {
  switch (finding.level) {
    case host::Finding::Level::ok:
      return {Level::ok, finding.subject, finding.text};
    case host::Finding::Level::warn:
      return {Level::warn, finding.subject, finding.text};
    case host::Finding::Level::fail:
      break;
  }
  return {Level::fail, finding.subject, finding.text};
}

HealthRow keeper_row(const HealthFacts& facts) {
  if (!facts.keeper_version)
    return {
        Level::fail, "keeper",
        "not connected: no job can start here, and those that run are not heard of; if it stays "
        "so, restart gpl worker and look into its log"};
  if (*facts.keeper_version != facts.version)
    return {Level::ok, "keeper",
            "connected, of gpl " + *facts.keeper_version + " where the peer is of " +
                facts.version + ": a new one takes over once its jobs have ended"};
  return {Level::ok, "keeper", "connected, of gpl " + *facts.keeper_version};
}

HealthRow log_row(const HealthFacts& facts) {
  if (!facts.log_fault.empty())
    return {Level::fail, "log",
            facts.log + " takes no more: " + facts.log_fault +
                "; once that is mended, restart gpl worker"};
  return {Level::ok, "log", facts.log};
}

std::vector<HealthRow> device_rows(const PeerOffer& probed) {
  std::vector<HealthRow> rows;
  for (const ProbeProblem& problem : probed.problems) rows.push_back(row_of_problem(problem));
  std::size_t usable = 0;
  for (const Accelerator& device : probed.accelerators) {
    if (device.usable)
      ++usable;
    else
      rows.push_back(row_of_unusable(device));
  }
  const std::size_t all = probed.accelerators.size();
  if (all == 0)
    rows.push_back({Level::ok, "devices", "none found"});
  else if (usable == all)
    rows.push_back({Level::ok, "devices", std::to_string(all) + " usable"});
  return rows;
}

HealthRow memory_row(const PeerOffer& probed, const Lending& lending) {
  const std::uint64_t has = probed.host.memory_bytes;
  if (has == 0 && !lending.memory_bytes)
    return {Level::warn, "memory",
            "how much there is is unknown (no /proc?): jobs that ask for memory do not start here; "
            "say it with --memory"};
  if (has == 0) return {Level::ok, "memory", format_memory_size(*lending.memory_bytes) + " lent"};
  if (!lending.memory_bytes)
    return {Level::ok, "memory", "all of " + format_memory_size(has) + " lent"};
  if (*lending.memory_bytes > has)
    return {Level::warn, "memory",
            format_memory_size(*lending.memory_bytes) + " are to be lent, but there are " +
                format_memory_size(has) + ": change --memory, or 'memory' in gpl.toml"};
  return {Level::ok, "memory",
          format_memory_size(*lending.memory_bytes) + " of " + format_memory_size(has) + " lent"};
}

std::vector<HealthRow> health(const HealthFacts& facts) {
  std::vector<HealthRow> rows;
  rows.push_back(keeper_row(facts));
  rows.push_back(log_row(facts));
  rows.push_back(row_of(host::check_disk(facts.state)));
  rows.push_back(memory_row(facts.probed, facts.lending));
  for (HealthRow& row : device_rows(facts.probed)) rows.push_back(std::move(row));
  for (const host::Finding& finding : host::check_process(facts.user, facts.now))
    rows.push_back(row_of(finding));
  return rows;
}

}  // namespace gpl::peer
