#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "gpl/store/damage.h"
#include "gpl/store/segment.h"
#include "gpl/store/wal_recovery.h"
#include "option_table.h"
#include "output.h"
#include "wal_check.h"
#include "wal_dump.h"
#include "wal_folder.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"json", Kind::flag, "", "Options:", "of dump: print each record as one object"},
    {"help", Kind::flag, "", "Options:", "print this; -h does too"},
};

constexpr const char* help_head =
    R"(Look at a peer's write-ahead log: gpl-wal(5).

  gpl wal check FOLDER
  gpl wal dump --json FOLDER | jq 'select(.kind == "command")'

Usage: gpl wal check FOLDER...
       gpl wal dump [--json] FOLDER

check reads all of it and says whether a peer would start from it; dump prints its records. Both
only read, take no lock, and work on a copy as on the folder of a running peer, of which they see a
moment.

Exit: 0 whole (a torn tail is no damage), 1 damaged, not readable or of a newer gpl, 2 usage; of
several folders the highest.
)";

int usage_error(const std::string& what) {
  complain("wal: " + what + " (see gpl wal --help)");
  return 2;
}

int end_failed(WalDump& dump, const Error& error, const std::string& message) {
  dump.end(outcome_of(error), store::place_of(error), escaped(message));
  return fail_wal(message);
}

int dump(const std::string& path, bool json) {
  WalDump dump({json, command_names});
  Result<LogFolder> folder = open_log(path);
  if (!folder) return end_failed(dump, folder.error(), folder.error().message);
  dump.begin();
  const Result<store::Recovered> read =
      store::recover(*folder.value().disk, folder.value().names,
                     [&](const store::Batch& batch) { return dump.add(batch); });
  if (dump.exit_code() != 0) return dump.exit_code();
  if (!read) return end_failed(dump, read.error(), advised(read.error(), folder.value()));
  const store::Recovered& log = read.value();
  for (const std::string& note : log.notes) complain("wal: " + note);
  const bool passed_over = !log.damaged_snapshots.empty();
  if (passed_over) {
    dump.end("damaged", store::place_of(log.damaged_snapshots.front()),
             store::without_way_out(log.damaged_snapshots.front()));
  } else if (log.shape.torn) {
    const store::SegmentShape& last = log.shape.segments.back();
    dump.end("torn", store::Place{store::segment_name(last.header.number), last.end},
             log.notes.back());
  } else {
    dump.end("clean", std::nullopt, "");
  }
  return dump.exit_code() != 0 ? dump.exit_code() : passed_over ? 1 : 0;
}

int perform(const std::vector<std::string>& words, bool json) {
  if (words.empty()) return usage_error("check or dump: which?");
  const bool dumps = words[0] == "dump";
  if (!dumps && words[0] != "check") {
    return usage_error("'" + printable(words[0]) + "' is neither check nor dump");
  }
  if (dumps && words.size() != 2) return usage_error("dump takes one folder");
  if (words.size() < 2) return usage_error("check takes at least one folder");
  if (!dumps && json) return usage_error("--json is of dump");
  try {
    return dumps ? dump(words[1], json) : check_logs({words.begin() + 1, words.end()});
  } catch (const std::bad_alloc&) {
    return fail_wal(
        "there is not enough memory to read this log: it takes what the entries after the newest "
        "snapshot, and its state, have; close other programs, or look at a copy on another "
        "machine");
  }
}

}  // namespace

std::span<const OptionRow> wal_options() { return rows; }

int wal_command(const Invocation& invocation) {
  std::vector<std::string> words = invocation.args;
  std::replace(words.begin(), words.end(), std::string("-h"), std::string("--help"));
  const Result<ParsedOptions> options = parse_mixed_options(rows, std::move(words));
  if (!options) return usage_error(options.error().message);
  if (options.value().has("help")) return print(help_head + describe_options(rows));
  return perform(options.value().rest, options.value().has("json"));
}

}  // namespace gpl::cmd
