#include "gpl/client/results.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "file_words.h"
#include "gpl/artifact/delivery.h"
#include "gpl/artifact/made_files.h"
#include "gpl/client/kept_files.h"
#include "gpl/posix/clock.h"

namespace gpl::client {
namespace {

std::string describe(const Outcome& outcome) {
  if (const auto* exited = std::get_if<Exited>(&outcome)) {
    return "exited " + std::to_string(exited->code);
  }
  if (const auto* signalled = std::get_if<Signalled>(&outcome)) {
    return "signalled " + std::to_string(signalled->signal);
  }
  return std::string(name_of(outcome));
}

// "1 new and 2 changed files"
std::string describe(const std::vector<artifact::Entry>& made, const Workplace& place) {
  return describe_made(made, [&](const artifact::Entry& entry) {
    return std::binary_search(place.staged.begin(), place.staged.end(), entry,
                              [](const artifact::Entry& one, const artifact::Entry& other) {
                                return one.path < other.path;
                              });
  });
}

// Writes what --out names. What stays goes to `rest`.
void bring_back(const Workplace& place, const JobSpec& spec, const std::string& target,
                std::vector<artifact::Entry> made, Results& results,
                std::vector<artifact::Entry>& rest, const Voice& voice) {
  std::vector<artifact::Entry> wanted;
  for (artifact::Entry& entry : made) {
    (matches_any(spec.outputs, entry.path) ? wanted : rest).push_back(std::move(entry));
  }
  for (const std::string& pattern : spec.outputs) {
    const bool found = std::any_of(wanted.begin(), wanted.end(), [&](const artifact::Entry& entry) {
      return matches_any({pattern}, entry.path);
    });
    if (!found) voice.say("--out '" + pattern + "' matches no new or changed file");
  }
  if (wanted.empty()) return;
  Result<artifact::Delivered> delivered =
      artifact::deliver(place.folder, wanted, target, artifact::Handover::move);
  if (!delivered.ok()) {
    voice.complain("cannot bring results back: " + delivered.error().message);
    results.complete = false;
    rest.insert(rest.end(), wanted.begin(), wanted.end());
    return;
  }
  results.brought = std::move(delivered.value().done);
  for (artifact::Undelivered& failed : delivered.value().failed) {
    voice.complain("cannot bring back " + failed.entry.path + ": " + failed.reason);
    results.complete = false;
    rest.push_back(std::move(failed.entry));
  }
}

// Output that could not be delivered becomes a file among those that are kept.
void keep_output(host::Spool& spool, std::vector<artifact::Entry>& kept) {
  for (const char* stream : {"stdout", "stderr"}) {
    struct stat status;
    if (::fstatat(spool.folder(), stream, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    ::mkdirat(spool.folder(), "files", 0700);
    artifact::Entry entry;
    entry.path = "job-" + std::to_string(spool.job().value) + "." + stream;
    entry.size_bytes = static_cast<std::uint64_t>(status.st_size);
    if (::renameat(spool.folder(), stream, spool.folder(), ("files/" + entry.path).c_str()) == 0) {
      kept.push_back(std::move(entry));
    }
  }
}

Result<std::vector<artifact::Entry>> find_made(const Workplace& place, const JobSpec& spec) {
  if (spec.staging == StagingMode::none) return std::vector<artifact::Entry>();
  Result<std::int64_t> started = place.spool.spec_changed_ns();
  if (!started.ok()) return std::move(started).error();
  return artifact::made_files(place.folder, {started.value(), &place.staged});
}

void write_exit(host::Spool& spool, const Outcome& outcome, const Voice& voice) {
  host::Record exit;
  exit.add("outcome", describe(outcome));
  exit.add("exit_status", std::int64_t{exit_status(outcome)});
  exit.add("ended_ms", posix::wall_clock().since_epoch_ms);
  Status written = spool.write_exit(exit, posix::Durability::none);
  if (!written.ok()) voice.complain(written.error().message);
}

}  // namespace

Results settle_results(Workplace& place, const JobSpec& spec, const std::string& target,
                       const Outcome& outcome, const Voice& voice) {
  Results results;
  Result<std::vector<artifact::Entry>> made = find_made(place, spec);
  if (!made.ok()) {
    voice.complain(made.error().message + "; everything is still in " + place.folder);
    results.complete = false;
    return results;
  }
  std::vector<artifact::Entry> rest;
  // Without a private copy the results are where they were made.
  if (spec.staging == StagingMode::copy) {
    bring_back(place, spec, target, std::move(made).value(), results, rest, voice);
  }
  if (!rest.empty()) {
    if (Status kept = keep_files(place.spool, rest); !kept.ok()) {
      voice.complain(kept.error().message);
      results.complete = false;
      return results;
    }
  }
  const std::string made_words = rest.empty() ? "" : describe(rest, place);
  results.kept = std::move(rest);
  const std::size_t made_count = results.kept.size();
  keep_output(place.spool, results.kept);
  if (results.kept.empty()) {
    if (Status removed = place.spool.remove(); !removed.ok())
      voice.complain(removed.error().message);
    return results;
  }
  write_exit(place.spool, outcome, voice);
  std::string words = made_count == 0 ? "undelivered output" : made_words;
  words += results.kept.size() == 1 ? " is kept (" : " are kept (";
  const char* advice = spec.outputs.empty() && made_count > 0 ? ", or --out next time" : "";
  voice.say(words + name_some(results.kept) + "): gpl get last" + advice);
  return results;
}

}  // namespace gpl::client
