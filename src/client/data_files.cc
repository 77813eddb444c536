#include "gpl/client/data_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>

#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::client {
namespace {

using artifact::Entry;
using artifact::EntryType;
using Entries = std::map<std::string, Entry>;

bool names_a_job(std::string_view word) {
  return word == "last" || (!word.empty() && word.find_first_not_of("0123456789") == word.npos);
}

std::string_view without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

bool lies_in_a_folder(std::string_view name) {
  if (name.empty() || name.find('\0') != name.npos) return false;
  for (bool more = true; more;) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    more = slash != name.npos;
    if (more) name.remove_prefix(slash + 1);
  }
  return true;
}

Entry folder_entry(std::string path, std::uint32_t mode) {
  Entry entry;
  entry.path = std::move(path);
  entry.type = EntryType::directory;
  entry.mode = mode;
  return entry;
}

Entry file_entry(const std::string& name, const std::string& source, const struct stat& status) {
  Entry entry;
  entry.path = name;
  entry.mode = status.st_mode & 0777U;
  entry.size_bytes = static_cast<std::uint64_t>(status.st_size);
  entry.disk_bytes = std::min(entry.size_bytes, static_cast<std::uint64_t>(status.st_blocks) * 512);
  entry.mtime_ns = posix::to_ns(status.st_mtim);
  entry.source = source;
  return entry;
}

// Makes room for `name`: what was selected at it goes, and the folders above it are there.
Status clear(Entries& entries, const std::string& name) {
  std::erase_if(entries, [&](const auto& entry) {
    return entry.first == name || entry.first.starts_with(name + "/");
  });
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    const std::string above = name.substr(0, slash);
    const auto [at, fresh] = entries.try_emplace(above, folder_entry(above, 0755));
    if (at->second.type != EntryType::directory) {
      std::string words = "--data: " + above;
      words += " is no folder, so nothing can be at " + name;
      return Error{Code::invalid, std::move(words)};
    }
  }
  return success();
}

Status add_folder(Entries& entries, std::vector<artifact::Note>& notes, const std::string& path,
                  const std::string& name, std::uint32_t mode) {
  artifact::SelectionOptions all;
  all.always = {"."};
  all.only_always = true;
  Result<artifact::Selection> inside = artifact::select(path, all);
  if (!inside.ok()) return std::move(inside).error();
  entries.insert_or_assign(name, folder_entry(name, mode));
  for (Entry& entry : inside.value().entries) {
    if (entry.type == EntryType::file && entry.source.empty()) {
      entry.source = path + "/" + entry.path;
    }
    entry.path = name + "/" + entry.path;
    const std::string key = entry.path;
    entries.insert_or_assign(key, std::move(entry));
  }
  for (artifact::Note& note : inside.value().notes) {
    note.path = path + "/" + note.path;
    notes.push_back(std::move(note));
  }
  return success();
}

}  // namespace

Result<DataWish> parse_data(std::string_view text) {
  DataWish wish;
  std::string_view path = text;
  const std::size_t colon = path.find(':');
  if (colon != path.npos && names_a_job(path.substr(0, colon))) {
    wish.job = path.substr(0, colon);
    path.remove_prefix(colon + 1);
  }
  const std::size_t equals = path.rfind('=');
  const bool is_named = equals != path.npos;
  wish.path = without_slashes(path.substr(0, equals));
  wish.name = is_named ? without_slashes(path.substr(equals + 1))
                       : std::string_view(wish.path).substr(wish.path.rfind('/') + 1);
  if (wish.name.starts_with("./")) wish.name.erase(0, 2);
  if (wish.path.empty()) {
    return Error{Code::invalid, "--data '" + std::string(text) + "' names no path"};
  }
  if (!lies_in_a_folder(wish.name)) {
    return Error{Code::invalid, "--data '" + std::string(text) + "': '" + wish.name +
                                    "' is no name in the command's folder; write PATH=NAME"};
  }
  return wish;
}

Status add_data(artifact::Selection& selection, const std::string& path, const std::string& name) {
  char real[PATH_MAX];
  struct stat status;
  if (::realpath(path.c_str(), real) == nullptr || ::stat(real, &status) != 0) {
    return posix::io_error("--data: cannot take " + path);
  }
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return Error{Code::invalid, "--data: " + path + " is neither a file nor a folder"};
  }
  Entries entries;
  for (Entry& entry : selection.entries) {
    const std::string key = entry.path;
    entries.insert_or_assign(key, std::move(entry));
  }
  selection.entries.clear();
  Status done = clear(entries, name);
  if (done.ok() && S_ISDIR(status.st_mode)) {
    done = add_folder(entries, selection.notes, real, name, status.st_mode & 0777U);
  } else if (done.ok()) {
    entries.insert_or_assign(name, file_entry(name, real, status));
  }
  for (auto& [key, entry] : entries) selection.entries.push_back(std::move(entry));
  return done;
}

}  // namespace gpl::client
