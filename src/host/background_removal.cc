#include "background_removal.h"

#include <sys/resource.h>
#include <unistd.h>

#include <utility>

#include "gpl/host/close_descriptors.h"
#include "gpl/host/temp_folder.h"
#include "gpl/posix/tree.h"

namespace gpl::host {
namespace {

constexpr int low_priority = 10;

/// Whether it is gone now; a folder in which there is something stays.
bool remove_empty(const std::string& path) { return ::rmdir(path.c_str()) == 0; }

}  // namespace

void BackgroundRemoval::remove_temp_folder(std::string path) {
  if (!path.empty()) temp_folders_.push_back(std::move(path));
}

void BackgroundRemoval::step() {
  std::erase_if(temp_folders_, [](const std::string& path) { return remove_empty(path); });
  if ((trees_.empty() && temp_folders_.empty()) || family_.has(at_work_)) return;
  const pid_t pid = ::fork();
  if (pid == 0) remove_all();
  if (pid < 0) return;  // again with the next
  at_work_ = family_.add(pid);
  trees_.clear();
  temp_folders_.clear();
}

// In the forked process. What is left when it is killed is found by the next keeper.
void BackgroundRemoval::remove_all() const {
  std::vector<int> kept;
  for (const Tree& tree : trees_) kept.push_back(tree.at);
  close_descriptors_but(std::move(kept));
  ::setpriority(PRIO_PROCESS, 0, low_priority);
  for (const Tree& tree : trees_) (void)posix::remove_tree_at(tree.at, tree.name);
  for (const std::string& path : temp_folders_) (void)TempFolder::remove(path);
  ::_exit(0);
}

}  // namespace gpl::host
