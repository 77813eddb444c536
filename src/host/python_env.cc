#include "gpl/host/python_env.h"

#include <array>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/host/conda_record.h"
#include "gpl/host/framework_builds.h"
#include "gpl/host/installed_packages.h"
#include "gpl/host/python_installation.h"
#include "gpl/host/system_root.h"

namespace gpl::host {
namespace {

// A machine has a handful; a folder with thousands is something else.
constexpr std::size_t max_environments = 128;
constexpr std::size_t max_list_bytes = std::size_t{256} << 10;

// What a root that was found, not asked for, must have to be an environment.
enum class Origin { asked, variable, found };

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

// Looks in one place after another; used once.
class EnvironmentFinder {
 public:
  explicit EnvironmentFinder(const EnvironmentSearch& search)
      : search_(search),
        root_(search.system_root),
        context_{search.home, search.folder, search.pyenv_root, search.pyenv_version} {}

  FoundEnvironments find() {
    for (const std::string& path : search_.asked) add(path, "--environment", Origin::asked);
    for (const std::string& path : search_.configured) add(path, "gpl.toml", Origin::asked);
    add_variable("VIRTUAL_ENV", search_.virtual_env);
    add_variable("CONDA_PREFIX", search_.conda_prefix);
    add_from_path();
    if (root_.exists("/usr/bin/python3"))
      add("/usr/bin/python3", "/usr/bin/python3", Origin::found);
    add_conda();
    add_pyenv();
    return std::move(found_);
  }

 private:
  void complain(const std::string& source, const std::string& message) {
    found_.problems.push_back({source, std::nullopt, message});
  }

  std::string absolute(const std::string& path) const {
    if (path.starts_with('/')) return path;
    if (path.starts_with("~/")) return search_.home + path.substr(1);
    return (std::filesystem::path(search_.folder) / path).lexically_normal().string();
  }

  void add(const std::string& path, const std::string& source, Origin origin) {
    if (found_.environments.size() >= max_environments) return;
    Result<PythonInstallation> read = read_python_installation(root_, absolute(path), context_);
    if (!read.ok()) {
      if (origin != Origin::found) complain(source, path + " " + read.error().message);
      return;
    }
    add_installation(std::move(read).value(), origin);
  }

  void add_installation(PythonInstallation installation, Origin origin) {
    if (origin == Origin::found && installation.python.empty()) return;
    if (!roots_.insert(installation.root).second) return;
    InstalledPackages packages = read_installed_packages(root_, installation.sites);
    const std::vector<CondaRecord> conda = installation.is_conda
                                               ? conda_records(root_, installation.root)
                                               : std::vector<CondaRecord>{};
    PythonEnvironment environment;
    environment.name = name_of_root(installation.root);
    environment.root = installation.root;
    environment.python = installation.python;
    environment.python_version = installation.version;
    environment.frameworks =
        framework_builds(root_, packages.distributions, conda, installation.sites);
    environment.problems = std::move(installation.problems);
    if (installation.sites.empty() && origin != Origin::found) {
      environment.problems.push_back(installation.root + " holds no folder of Python packages");
    }
    std::move(packages.problems.begin(), packages.problems.end(),
              std::back_inserter(environment.problems));
    found_.environments.push_back(std::move(environment));
  }

  std::string name_of_root(const std::string& prefix) const {
    if (prefix == "/usr") return "system";
    const std::string home = root_.real_path(search_.home).value_or(search_.home);
    if (home.size() > 1 && prefix.starts_with(home + "/")) return "~" + prefix.substr(home.size());
    return prefix;
  }

  void add_variable(const std::string& name, const std::string& path) {
    if (!path.empty()) add(path, name, Origin::variable);
  }

  // The first python3 on PATH that leads to an interpreter; one that does not is said.
  void add_from_path() {
    for (const std::string& folder : split(search_.path, ':')) {
      const std::string program = absolute(folder) + "/python3";
      if (!root_.is_executable(program)) continue;
      Result<PythonInstallation> read = read_python_installation(root_, program, context_);
      if (read.ok()) return add_installation(std::move(read).value(), Origin::found);
      if (read.error().code != Code::not_found) {
        complain("python3 on PATH", program + " " + read.error().message);
      }
    }
  }

  void add_each_in(const std::string& folder) {
    for (const std::string& name : root_.names(folder)) {
      if (!name.starts_with('.')) add_folder(folder, name);
    }
  }

  void add_folder(const std::string& folder, const std::string& name) {
    const std::string prefix = folder + "/" + name;
    if (root_.is_folder(prefix)) add(prefix, prefix, Origin::found);
  }

  void add_conda() {
    std::vector<std::string> bases{"/opt/conda", "/opt/miniconda3", "/opt/anaconda3",
                                   "/opt/miniforge3"};
    if (!search_.home.empty()) {
      for (const std::string_view name :
           {"miniconda3", "anaconda3", "miniforge3", "mambaforge", "micromamba"}) {
        bases.push_back(search_.home + "/" + std::string(name));
      }
    }
    for (const std::string& base : bases) {
      if (root_.is_folder(base + "/conda-meta")) add(base, base, Origin::found);
      add_each_in(base + "/envs");
    }
    if (search_.home.empty()) return;
    add_each_in(search_.home + "/.conda/envs");
    const auto list = root_.read(search_.home + "/.conda/environments.txt", max_list_bytes);
    for (const std::string& line : split(list.value_or(""), '\n')) {
      const std::string prefix(trimmed(line));
      const bool is_path = prefix.starts_with('/') && prefix.find('\0') == std::string::npos;
      if (is_path && root_.is_folder(prefix + "/conda-meta")) add(prefix, prefix, Origin::found);
    }
  }

  void add_pyenv() {
    if (!search_.pyenv_root.empty()) add_each_in(search_.pyenv_root + "/versions");
    if (!search_.home.empty()) add_each_in(search_.home + "/.pyenv/versions");
  }

  const EnvironmentSearch& search_;
  SystemRoot root_;
  ShimContext context_;
  FoundEnvironments found_;
  std::set<std::string> roots_;
};

}  // namespace

EnvironmentSearch environment_search(const std::vector<std::string>& environment, std::string home,
                                     std::string folder) {
  EnvironmentSearch search;
  search.home = std::move(home);
  search.folder = std::move(folder);
  const std::array<std::pair<std::string_view, std::string*>, 5> wanted{{
      {"PATH=", &search.path},
      {"VIRTUAL_ENV=", &search.virtual_env},
      {"CONDA_PREFIX=", &search.conda_prefix},
      {"PYENV_ROOT=", &search.pyenv_root},
      {"PYENV_VERSION=", &search.pyenv_version},
  }};
  for (const std::string& variable : environment) {
    for (const auto& [name, value] : wanted) {
      if (variable.starts_with(name)) *value = variable.substr(name.size());
    }
  }
  return search;
}

FoundEnvironments find_environments(const EnvironmentSearch& search) {
  return EnvironmentFinder(search).find();
}

}  // namespace gpl::host
