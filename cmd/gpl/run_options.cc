#include "run_options.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"name", Kind::value, "NAME", "The job:", "a name for listings"},
    {"env", Kind::list, "K[=V]",
     "The job:", "set K in its environment, to its value here without =V"},
    {"stdin", Kind::flag, "", "The job:", "pass standard input on (else it reads end of file)"},
    {"time-limit", Kind::value, "DUR",
     "The job:", "SIGTERM after 90s, 10m, 1h30m or HH:MM:SS, SIGKILL 10 s later; exit 124"},
    {"out", Kind::list, "PATTERN", "Files:", "bring back new and changed files that match"},
    {"stage", Kind::list, "PATH", "Files:", "take PATH along whatever the ignore rules say"},
    {"no-stage", Kind::flag, "", "Files:", "run in this folder itself, not in a private copy"},
    {"local", Kind::flag, "", "Where:", "on this machine, whatever cluster there is"},
    {"peers", Kind::value, "HOST[:PORT],...", "Where:", "ask these peers (GPL_PEERS)"},
    {"json", Kind::flag, "",
     "Output:", "one object on stdout at the end; the job's stdout goes to stderr"},
    {"quiet", Kind::flag, "", "Output:", "say nothing of gpl's own but errors"},
    {"help", Kind::flag, "", "Output:", "print this"},

    {"gpus", Kind::later, "N", "", ""},
    {"gpu", Kind::later, "KIND", "", ""},
    {"gpu-memory", Kind::later, "SIZE", "", ""},
    {"gpu-share", Kind::later_flag, "", "", ""},
    {"gpu-model", Kind::later, "GLOB", "", ""},
    {"compute-capability", Kind::later, "V", "", ""},
    {"cpus", Kind::later, "N", "", ""},
    {"memory", Kind::later, "SIZE", "", ""},
    {"framework", Kind::later, "SPEC", "", ""},
    {"environment", Kind::later, "NAME", "", ""},
    {"on", Kind::later, "PEER", "", ""},
    {"label", Kind::later, "K=V", "", ""},
    {"secret", Kind::later, "K", "", ""},
    {"data", Kind::later, "PATH", "", ""},
    {"retries", Kind::later, "N", "", ""},
    {"on-loss", Kind::later, "WAY", "", ""},
    {"priority", Kind::later, "N", "", ""},
    {"after", Kind::later, "JOB", "", ""},
    {"array", Kind::later, "RANGE", "", ""},
    {"each-line", Kind::later, "FILE", "", ""},
    {"nodes", Kind::later, "N", "", ""},
    {"launcher", Kind::later, "NAME", "", ""},
    {"explain", Kind::later_flag, "", "", ""},
    {"allow-pending", Kind::later_flag, "", "", ""},
};

}  // namespace

std::span<const OptionRow> run_options() { return rows; }

}  // namespace gpl::cmd
