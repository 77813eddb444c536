#include "gpl/artifact/git_repository.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "gpl/artifact/file_text.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t git_file_limit_bytes = 1U << 20U;

std::optional<std::string> real_path(const std::string& path) {
  std::array<char, PATH_MAX> buffer{};
  if (realpath(path.c_str(), buffer.data()) == nullptr) return std::nullopt;
  return std::string(buffer.data());
}

std::optional<std::string> text_of(const std::string& path) {
  auto text = read_file_text(AT_FDCWD, path.c_str(), git_file_limit_bytes, true);
  if (auto* held = std::get_if<std::string>(&text)) return std::move(*held);
  return std::nullopt;
}

std::string without_line_end(std::string text) {
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

std::string below(const std::string& folder, const std::string& path) {
  return path.starts_with('/') ? path : folder + "/" + path;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// A link into refs/, `ref: refs/...`, or an object's name.
bool is_head(const std::string& path) {
  std::array<char, PATH_MAX> target{};
  if (const ssize_t size = readlink(path.c_str(), target.data(), target.size()); size >= 0)
    return std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with("refs/");
  const auto text = text_of(path);
  if (!text) return false;
  if (text->starts_with("ref:")) {
    const std::size_t begin = text->find_first_not_of(" \t\r\n", 4);
    return begin != std::string::npos && text->compare(begin, 5, "refs/") == 0;
  }
  std::size_t digits = 0;
  while (digits < text->size() && is_hex((*text)[digits])) ++digits;
  return digits >= 40;
}

std::string common_dir_of(const std::string& git_dir) {
  const auto text = text_of(git_dir + "/commondir");
  return text ? below(git_dir, without_line_end(*text)) : git_dir;
}

/// git's own three signs: HEAD, objects and refs.
bool is_git_dir(const std::string& path) {
  if (!is_head(path + "/HEAD")) return false;
  const std::string common = common_dir_of(path);
  return access((common + "/objects").c_str(), X_OK) == 0 &&
         access((common + "/refs").c_str(), X_OK) == 0;
}

/// What stands in a `.git` file: `gitdir: PATH`, from the folder that holds it.
std::variant<std::string, BrokenGitFile> read_git_file(const std::string& folder) {
  const std::string path = folder + "/.git";
  const auto text = text_of(path);
  constexpr std::string_view mark = "gitdir: ";
  if (!text || !text->starts_with(mark))
    return BrokenGitFile{path + " is not of the form 'gitdir: PATH'"};
  const std::string target = below(folder, without_line_end(text->substr(mark.size())));
  if (!is_git_dir(target))
    return BrokenGitFile{path + " leads to " + target + ", which is no git repository"};
  return target;
}

Status read_config(GitConfigReader& reader, const std::string& git_dir,
                   const std::string& common_dir) {
  if (auto read = reader.read_person(); !read) return read;
  if (auto read = reader.read_file(common_dir + "/config"); !read) return read;
  // The common file's word on these is about the main work tree.
  if (common_dir != git_dir) reader.config.bare = false, reader.config.work_tree.reset();
  if (!reader.config.worktree_config) return success();
  return reader.read_file(git_dir + "/config.worktree");
}

std::string default_excludes_file(const GitHome& home) {
  if (!home.xdg_config_home.empty()) return home.xdg_config_home + "/git/ignore";
  return home.home.empty() ? std::string() : home.home + "/.config/git/ignore";
}

Result<GitFinding> open_git_dir(const std::string& folder, const std::string& git_path,
                                const GitHome& home) {
  const auto git_dir = real_path(git_path);
  const auto common_dir = git_dir ? real_path(common_dir_of(*git_dir)) : std::nullopt;
  if (!common_dir) return GitFinding{NoRepository{}};
  GitConfigReader reader(home, *git_dir);
  if (auto read = read_config(reader, *git_dir, *common_dir); !read) return read.error();
  const GitConfig& config = reader.config;

  GitRepository repository{folder, *git_dir, *common_dir, config.ignore_case, 20, {}};
  if (config.object_format == "sha256") {
    repository.hash_bytes = 32;
  } else if (config.object_format != "sha1") {
    return Error{Code::unsupported, *common_dir + "/config: extensions.objectFormat is '" +
                                        config.object_format +
                                        "'; gpl knows sha1 and sha256 (run with --no-stage, or "
                                        "name what is needed with --stage)"};
  }
  if (config.work_tree) {
    const auto top = real_path(below(*git_dir, *config.work_tree));
    if (!top) return GitFinding{NoWorkTree{}};
    repository.top = *top;
  } else if (config.bare) {
    return GitFinding{NoWorkTree{}};
  }
  repository.excludes_file =
      config.excludes_file ? *config.excludes_file : default_excludes_file(home);
  if (!repository.excludes_file.empty())
    repository.excludes_file = below(repository.top, repository.excludes_file);
  return GitFinding{std::move(repository)};
}

struct Candidate {
  std::variant<NoRepository, BrokenGitFile, std::string> git_path;
};

Candidate look_at(const std::string& folder) {
  struct stat status {};
  const std::string path = folder + "/.git";
  if (stat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode) && is_git_dir(path)) return {path};
  if (!S_ISREG(status.st_mode)) return {};
  auto target = read_git_file(folder);
  if (auto* broken = std::get_if<BrokenGitFile>(&target)) return {std::move(*broken)};
  return {std::get<std::string>(std::move(target))};
}

}  // namespace

Result<GitFinding> open_repository(const std::string& folder, const GitHome& home) {
  auto candidate = look_at(folder).git_path;
  if (auto* broken = std::get_if<BrokenGitFile>(&candidate)) return GitFinding{std::move(*broken)};
  if (const auto* path = std::get_if<std::string>(&candidate)) {
    auto found = open_git_dir(folder, *path, home);
    if (!found) return found;
    const auto* repository = std::get_if<GitRepository>(&found.value());
    if (repository == nullptr || repository->top == folder) return found;
    return GitFinding{NoWorkTree{}};
  }
  return GitFinding{NoRepository{}};
}

Result<GitFinding> find_repository(const std::string& folder, const GitHome& home) {
  struct stat first {};
  if (stat(folder.c_str(), &first) != 0) return GitFinding{NoRepository{}};
  std::string at = folder == "/" ? "" : folder;
  for (;;) {
    auto candidate = look_at(at).git_path;
    if (auto* broken = std::get_if<BrokenGitFile>(&candidate))
      return GitFinding{std::move(*broken)};
    if (const auto* path = std::get_if<std::string>(&candidate)) {
      auto found = open_git_dir(at.empty() ? "/" : at, *path, home);
      if (!found) return found;
      const auto* repository = std::get_if<GitRepository>(&found.value());
      const bool holds = repository == nullptr || folder == repository->top ||
                         repository->top == "/" || folder.starts_with(repository->top + "/");
      return holds ? std::move(found) : Result<GitFinding>(GitFinding{NoWorkTree{}});
    }
    if (at.empty() || is_git_dir(at)) return GitFinding{NoRepository{}};
    at.resize(at.rfind('/'));
    struct stat status {};
    if (stat(at.empty() ? "/" : at.c_str(), &status) != 0 || status.st_dev != first.st_dev)
      return GitFinding{NoRepository{}};
  }
}

}  // namespace gpl::artifact
