// Lists what `select` takes of a directory: selection_oracle.py compares it with git's own listing.
//
// selection_tool ROOT: NUL-separated paths of files and links; HOME and XDG_CONFIG_HOME are the
// environment's. selection_tool --details ROOT [--stage PATH]...: a line an entry and a note, and
// the totals, for people.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "gpl/artifact/selection.h"

namespace {

using namespace gpl::artifact;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void print_details(const Selection& selection) {
  for (const Entry& entry : selection.entries) {
    const char* type = entry.type == EntryType::file        ? "file"
                       : entry.type == EntryType::directory ? "dir"
                                                            : "link";
    std::printf("%-4s %03o %8llu %s%s%s%s%s\n", type, entry.mode,
                static_cast<unsigned long long>(entry.size_bytes), entry.path.c_str(),
                entry.link_target.empty() ? "" : " -> ", entry.link_target.c_str(),
                entry.source.empty() ? "" : " from ", entry.source.c_str());
  }
  for (const Note& note : selection.notes)
    std::printf("note %s %s\n", note.path.c_str(), note.reason.c_str());
  std::printf("%llu files, %llu bytes\n", static_cast<unsigned long long>(selection.files),
              static_cast<unsigned long long>(selection.bytes));
}

}  // namespace

int main(int argc, char** argv) {
  SelectionOptions options;
  options.git.home = environment("HOME");
  options.git.xdg_config_home = environment("XDG_CONFIG_HOME");
  if (!environment("GIT_CONFIG_NOSYSTEM").empty()) options.git.system_config.clear();
  options.git.global_config = environment("GIT_CONFIG_GLOBAL");
  std::string root;
  bool details = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--details") == 0) {
      details = true;
    } else if (std::strcmp(argv[i], "--stage") == 0 && i + 1 < argc) {
      options.always.emplace_back(argv[++i]);
    } else {
      root = argv[i];
    }
  }
  const auto selection = select(root, options);
  if (!selection) {
    std::fprintf(stderr, "%s\n", selection.error().message.c_str());
    return 1;
  }
  if (details) {
    print_details(selection.value());
    return 0;
  }
  for (const Entry& entry : selection.value().entries) {
    const std::string line = entry.path + (entry.type == EntryType::directory ? "/" : "");
    std::fwrite(line.c_str(), 1, line.size() + 1, stdout);
  }
  return 0;
}
