#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../temporary_folder.h"
#include "gpl/artifact/selection.h"

namespace fs = std::filesystem;

/// What the tests of selections share: making folders and repositories, and reading selections.
namespace selection_tests {

using namespace gpl::artifact;
using Paths = std::vector<std::string>;

inline SelectionOptions options(std::vector<std::string> always = {}) {
  SelectionOptions chosen;
  chosen.git = {"", "", "", ""};
  chosen.always = std::move(always);
  return chosen;
}

inline Selection selected(const std::string& root, const SelectionOptions& chosen = options()) {
  auto selection = select(root, chosen);
  REQUIRE_MESSAGE(selection.ok(), (selection ? "" : selection.error().message));
  return std::move(selection).value();
}

/// Folders with a slash at the end.
inline Paths paths(const Selection& selection) {
  Paths all;
  for (const Entry& entry : selection.entries)
    all.push_back(entry.path + (entry.type == EntryType::directory ? "/" : ""));
  return all;
}

inline Paths taken(const std::string& root, const SelectionOptions& chosen = options()) {
  return paths(selected(root, chosen));
}

inline const Entry& entry(const Selection& selection, const std::string& path) {
  const auto at = std::find_if(selection.entries.begin(), selection.entries.end(),
                               [&](const Entry& e) { return e.path == path; });
  REQUIRE(at != selection.entries.end());
  return *at;
}

inline std::string note(const Selection& selection, const std::string& path) {
  for (const Note& each : selection.notes)
    if (each.path == path) return each.reason;
  return {};
}

inline void link(const std::string& target, const std::string& path) {
  REQUIRE(::symlink(target.c_str(), path.c_str()) == 0);
}

inline void make_folder(const TemporaryFolder& folder, const std::string& path) {
  fs::create_directories(folder / path);
}

/// A repository without commits; `tracked` are index entries of version 2, in order.
inline void make_repository(const TemporaryFolder& folder, const std::string& top,
                            const Paths& tracked = {}, const Paths& submodules = {}) {
  const std::string git = top.empty() ? ".git" : top + "/.git";
  folder.write(git + "/HEAD", "ref: refs/heads/main\n");
  make_folder(folder, git + "/objects");
  make_folder(folder, git + "/refs");
  std::vector<std::pair<std::string, unsigned>> rows;
  for (const auto& path : tracked) rows.emplace_back(path, 0100644U);
  for (const auto& path : submodules) rows.emplace_back(path, 0160000U);
  std::sort(rows.begin(), rows.end());
  std::string bytes = std::string("DIRC\0\0\0\2\0\0\0", 11) + static_cast<char>(rows.size());
  for (const auto& [path, mode] : rows) {
    const std::size_t begin = bytes.size();
    bytes.append(26, '\0');
    bytes += static_cast<char>(mode >> 8U);
    bytes += static_cast<char>(mode & 0xffU);
    bytes.append(12 + 20 + 1, '\0');
    bytes += static_cast<char>(path.size());
    bytes += path;
    do bytes += '\0';
    while ((bytes.size() - begin) % 8 != 0);
  }
  folder.write(git + "/index", bytes + std::string(20, '\0'));
}

}  // namespace selection_tests
