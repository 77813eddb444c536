#include <cstdio>
#include <ctime>

#include "commands.h"
#include "gpl/client/kept_files.h"
#include "gpl/core/size.h"
#include "gpl/host/folders.h"
#include "json.h"
#include "option_table.h"
#include "output.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"quiet", Kind::flag, "", "Options:", "print just the job numbers"},
    {"help", Kind::flag, "", "Options:", "print this"},
};

constexpr const char* help_head =
    R"(List the runs on this machine whose files are kept for gpl get.

  gpl history
  gpl history --json | jq '.jobs[].files'

Usage: gpl history [OPTIONS]

Files are kept for a week at least, and then until the disk is nearly full.
)";

int fail(const Error& error) {
  complain("history: " + error.message);
  return error.code == Code::invalid ? 2 : 1;
}

std::string local_time(std::int64_t ms) {
  if (ms == 0) return "-";
  const std::time_t seconds = ms / 1000;
  std::tm parts;
  char text[32];
  if (::localtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts) == 0) {
    return "-";
  }
  return text;
}

std::uint64_t total_bytes(const std::vector<artifact::Entry>& files) {
  std::uint64_t sum = 0;
  for (const artifact::Entry& file : files) sum += file.size_bytes;
  return sum;
}

std::string as_table(const std::vector<client::KeptRun>& runs) {
  std::vector<std::vector<std::string>> table = {
      {"JOB", "ENDED", "HOW", "FILES", "SIZE", "COMMAND"}};
  for (const client::KeptRun& run : runs) {
    table.push_back({std::to_string(run.job.value), local_time(run.ended_ms), run.outcome,
                     std::to_string(run.files.size()), format_file_size(total_bytes(run.files)),
                     printable(run.name.empty() ? shell_words(run.command) : run.name)});
  }
  return runs.empty() ? "" : format_table(table);
}

std::string as_json(const std::vector<client::KeptRun>& runs) {
  Json jobs = Json::array();
  for (const client::KeptRun& run : runs) {
    Json files = Json::array();
    for (const artifact::Entry& file : run.files) files.push_back(file_json(file));
    jobs.push_back({{"job", run.job.value},
                    {"name", run.name.empty() ? Json(nullptr) : Json(run.name)},
                    {"command", run.command},
                    {"source_folder", run.source_folder},
                    {"started_ms", run.started_ms},
                    {"ended_ms", run.ended_ms == 0 ? Json(nullptr) : Json(run.ended_ms)},
                    {"outcome", run.outcome},
                    {"files", std::move(files)}});
  }
  return to_text({{"schema", 1}, {"jobs", jobs}});
}

}  // namespace

std::span<const OptionRow> history_options() { return rows; }

int history_command(const Invocation& invocation) {
  Result<ParsedOptions> options = parse_mixed_options(rows, invocation.args);
  if (!options.ok()) return fail(options.error());
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  if (!options.value().rest.empty()) {
    return fail(Error{Code::invalid, "takes no words: " + shell_words(options.value().rest)});
  }
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return fail(folders.error());
  Result<host::SpoolFolder> spools = host::SpoolFolder::open(folders.value().state);
  if (!spools.ok()) return fail(spools.error());
  const client::Voice voice(false);
  Result<std::vector<client::KeptRun>> runs = client::kept_runs(spools.value(), &voice);
  if (!runs.ok()) return fail(runs.error());
  if (options.value().has("json")) return print(as_json(runs.value()));
  if (!options.value().has("quiet")) return print(as_table(runs.value()));
  std::string numbers;
  for (const client::KeptRun& run : runs.value()) numbers += std::to_string(run.job.value) + "\n";
  return print(numbers);
}

}  // namespace gpl::cmd
