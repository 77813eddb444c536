#include "run_options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"name", Kind::value, "NAME", "The job:", "a name for listings"},
    {"env", Kind::list, "K[=V]",
     "The job:", "set K in its environment, to its value here without =V"},
    {"secret", Kind::list, "K",
     "The job:", "set K as it is here; in no listing, and kept only while the job is"},
    {"stdin", Kind::flag, "", "The job:", "pass standard input on (else it reads end of file)"},
    {"time-limit", Kind::value, "DUR",
     "The job:", "SIGTERM after 90s, 10m, 1h30m or HH:MM:SS, SIGKILL 10 s later; exit 124"},
    {"retries", Kind::value, "N", "The job:", "start it again up to N times when it fails"},
    {"on-loss", Kind::value, "WAY",
     "The job:", "when its machine is out of reach: wait, retry elsewhere, or fail"},
    {"priority", Kind::value, "N", "The job:", "higher ones go first (default: 0)"},
    {"after", Kind::list, "JOB[:HOW]",
     "The job:", "not before JOB has ended: ok (default), any or fail"},
    {"allow-pending", Kind::flag, "", "The job:", "queue it although no machine could run it yet"},
    {"out", Kind::list, "PATTERN", "Files:", "bring back new and changed files that match"},
    {"stage", Kind::list, "PATH", "Files:", "take PATH along whatever the ignore rules say"},
    {"data", Kind::list, "PATH[=NAME]",
     "Files:", "take PATH, or JOB:PATH of a job's results, along as NAME"},
    {"no-stage", Kind::flag, "", "Files:", "run in this folder itself, not in a private copy"},
    {"gpus", Kind::value, "N",
     "What it needs:", "N GPUs of one kind, whole (1 with any --gpu-...)"},
    {"gpu", Kind::value, "KIND", "What it needs:", "cuda, rocm, mps, xpu, or any"},
    {"gpu-memory", Kind::value, "SIZE", "What it needs:", "of each GPU: 16G, 24Gi"},
    {"gpu-share", Kind::flag, "",
     "What it needs:", "only that memory of a GPU: others may use the rest"},
    {"gpu-model", Kind::value, "GLOB", "What it needs:", "its name: '*A100*'"},
    {"compute-capability", Kind::value, "V", "What it needs:", "at least, of NVIDIA's: 8.0"},
    {"cpus", Kind::value, "N", "What it needs:", "processors (sets OMP_NUM_THREADS; default: all)"},
    {"memory", Kind::value, "SIZE", "What it needs:", "of the machine"},
    {"framework", Kind::list, "SPEC",
     "What it needs:", "'torch>=2.1', torch.cuda; chooses the Python environment"},
    {"environment", Kind::value, "NAME",
     "What it needs:", "a Python environment, by name or folder"},
    {"on", Kind::value, "PEER", "What it needs:", "that machine"},
    {"label", Kind::list, "K=V", "What it needs:", "a machine with that label"},
    {"local", Kind::flag, "", "Where:", "on this machine, whatever cluster there is"},
    {"peers", Kind::value, "HOST[:PORT],...", "Where:", "ask these peers (GPL_PEERS)"},
    {"explain", Kind::flag, "", "Output:", "say where it would run, or why not; do not run it"},
    {"json", Kind::flag, "",
     "Output:", "one object on stdout at the end; the job's stdout goes to stderr"},
    {"quiet", Kind::flag, "", "Output:", "say nothing of gpl's own but errors"},
    {"help", Kind::flag, "", "Output:", "print this"},

    {"array", Kind::later, "RANGE", "", ""},
    {"each-line", Kind::later, "FILE", "", ""},
    {"nodes", Kind::later, "N", "", ""},
    {"launcher", Kind::later, "NAME", "", ""},
};

}  // namespace

std::span<const OptionRow> run_options() { return rows; }

std::span<const OptionRow> submit_options() {
  static const std::vector<OptionRow> submit_rows = [] {
    constexpr std::array<std::string_view, 3> only_of_run = {"stdin", "local", "explain"};
    std::vector<OptionRow> made;
    for (OptionRow row : rows) {
      if (std::find(only_of_run.begin(), only_of_run.end(), row.name) != only_of_run.end())
        continue;
      if (row.name == "json") row.help = "print one object: {\"schema\": 1, \"job\": 12}";
      made.push_back(row);
    }
    return made;
  }();
  return submit_rows;
}

}  // namespace gpl::cmd
