#include "gpl/artifact/always_path.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>

#include "gpl/artifact/folder.h"

namespace gpl::artifact {
namespace {

constexpr int hop_limit = 40;

std::optional<std::string> real_path(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (realpath(path.c_str(), buffer.data()) == nullptr) return std::nullopt;
  return std::string(buffer.data());
}

std::string joined(const std::string& folder, std::string_view name) {
  std::string path = folder;
  if (!path.ends_with('/')) path += '/';
  return path.append(name);
}

/// What of `path` lies below `root`: empty for the root itself, nothing when it lies elsewhere.
std::optional<std::string> below(const std::string& root, const std::string& path) {
  if (path == root) return "";
  const std::string prefix = joined(root, "");
  if (!path.starts_with(prefix)) return std::nullopt;
  return path.substr(prefix.size());
}

std::string_view without_slashes_at_end(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

/// Where the last name of an absolute path really lies: its folder is resolved, the name is not.
/// Nothing when the folder is not there.
std::optional<std::string> real_place(std::string_view path) {
  path = without_slashes_at_end(path);
  const std::size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return real_path(std::string(path));
  const auto folder = real_path(std::string(path.substr(0, slash + 1)));
  return folder ? std::optional(joined(*folder, name)) : std::nullopt;
}

bool is_link(const std::string& place) {
  struct stat status {};
  return lstat(place.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

class Resolver {
 public:
  Resolver(const std::string& root, const std::string& path) : root_(root), path_(path) {}

  Status resolve(const std::string& absolute, int hops) {
    add_links_on_the_way(absolute);
    const auto place = real_place(absolute);
    struct stat status {};
    if (!place || lstat(place->c_str(), &status) != 0)
      return hops > 0 ? success()
                      : Status(Error{Code::not_found,
                                     "--stage " + path_ + ": there is no such file or folder"});
    auto relative = below(root_, *place);
    // The root, named by a link to it from outside.
    if (!relative && real_path(*place) == root_) relative = "";
    if (!relative)
      return Error{Code::invalid,
                   "--stage " + path_ + " lies outside of " + root_ +
                       ", the folder that is taken along; run from a folder that holds both"};
    const bool is_root = relative->empty();
    if (S_ISLNK(status.st_mode) && !is_root) return resolve_link(*relative, *place, hops);
    if (!is_root && !S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode))
      return Error{Code::invalid, "--stage " + path_ +
                                      " is neither a file nor a folder, and cannot be taken along"};
    targets.push_back({AlwaysTarget::Kind::whole, *relative, {}});
    return success();
  }

  std::vector<AlwaysTarget> targets;

 private:
  Status resolve_link(const std::string& relative, const std::string& place, int hops) {
    if (hops >= hop_limit) return success();  // links in a circle: kept as they are
    const auto next = after_link(place);
    const auto next_place = next ? real_place(*next) : std::nullopt;
    const auto end = real_path(place);
    const bool leaves = !next_place || !below(root_, *next_place);
    if (end && leaves && !below(root_, *end)) {
      targets.push_back({AlwaysTarget::Kind::whole, relative, *end});
      return success();
    }
    targets.push_back({AlwaysTarget::Kind::link, relative, {}});
    if (!leaves) return resolve(*next, hops + 1);
    return end ? resolve(*end, hops + 1) : success();
  }

  /// The path that a link stands for, as it is written.
  static std::optional<std::string> after_link(const std::string& place) {
    const auto text = read_link(AT_FDCWD, place.c_str());
    if (!text || text->empty()) return std::nullopt;
    return text->starts_with('/') ? *text : joined(place.substr(0, place.rfind('/')), *text);
  }

  /// `a/link/b`: the job will use the path as it was named, so the link goes along, and those it
  /// leads through.
  void add_links_on_the_way(const std::string& absolute) {
    const std::string_view path = without_slashes_at_end(absolute);
    for (std::size_t slash = path.find('/', 1); slash != std::string_view::npos;
         slash = path.find('/', slash + 1))
      if (const auto place = real_place(path.substr(0, slash))) add_link(*place);
  }

  void add_link(const std::string& place) {
    if (!is_link(place) || !seen_.insert(place).second) return;
    if (const auto relative = below(root_, place); relative && !relative->empty())
      targets.push_back({AlwaysTarget::Kind::link, *relative, {}});
    const auto next = after_link(place);
    if (!next) return;
    add_links_on_the_way(*next);
    if (const auto next_place = real_place(*next)) add_link(*next_place);
  }

  const std::string& root_;
  const std::string& path_;
  std::set<std::string> seen_;
};

}  // namespace

Result<std::vector<AlwaysTarget>> resolve_always(const std::string& root,
                                                 const std::string& given_root,
                                                 const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return Error{Code::invalid, "--stage needs a path"};
  std::string absolute = path.starts_with('/') ? path : joined(root, path);
  // The root may have been named through a link: the same path under its real name.
  if (path.starts_with('/') && given_root.starts_with('/'))
    if (const auto rest = below(std::string(without_slashes_at_end(given_root)),
                                std::string(without_slashes_at_end(path))))
      absolute = rest->empty() ? root : joined(root, *rest);
  Resolver resolver(root, path);
  if (auto resolved = resolver.resolve(absolute, 0); !resolved) return resolved.error();
  return std::move(resolver.targets);
}

}  // namespace gpl::artifact
