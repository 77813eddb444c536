// gpl_sim: the seeded simulator of the replicated log and the jobs on it. See scripts/sim.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/campaign.h"
#include "sim/scenarios.h"

namespace gpl::sim {
namespace {

constexpr const char* usage =
    "usage: scripts/sim [--campaign NAME|all] [--seeds N] [--first SEED] [--jobs N] [--trace]\n"
    "       scripts/sim --planted BUG [--campaign NAME] [--seeds N] [--first SEED] [--jobs N]\n"
    "       scripts/sim --scenario NAME|all [--trace]\n"
    "campaigns: mixed (default) partition crash disk membership jobs\n"
    "planted bugs: forgotten-vote old-term lease-answer; exits 0 when it is found\n"
    "--trace prints everything that happens in a seed or a scenario\n";

struct Arguments {
  std::vector<Campaign> campaigns{Campaign::mixed};
  bool campaign_given = false;
  PlantedBug bug = PlantedBug::none;
  std::optional<std::string> scenario;
  std::uint64_t seeds = 1000;
  std::uint64_t first = 1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  bool trace = false;
};

std::optional<std::uint64_t> number(const char* text) {
  char* end = nullptr;
  const auto value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0') return std::nullopt;
  return value;
}

bool take(Arguments& arguments, const std::string& option, const char* value) {
  if (option == "--campaign") {
    arguments.campaign_given = true;
    if (std::strcmp(value, "all") == 0) {
      arguments.campaigns.assign(campaigns.begin(), campaigns.end());
      return true;
    }
    const auto campaign = campaign_named(value);
    if (campaign) arguments.campaigns = {*campaign};
    return campaign.has_value();
  }
  if (option == "--planted") {
    const auto bug = planted_bug_named(value);
    if (bug) arguments.bug = *bug;
    return bug.has_value();
  }
  if (option == "--scenario") {
    arguments.scenario = value;
    return arguments.scenario == "all" || scenario_exists(*arguments.scenario);
  }
  const auto count = number(value);
  if (!count) return false;
  if (option == "--seeds") arguments.seeds = *count;
  if (option == "--first") arguments.first = *count;
  if (option == "--jobs") arguments.jobs = static_cast<unsigned>(*count);
  return (option == "--seeds" || option == "--first" || option == "--jobs") && *count > 0;
}

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--trace") {
      arguments.trace = true;
    } else if (i + 1 == argc || !take(arguments, option, argv[i + 1])) {
      std::fprintf(stderr, "gpl_sim: cannot use '%s%s%s'\n%s", argv[i], i + 1 == argc ? "" : " ",
                   i + 1 == argc ? "" : argv[i + 1], usage);
      return std::nullopt;
    } else {
      ++i;
    }
  }
  return arguments;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_failures(const CampaignRun& run, const CampaignResult& result) {
  constexpr std::size_t shown = 20;
  if (result.failed_seeds.empty()) return;
  report_seed(run, result.failed_seeds.front(), false);
  for (std::size_t i = 1; i < result.failed_seeds.size() && i < shown; ++i)
    std::printf("also failed: %s\n", rerun_line(run, result.failed_seeds[i]).c_str());
}

/// The bug must be found: by the campaign that it shows in, unless another was asked for.
int find_planted(const Arguments& arguments) {
  CampaignRun run{arguments.campaigns.front(),
                  arguments.bug,
                  arguments.first,
                  arguments.seeds,
                  arguments.jobs,
                  true};
  if (!arguments.campaign_given) run.campaign = campaign_that_finds(arguments.bug);
  const auto result = run_campaign(run);
  const auto name = std::string(name_of(arguments.bug));
  if (result.failed_seeds.empty()) {
    std::printf("%s was not found in %llu seeds\n0 passed, 1 failed\n", name.c_str(),
                static_cast<unsigned long long>(arguments.seeds));
    return 1;
  }
  const auto seed = result.failed_seeds.front();
  report_seed(run, seed, false);
  std::printf(
      "%s is found by seed %llu of campaign %s, the %llu. that was run\n1 passed, 0 failed\n",
      name.c_str(), static_cast<unsigned long long>(seed),
      std::string(name_of(run.campaign)).c_str(),
      static_cast<unsigned long long>(seed - run.first + 1));
  return 0;
}

int run_campaigns(const Arguments& arguments) {
  std::uint64_t passed = 0, failed = 0;
  for (const auto campaign : arguments.campaigns) {
    const CampaignRun run{campaign,        PlantedBug::none, arguments.first,
                          arguments.seeds, arguments.jobs,   false};
    const auto start = std::chrono::steady_clock::now();
    const auto result = run_campaign(run);
    std::printf("campaign %s: seeds %llu to %llu, %.1f s on %u processes\n%s",
                std::string(name_of(campaign)).c_str(), static_cast<unsigned long long>(run.first),
                static_cast<unsigned long long>(run.first + run.seeds - 1), seconds_since(start),
                run.jobs, result.figures.table().c_str());
    print_failures(run, result);
    passed += result.passed;
    failed += result.failed;
  }
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(passed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  if (argc > 1 && (std::strcmp(argv[1], "--help") == 0 || std::strcmp(argv[1], "-h") == 0)) {
    std::fputs(usage, stdout);
    return 0;
  }
  const auto arguments = parse(argc, argv);
  if (!arguments) return 2;
  if (arguments->scenario) return run_scenarios(*arguments->scenario, arguments->trace);
  if (arguments->trace && arguments->seeds == 1) {
    report_seed({arguments->campaigns.front(), arguments->bug, arguments->first, 1, 1, false},
                arguments->first, true);
    return 0;
  }
  if (arguments->bug != PlantedBug::none) return find_planted(*arguments);
  return run_campaigns(*arguments);
}

}  // namespace
}  // namespace gpl::sim

int main(int argc, char** argv) { return gpl::sim::run(argc, argv); }
