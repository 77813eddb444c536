#include "gpl/artifact/selection.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <set>
#include <tuple>

#include "gpl/artifact/always_path.h"
#include "gpl/artifact/collector.h"
#include "gpl/artifact/largest_folders.h"
#include "gpl/artifact/link_fate.h"
#include "gpl/artifact/rule_walk.h"
#include "gpl/artifact/whole_walk.h"
#include "gpl/core/ascii.h"
#include "gpl/core/size.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t folders_named = 5;
/// Beyond the limit the walk goes on for this many times as much, to see which folders are the
/// largest.
constexpr std::uint64_t overrun = 10;

Result<std::string> real_root(const std::string& root) {
  std::array<char, PATH_MAX> buffer{};
  struct stat status {};
  if (realpath(root.c_str(), buffer.data()) == nullptr || stat(buffer.data(), &status) != 0)
    return Error{Code::not_found, "the folder " + root + " is not there"};
  if (!S_ISDIR(status.st_mode)) return Error{Code::invalid, root + " is no folder"};
  return std::string(buffer.data());
}

void count(const std::vector<Entry>& entries, std::uint64_t& files, std::uint64_t& bytes) {
  files = 0;
  bytes = 0;
  for (const Entry& entry : entries) {
    files += entry.type == EntryType::directory ? 0 : 1;
    bytes += entry.disk_bytes;
  }
}

Status within_limits(const std::string& root, const std::vector<Entry>& entries, bool stopped,
                     const SelectionOptions& options) {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  count(entries, files, bytes);
  if (files <= options.max_files && bytes <= options.max_bytes && !stopped) return success();
  const bool by_files = bytes <= options.max_bytes;
  const auto amount = [](std::uint64_t some_bytes, std::uint64_t some_files) {
    return format_memory_size(some_bytes) + " in " + std::to_string(some_files) +
           (some_files == 1 ? " file" : " files");
  };
  std::string message = root + " is too large to take along: " + (stopped ? "more than " : "") +
                        amount(bytes, files) + ", and the limit is " +
                        format_memory_size(options.max_bytes) + " and " +
                        std::to_string(options.max_files) + " files.";
  const auto largest = largest_folders(entries, folders_named, by_files);
  if (!largest.empty()) message += " The largest folders:";
  for (const FolderSize& folder : largest)
    message += "\n  " + in_quotes(folder.path) + "  " + amount(folder.bytes, folder.files);
  message +=
      "\nLeave some out with lines in .gplignore, or insist with "
      "--stage .";
  return Error{Code::too_large, std::move(message)};
}

/// Orders by path; of one path that two walks found, that which brings content from elsewhere
/// stays.
void order(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (const int by_path = a.path.compare(b.path); by_path != 0) return by_path < 0;
    return a.source > b.source;
  });
  const auto same_path = [](const Entry& a, const Entry& b) { return a.path == b.path; };
  entries.erase(std::unique(entries.begin(), entries.end(), same_path), entries.end());
}

void order(std::vector<Note>& notes) {
  std::sort(notes.begin(), notes.end(), [](const Note& a, const Note& b) {
    return std::tie(a.path, a.reason) < std::tie(b.path, b.reason);
  });
  notes.erase(std::unique(notes.begin(), notes.end()), notes.end());
}

void note_links(const std::string& root, Collector& collector) {
  for (const Entry& entry : collector.entries) {
    if (entry.type != EntryType::symlink) continue;
    const LinkFate fate = link_fate(collector.entries, entry);
    if (fate == LinkFate::taken) continue;
    struct stat status {};
    const std::string place = entry.source.empty() ? root + "/" + entry.path : entry.source;
    std::string reason = "is a link to " + entry.link_target;
    if (stat(place.c_str(), &status) != 0) {
      reason += ", which is not there";
    } else if (fate == LinkFate::outside) {
      reason += ", outside of what is taken along: kept as a link (--stage takes what it leads to)";
    } else {
      reason += ", which is left out (--stage takes it)";
    }
    collector.note(Note::Kind::link, entry.path, std::move(reason));
  }
}

}  // namespace

Result<Selection> select(const std::string& root, const SelectionOptions& options) {
  auto real = real_root(root);
  if (!real) return real.error();
  std::vector<AlwaysTarget> targets;
  std::set<std::string> always;
  bool whole_root = false;
  for (const std::string& path : options.always) {
    auto resolved = resolve_always(real.value(), root, path);
    if (!resolved) return resolved.error();
    for (AlwaysTarget& target : resolved.value()) {
      whole_root = whole_root || target.path.empty();
      always.insert(target.path);
      targets.push_back(std::move(target));
    }
  }
  Collector collector;
  if (!options.only_always && !whole_root) {
    const std::uint64_t most =
        options.max_files > SIZE_MAX / overrun ? SIZE_MAX : options.max_files * overrun;
    RuleWalk walk(real.value(), options.git, always, most, collector);
    if (auto walked = walk.run(); !walked) return walked.error();
    if (auto fits = within_limits(real.value(), collector.entries, walk.stopped(), options); !fits)
      return fits.error();
  }
  WholeWalk whole(real.value(), collector);
  for (const AlwaysTarget& target : targets)
    if (auto taken = whole.take(target); !taken) return taken.error();

  order(collector.entries);
  note_links(real.value(), collector);
  order(collector.notes);
  Selection selection{std::move(collector.entries), std::move(collector.notes)};
  count(selection.entries, selection.files, selection.bytes);
  return selection;
}

}  // namespace gpl::artifact
