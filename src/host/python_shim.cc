#include "gpl/host/python_shim.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "gpl/core/ascii.h"
#include "gpl/core/version.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_shim_bytes = 16384;
constexpr std::size_t max_version_file_bytes = 4096;

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string parent(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

std::vector<std::string> words(std::string_view text, std::string_view separators) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(separators);
    if (end != 0) found.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return found;
}

std::string_view unquoted(std::string_view word) {
  const bool quoted = word.size() >= 2 && (word.front() == '"' || word.front() == '\'') &&
                      word.back() == word.front();
  return quoted ? word.substr(1, word.size() - 2) : word;
}

// The first word of the text, quotes around it taken off.
std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return text;
  const bool quoted = text.front() == '"' || text.front() == '\'';
  const std::size_t end = quoted ? text.find(text.front(), 1) : text.find_first_of(" \t;");
  if (end == std::string_view::npos) return unquoted(text);
  return unquoted(text.substr(0, quoted ? end + 1 : end));
}

// A file of version names, a word each; # begins a comment (pyenv's version files).
std::vector<std::string> version_names(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string& line : words(text, "\r\n")) {
    const std::string_view before_comment = std::string_view(line).substr(0, line.find('#'));
    for (const std::string& name : words(before_comment, " \t")) names.push_back(name);
  }
  return names;
}

std::vector<std::string> chosen_versions(const SystemRoot& root, const std::string& pyenv,
                                         const ShimContext& context) {
  if (!context.pyenv_version.empty()) return words(context.pyenv_version, ":");
  for (std::string folder = context.folder; !folder.empty(); folder = parent(folder)) {
    const auto text =
        root.read((folder == "/" ? "" : folder) + "/.python-version", max_version_file_bytes);
    std::vector<std::string> names = text ? version_names(*text) : std::vector<std::string>{};
    if (!names.empty()) return names;
    if (folder == parent(folder)) break;
  }
  const auto text = root.read(pyenv + "/version", max_version_file_bytes);
  return text ? version_names(*text) : std::vector<std::string>{};
}

// The installed version that a name means: itself, or the newest that it is a prefix of.
std::string installed_version(const SystemRoot& root, const std::string& versions,
                              std::string_view name) {
  if (name.starts_with("python-")) name.remove_prefix(std::string_view("python-").size());
  if (name.empty() || name.front() == '.' || name.find('/') != std::string_view::npos) return "";
  if (root.is_folder(versions + "/" + std::string(name))) return std::string(name);
  std::string newest;
  for (const std::string& candidate : root.names(versions)) {
    if (!candidate.starts_with(std::string(name) + ".")) continue;
    const Result<Version> version = Version::parse(candidate);
    const Result<Version> best = Version::parse(newest);
    if (version.ok() && (!best.ok() || version.value() > best.value())) newest = candidate;
  }
  return newest;
}

std::string program_of(const std::string& pyenv, const std::string& version,
                       const std::string& program) {
  return pyenv + "/versions/" + version + "/bin/" + program;
}

Result<std::string> resolve_pyenv(const SystemRoot& root, const std::string& path,
                                  const PythonShim& shim, const ShimContext& context) {
  std::string pyenv = shim.pyenv_root;
  if (pyenv.empty()) pyenv = context.pyenv_root;
  if (pyenv.empty()) pyenv = parent(parent(path));
  const std::vector<std::string> names = chosen_versions(root, pyenv, context);
  for (const std::string& name : names) {
    if (name == "system") break;
    const std::string version = installed_version(root, pyenv + "/versions", name);
    const std::string python = program_of(pyenv, version, base_name(path));
    if (!version.empty() && root.is_executable(python)) return python;
  }
  const bool to_system =
      names.empty() || std::find(names.begin(), names.end(), "system") != names.end();
  if (to_system) return Error{Code::not_found, "leads on to the next Python on PATH"};
  return Error{Code::unsupported, "is pyenv's, which is set to " + in_quotes(names.front()) +
                                      ": that version is not installed"};
}

}  // namespace

std::optional<PythonShim> parse_python_shim(std::string_view text) {
  if (!text.starts_with("#!")) return std::nullopt;
  PythonShim shim;
  for (const std::string& whole : words(text, "\r\n")) {
    std::string_view line = trimmed(whole);
    constexpr std::string_view export_root = "export PYENV_ROOT=";
    constexpr std::string_view exec = "exec ";
    if (line.starts_with(export_root)) {
      const std::string_view value = first_word(line.substr(export_root.size()));
      if (value.starts_with('/')) shim.pyenv_root = value;
    } else if (line.starts_with(exec)) {
      const std::string program(first_word(line.substr(exec.size())));
      const std::string name = base_name(program);
      if (name == "pyenv") shim.is_pyenv = true;
      if (program.starts_with('/') && name.starts_with("python")) shim.exec_path = program;
    }
  }
  return shim;
}

Result<std::string> resolve_python(const SystemRoot& root, const std::string& path,
                                   const ShimContext& context) {
  constexpr int max_hops = 4;
  std::string at = path;
  for (int hop = 0; hop < max_hops; ++hop) {
    const std::optional<std::string> text = root.read(at, max_shim_bytes);
    if (!text) return Error{Code::unsupported, "cannot be read"};
    const std::optional<PythonShim> shim = parse_python_shim(*text);
    if (!shim) return at;
    if (shim->is_pyenv) {
      Result<std::string> real = resolve_pyenv(root, at, *shim, context);
      if (!real.ok()) return real;
      at = std::move(real).value();
    } else if (!shim->exec_path.empty()) {
      at = shim->exec_path;
    } else {
      return Error{Code::unsupported,
                   "is a script that cannot be followed without running it; name the "
                   "interpreter's folder with --environment"};
    }
  }
  return Error{Code::unsupported, "leads from script to script"};
}

}  // namespace gpl::host
