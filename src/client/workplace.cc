#include "gpl/client/workplace.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

#include "gpl/artifact/materialise.h"
#include "gpl/host/user.h"

namespace gpl::client {
namespace {

constexpr std::size_t max_notes = 5;

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

artifact::GitHome git_home() {
  artifact::GitHome git;
  git.home = from_environment("HOME");
  git.xdg_config_home = from_environment("XDG_CONFIG_HOME");
  if (!from_environment("GIT_CONFIG_NOSYSTEM").empty()) git.system_config.clear();
  git.global_config = from_environment("GIT_CONFIG_GLOBAL");
  return git;
}

bool same_folder(const std::string& one, const std::string& other) {
  struct stat a;
  struct stat b;
  return !other.empty() && ::stat(one.c_str(), &a) == 0 && ::stat(other.c_str(), &b) == 0 &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_home_or_root(const std::string& folder) {
  const std::string homes[] = {"/", from_environment("HOME"), host::current_user().home};
  return std::any_of(std::begin(homes), std::end(homes),
                     [&](const std::string& home) { return same_folder(folder, home); });
}

std::string sentence(const artifact::Note& note) {
  const bool left_out = note.kind == artifact::Note::Kind::left_out;
  return (left_out ? "not staged: " : "") + note.path + " " + note.reason;
}

}  // namespace

void say_notes(const std::vector<artifact::Note>& notes, const Voice& voice) {
  const std::size_t shown = std::min(notes.size(), max_notes);
  for (std::size_t i = 0; i < shown; ++i) voice.say(sentence(notes[i]));
  if (notes.size() > shown) {
    voice.say("and " + std::to_string(notes.size() - shown) + " more of the kind");
  }
}

Result<artifact::Selection> select_files(const JobSpec& spec, const std::string& source,
                                         const Voice& voice) {
  if (spec.staging == StagingMode::none) return artifact::Selection();
  artifact::SelectionOptions options;
  options.always = spec.stage;
  options.git = git_home();
  options.only_always = is_home_or_root(source);
  if (options.only_always && spec.stage.empty()) {
    voice.say("nothing is staged from " + source +
              ", and the command runs in an empty folder: name what it needs with --stage PATH, or "
              "run from a project's folder");
  }
  return artifact::select(source, options);
}

Result<Workplace> make_workplace(host::SpoolFolder& spools, const JobSpec& spec,
                                 const std::string& source, artifact::Selection selection,
                                 const std::function<bool()>& interrupted, const Voice& voice) {
  Result<host::Spool> spool = spools.create();
  if (!spool.ok()) return std::move(spool).error();
  const bool copies = spec.staging == StagingMode::copy;
  if (copies && !selection.entries.empty()) {
    Result<artifact::Materialised> made =
        artifact::materialise(source, selection.entries, spool.value().work_path(), interrupted);
    if (!made.ok()) {
      (void)spool.value().remove();
      return std::move(made).error();
    }
    selection.notes.insert(selection.notes.end(), made.value().notes.begin(),
                           made.value().notes.end());
    selection.entries = std::move(made.value().entries);
  }
  say_notes(selection.notes, voice);
  // Last, so that the spec names it a moment later: what finds it when this process is killed.
  Result<host::TempFolder> temp = host::TempFolder::make();
  if (!temp.ok()) {
    (void)spool.value().remove();
    return std::move(temp).error();
  }
  std::string folder = copies ? spool.value().work_path() : source;
  return Workplace{std::move(spool).value(), std::move(temp).value(), std::move(folder),
                   std::move(selection.entries)};
}

}  // namespace gpl::client
