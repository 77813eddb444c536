#include "gpl/client/peer_results.h"

#include <algorithm>

#include "file_words.h"
#include "gpl/client/fetch.h"
#include "gpl/client/kept_files.h"

namespace gpl::client {
namespace {

void say_unmatched(const EndedJob& ended, const std::vector<wire::ResultFile>& files,
                   const Voice& voice) {
  for (const std::string& pattern : ended.spec.outputs) {
    const bool found = std::any_of(files.begin(), files.end(), [&](const wire::ResultFile& file) {
      return matches_any({pattern}, file.path);
    });
    if (!found) voice.say("--out '" + pattern + "' matches no new or changed file");
  }
}

void bring(Session& session, const EndedJob& ended, const std::vector<wire::ResultFile>& wanted,
           Results& results, const Voice& voice) {
  if (wanted.empty()) return;
  Result<artifact::Delivered> delivered = fetch_files(session, ended.job, wanted, ended.target, {});
  if (!delivered.ok()) {
    voice.complain("cannot bring results back: " + delivered.error().message);
    results.complete = false;
    for (const wire::ResultFile& file : wanted) results.kept.push_back(entry_of(file));
    return;
  }
  for (artifact::Undelivered& failed : delivered.value().failed) {
    voice.complain("cannot bring back " + failed.entry.path + ", which " + failed.reason);
    results.complete = false;
    results.kept.push_back(std::move(failed.entry));
  }
  results.brought = std::move(delivered.value().done);
  Status forgotten = forget_files(session, ended.job, wanted, results.brought);
  if (!forgotten.ok()) {
    voice.complain("the peer could not be told which files are here: " + forgotten.error().message);
  }
}

std::string count_made(const EndedJob& ended, const std::vector<artifact::Entry>& kept) {
  if (!ended.staged) {
    return std::to_string(kept.size()) + (kept.size() == 1 ? " file" : " files");
  }
  return describe_made(kept, [&](const artifact::Entry& entry) {
    return std::binary_search(ended.staged->begin(), ended.staged->end(), entry.path);
  });
}

void say_kept(const EndedJob& ended, const Results& results, const Voice& voice) {
  if (results.kept.empty()) return;
  std::string words = count_made(ended, results.kept) + " stayed";
  if (!ended.peer.empty()) words += " on " + ended.peer;
  words += " (" + name_some(results.kept) + "): gpl get " + std::to_string(ended.job.value);
  if (ended.spec.outputs.empty()) words += ", or --out next time";
  voice.say(words);
}

}  // namespace

Results settle_peer_results(Session& session, const EndedJob& ended, const Voice& voice) {
  Results results;
  // Without a private copy the results are where they were made.
  if (ended.spec.staging == StagingMode::none) return results;
  Result<wire::Results> made = ask_results(session, ended.job);
  if (!made.ok()) {
    voice.complain("cannot tell what the job made: " + made.error().message);
    results.complete = ended.spec.outputs.empty();
    return results;
  }
  std::vector<wire::ResultFile> wanted;
  for (const wire::ResultFile& file : made.value().files) {
    if (matches_any(ended.spec.outputs, file.path)) {
      wanted.push_back(file);
    } else if (!file.is_folder) {
      results.kept.push_back(entry_of(file));
    }
  }
  say_unmatched(ended, made.value().files, voice);
  bring(session, ended, wanted, results, voice);
  say_kept(ended, results, voice);
  return results;
}

}  // namespace gpl::client
