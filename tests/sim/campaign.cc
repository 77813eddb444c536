#include "sim/campaign.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <utility>

namespace gpl::sim {

namespace {

/// What a process that runs seeds tells the one that started it, in memory that they share.
struct Shared {
  static constexpr std::size_t failed_limit = 1000;

  std::atomic<std::uint64_t> next{0};  ///< seed to be taken, from the campaign's first
  std::atomic<bool> stop{false};
  struct Worker {
    std::uint64_t seed = 0;  ///< that it is at
    bool at_work = false;
    std::uint64_t passed = 0;
    Figures figures;
  };
  static constexpr unsigned worker_limit = 256;
  Worker workers[worker_limit];
  std::atomic<std::uint64_t> crashed{0};
  std::atomic<std::size_t> failed_count{0};
  std::uint64_t failed[failed_limit];
};

void note_failure(Shared& shared, std::uint64_t seed) {
  const auto place = shared.failed_count.fetch_add(1);
  if (place < Shared::failed_limit) shared.failed[place] = seed;
}

void run_seeds(const CampaignRun& run, Shared& shared, unsigned number) {
  auto& own = shared.workers[number];
  while (!shared.stop) {
    const auto seed = run.first + shared.next.fetch_add(1);
    if (seed >= run.first + run.seeds) return;
    own.seed = seed;
    own.at_work = true;
    const auto result = run_seed(run.campaign, seed, run.bug, Trace::Mode::off);
    own.figures.add(result.figures);
    own.at_work = false;
    if (!result.violation) {
      ++own.passed;
      continue;
    }
    note_failure(shared, seed);
    if (run.stop_at_violation) shared.stop = true;
  }
}

pid_t start_process(const CampaignRun& run, Shared& shared, unsigned number) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) {
    std::perror("gpl_sim: fork");
    std::exit(2);
  }
  if (pid > 0) return pid;
  // An assertion's words come with the trace, when the seed is run again.
  if (std::freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
  run_seeds(run, shared, number);
  _exit(0);
}

/// Restarts what died at a seed, until all have no more to do.
void wait_for(const CampaignRun& run, Shared& shared, std::map<pid_t, unsigned> processes) {
  while (!processes.empty()) {
    int status = 0;
    const pid_t pid = wait(&status);
    const auto found = processes.find(pid);
    if (found == processes.end()) continue;
    const unsigned number = found->second;
    processes.erase(found);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
    note_failure(shared, shared.workers[number].seed);
    ++shared.crashed;
    if (run.stop_at_violation) shared.stop = true;
    processes[start_process(run, shared, number)] = number;
  }
}

/// Not safe in a signal handler in general; here nothing else runs, and all is lost anyway.
void print_trace_and_end(int signal) {
  std::signal(signal, SIG_DFL);
  std::fputs(Trace::latest()->recent().c_str(), stdout);
  std::fflush(stdout);
  std::raise(signal);
}

}  // namespace

CampaignResult run_campaign(const CampaignRun& run) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("gpl_sim: mmap");
    std::exit(2);
  }
  auto& shared = *new (memory) Shared;
  const auto jobs = std::min(run.jobs, Shared::worker_limit);
  std::map<pid_t, unsigned> processes;
  for (unsigned i = 0; i < jobs; ++i) processes[start_process(run, shared, i)] = i;
  wait_for(run, shared, std::move(processes));
  CampaignResult result;
  for (unsigned i = 0; i < jobs; ++i) {
    result.figures.add(shared.workers[i].figures);
    result.passed += shared.workers[i].passed;
  }
  result.failed = shared.failed_count;
  result.crashed = shared.crashed;
  const auto known = std::min<std::size_t>(result.failed, Shared::failed_limit);
  result.failed_seeds.assign(shared.failed, shared.failed + known);
  std::sort(result.failed_seeds.begin(), result.failed_seeds.end());
  munmap(memory, sizeof(Shared));
  return result;
}

std::string rerun_line(const CampaignRun& run, std::uint64_t seed) {
  std::string line = "scripts/sim --first " + std::to_string(seed) + " --seeds 1 --campaign " +
                     std::string(name_of(run.campaign));
  if (run.bug != PlantedBug::none) line += " --planted " + std::string(name_of(run.bug));
  return line + " --trace";
}

/// In a process of its own: an assertion ends it, with the trace.
void report_seed(const CampaignRun& run, std::uint64_t seed, bool live) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) return std::perror("gpl_sim: fork");
  if (pid > 0) {
    int status = 0;
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status)) std::printf("VIOLATION: ended by signal %d\n", WTERMSIG(status));
    std::printf("rerun: %s\n", rerun_line(run, seed).c_str());
    return;
  }
  if (!live)
    for (const int fatal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE})
      std::signal(fatal, print_trace_and_end);
  std::printf("seed %llu of campaign %s:\n", static_cast<unsigned long long>(seed),
              std::string(name_of(run.campaign)).c_str());
  const auto result =
      run_seed(run.campaign, seed, run.bug, live ? Trace::Mode::live : Trace::Mode::recent);
  if (result.violation && !live) std::fputs(result.trace.c_str(), stdout);
  std::printf("%s\n", result.violation ? ("VIOLATION: " + *result.violation).c_str() : "fine");
  std::fflush(nullptr);
  _exit(0);
}

}  // namespace gpl::sim
