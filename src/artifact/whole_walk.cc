#include "gpl/artifact/whole_walk.h"

#include <fcntl.h>

#include <algorithm>

#include "gpl/artifact/rule_walk.h"
#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

std::string joined(const std::string& folder, const std::string& name) {
  if (folder.empty()) return name;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

bool names_git(const std::string& path) {
  return ("/" + path + "/").find("/.git/") != std::string::npos;
}

}  // namespace

Status WholeWalk::take(const AlwaysTarget& target) {
  with_git_ = names_git(target.path);
  add_parents(target.path);
  const std::string place = target.source.empty() ? joined(root_, target.path) : target.source;
  if (target.kind == AlwaysTarget::Kind::whole) {
    auto opened = Folder::open(AT_FDCWD, place.c_str());
    if (opened) {
      if (!target.path.empty())
        collector_.add_folder(opened.value().status(), target.path, target.source);
      return folder(opened.value(), target.path, target.source);
    }
    if (opened.error().code != Code::not_found)
      return collector_.unopened(opened.error(), target.path);
  }
  collector_.add(AT_FDCWD, {place, DT_UNKNOWN}, target.path, target.source);
  return success();
}

void WholeWalk::add_parents(const std::string& path) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    struct stat status {};
    const std::string parent = path.substr(0, slash);
    if (lstat(joined(root_, parent).c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      collector_.add_folder(status, parent);
  }
}

/// `path` is the folder's below the root, `source` its place when that is elsewhere.
Status WholeWalk::folder(Folder& folder, const std::string& path, const std::string& source) {
  const std::pair self(folder.status().st_dev, folder.status().st_ino);
  if (std::find(ancestors_.begin(), ancestors_.end(), self) != ancestors_.end()) {
    collector_.note(Note::Kind::left_out, path, "leads back to a folder that holds it");
    return success();
  }
  if (ancestors_.size() >= depth_limit)
    return Error{Code::too_large, "folders nest more than " + std::to_string(depth_limit) +
                                      " deep in " + root_ + ", at " + in_quotes(path)};
  const auto names = folder.names();
  if (!names) return collector_.unopened(names.error(), path);
  ancestors_.push_back(self);
  for (const auto& name : names.value()) {
    if (name.name == ".git" && !with_git_) continue;
    const std::string child = joined(path, name.name);
    const std::string child_source = source.empty() ? source : joined(source, name.name);
    if (const unsigned char type = type_of(folder.descriptor(), name); type != DT_DIR) {
      collector_.add(folder.descriptor(), {name.name, type}, child, child_source);
      continue;
    }
    auto opened = Folder::open(folder.descriptor(), name.name.c_str());
    if (opened) collector_.add_folder(opened.value().status(), child, child_source);
    auto taken = opened ? this->folder(opened.value(), child, child_source)
                        : collector_.unopened(opened.error(), child);
    if (!taken) return taken;
  }
  ancestors_.pop_back();
  return success();
}

}  // namespace gpl::artifact
