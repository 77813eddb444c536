#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "gpl/artifact/entry.h"
#include "gpl/artifact/folder.h"
#include "gpl/artifact/selection.h"

namespace gpl::artifact {

/// Gathers the entries and notes of a walk: one fstatat a file, and nothing is opened.
class Collector {
 public:
  /// What is not a folder: an entry, or a note when it cannot be taken along. `path` and `source`
  /// as in Entry.
  void add(int folder, const Folder::Name& name, std::string path, std::string source = {});
  void add_folder(const struct stat& status, std::string path, std::string source = {});
  void note(Note::Kind kind, std::string path, std::string reason) {
    notes.push_back({kind, std::move(path), std::move(reason)});
  }
  /// What to do about a folder that could not be opened: nothing when it is gone, a note when it is
  /// closed to us; an Error when nothing can be opened any more.
  Status unopened(const Error& error, const std::string& path);

  std::vector<Entry> entries;
  std::vector<Note> notes;

 private:
  bool readable(int folder, const char* name, const struct stat& status) const;

  uid_t user_ = geteuid();
};

/// DT_* of a name, asked of the file system when reading the folder did not tell; DT_UNKNOWN when
/// it is gone.
unsigned char type_of(int folder, const Folder::Name& name);

}  // namespace gpl::artifact
