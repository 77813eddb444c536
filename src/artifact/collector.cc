#include "gpl/artifact/collector.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "gpl/core/ascii.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"

namespace gpl::artifact {
namespace {

constexpr mode_t permission_bits = 0777;

const char* special_kind(unsigned char type) {
  if (type == DT_SOCK) return "is a socket";
  if (type == DT_FIFO) return "is a FIFO";
  if (type == DT_CHR || type == DT_BLK) return "is a device";
  return nullptr;
}

Entry entry_of(const struct stat& status, std::string path, std::string source) {
  Entry entry;
  entry.path = std::move(path);
  entry.source = std::move(source);
  entry.mode = status.st_mode & permission_bits;
  entry.mtime_ns = posix::to_ns(status.st_mtim);
  return entry;
}

}  // namespace

unsigned char type_of(int folder, const Folder::Name& name) {
  if (name.type != DT_UNKNOWN) return name.type;
  struct stat status {};
  if (fstatat(folder, name.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
  return static_cast<unsigned char>(IFTODT(status.st_mode));
}

void Collector::add(int folder, const Folder::Name& name, std::string path, std::string source) {
  if (const char* kind = special_kind(name.type))
    return note(Note::Kind::left_out, std::move(path), kind);
  struct stat status {};
  if (fstatat(folder, name.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT)
      note(Note::Kind::left_out, std::move(path),
           "cannot be looked at: " + posix::errno_text(errno));
    return;
  }
  if (const char* kind = special_kind(static_cast<unsigned char>(IFTODT(status.st_mode))))
    return note(Note::Kind::left_out, std::move(path), kind);
  Entry entry = entry_of(status, std::move(path), std::move(source));
  if (S_ISLNK(status.st_mode)) {
    auto target = read_link(folder, name.name.c_str());
    if (!target) return;
    entry.type = EntryType::symlink;
    entry.link_target = std::move(*target);
  } else if (S_ISREG(status.st_mode)) {
    if (!readable(folder, name.name.c_str(), status))
      return note(Note::Kind::left_out, std::move(entry.path), "may not be read");
    entry.size_bytes = static_cast<std::uint64_t>(status.st_size);
    entry.disk_bytes =
        std::min(entry.size_bytes, static_cast<std::uint64_t>(status.st_blocks) * 512);
  } else {
    return;  // it has become a folder
  }
  entries.push_back(std::move(entry));
}

void Collector::add_folder(const struct stat& status, std::string path, std::string source) {
  Entry entry = entry_of(status, std::move(path), std::move(source));
  entry.type = EntryType::directory;
  entries.push_back(std::move(entry));
}

/// Mostly the mode tells; the system is asked only where it does not.
bool Collector::readable(int folder, const char* name, const struct stat& status) const {
  constexpr mode_t all_read = S_IRUSR | S_IRGRP | S_IROTH;
  if ((status.st_mode & all_read) == all_read) return true;
  if (status.st_uid == user_ && (status.st_mode & S_IRUSR) != 0) return true;
  return faccessat(folder, name, R_OK, AT_EACCESS) == 0 || errno == ENOENT;
}

Status Collector::unopened(const Error& error, const std::string& path) {
  if (error.code == Code::not_found) return success();
  if (error.code == Code::denied) {
    note(Note::Kind::left_out, path, "may not be read");
    return success();
  }
  return Error{error.code,
               in_quotes(path) + " cannot be read: " + error.message +
                   "; leave the folder out with a line in .gplignore, or run with --no-stage"};
}

}  // namespace gpl::artifact
