#include "gpl/host/python_installation.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/core/version.h"
#include "gpl/host/conda_record.h"
#include "gpl/host/pyvenv_config.h"

namespace gpl::host {
namespace {

constexpr std::size_t max_config_bytes = std::size_t{64} << 10;

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

std::string parent(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

// "3.11" of "python3.11", "3.13t" of "python3.13t"; "" for a name without a version.
std::string version_in_name(std::string_view name) {
  const std::size_t digit = name.find_first_of("0123456789");
  if (digit == std::string_view::npos || name.find('.') == std::string_view::npos) return "";
  const std::string_view word = name.substr(0, digit);
  return word == "python" || word == "pypy" ? std::string(name.substr(digit)) : "";
}

std::string major_and_minor(std::string_view version) {
  const std::string numbers = python_version_numbers(version);
  const std::size_t dot = numbers.find('.');
  return numbers.substr(0, numbers.find('.', dot + 1));
}

// Reads one installation; used once.
class InstallationReader {
 public:
  InstallationReader(const SystemRoot& root, std::string prefix, const ShimContext& context)
      : root_(root), context_(context) {
    found_.root = std::move(prefix);
  }

  Result<PythonInstallation> read(const std::string& invoked) {
    find_interpreter(invoked);
    const auto text = root_.read(found_.root + "/pyvenv.cfg", max_config_bytes);
    if (text) venv_ = parse_pyvenv_config(*text);
    found_.is_conda = root_.is_folder(found_.root + "/conda-meta");
    find_library();
    if (library_.starts_with("python2")) return Error{Code::unsupported, "is Python 2"};
    find_sites();
    find_version();
    return std::move(found_);
  }

 private:
  void find_interpreter(const std::string& invoked) {
    for (const std::string& name :
         {std::string("python3"), std::string("python"), std::string("pypy3")}) {
      const std::string python = found_.root + "/bin/" + name;
      const std::optional<std::string> real = root_.real_path(python);
      if (!real || !root_.is_executable(python)) continue;
      if (!invoked.empty() && root_.real_path(invoked) != real) continue;
      found_.python = python;
      real_python_ = *real;
      return;
    }
    if (!invoked.empty()) {
      found_.python = invoked;
      real_python_ = root_.real_path(invoked).value_or(invoked);
      return;
    }
    const std::vector<std::string> programs = root_.names(found_.root + "/bin");
    if (std::find(programs.begin(), programs.end(), "python3") != programs.end()) {
      found_.problems.push_back(found_.root +
                                "/bin/python3 cannot be run: what it was made from is gone, or it "
                                "is not executable");
    }
  }

  // The folder below lib/ that goes with the interpreter: "python3.11".
  void find_library() {
    std::vector<std::string> there;
    for (const std::string& name : root_.names(found_.root + "/lib")) {
      const std::string library = found_.root + "/lib/" + name;
      const bool has_packages = root_.is_folder(library + "/site-packages") ||
                                root_.is_folder(library + "/dist-packages");
      if (!version_in_name(name).empty() && has_packages) there.push_back(name);
    }
    std::stable_sort(there.begin(), there.end(), [](const std::string& a, const std::string& b) {
      return is_older(version_in_name(b), version_in_name(a));
    });
    library_ = library_of_interpreter();
    if (library_.empty() && !there.empty()) {
      library_ = there.front();
      if (there.size() > 1) {
        found_.problems.push_back(found_.root + "/lib holds packages of several Pythons: only " +
                                  library_ + "'s count");
      }
    } else if (!there.empty() && venv_ &&
               std::find(there.begin(), there.end(), library_) == there.end()) {
      found_.problems.push_back(found_.root + "/lib/" + there.front() +
                                " is not what its interpreter, " + library_ +
                                ", looks at: its packages do not count; make the environment anew");
    }
  }

  static bool is_older(const std::string& a, const std::string& b) {
    const Result<Version> left = Version::parse(major_and_minor(a));
    const Result<Version> right = Version::parse(major_and_minor(b));
    return left.ok() && right.ok() && left.value() < right.value();
  }

  std::string library_of_interpreter() const {
    std::string name = base_name(real_python_);
    if (!version_in_name(name).empty()) return name;
    if (venv_ && !venv_->version.empty()) return "python" + major_and_minor(venv_->version);
    return "";
  }

  void add_site(const std::string& path) {
    const std::optional<std::string> real = root_.real_path(path);
    if (!real || !root_.is_folder(*real)) return;
    if (std::find(found_.sites.begin(), found_.sites.end(), *real) == found_.sites.end()) {
      found_.sites.push_back(*real);
    }
  }

  // Python's site.getsitepackages(), with Debian's and Fedora's additions.
  void add_sites_of(const std::string& prefix, bool is_venv) {
    const bool debian = !is_venv && root_.is_folder(prefix + "/lib/python3/dist-packages");
    if (debian) {
      if (!library_.empty()) add_site(prefix + "/local/lib/" + library_ + "/dist-packages");
      add_site(prefix + "/lib/python3/dist-packages");
      if (!library_.empty()) add_site(prefix + "/lib/" + library_ + "/dist-packages");
      return;
    }
    if (!library_.empty()) {
      if (prefix == "/usr") {
        add_site("/usr/local/lib64/" + library_ + "/site-packages");
        add_site("/usr/local/lib/" + library_ + "/site-packages");
      }
      add_site(prefix + "/lib64/" + library_ + "/site-packages");
      add_site(prefix + "/lib/" + library_ + "/site-packages");
      add_site(prefix + "/lib/" + library_ + "/dist-packages");
    }
    add_site(prefix + "/Lib/site-packages");
  }

  void find_sites() {
    const bool counts_system = !venv_ || venv_->system_packages;
    if (venv_) add_sites_of(found_.root, true);
    const bool has_home = !context_.home.empty() && !library_.empty();
    if (counts_system && !found_.python.empty() && has_home) {
      add_site(context_.home + "/.local/lib/" + library_ + "/site-packages");
    }
    if (!venv_) add_sites_of(found_.root, false);
    if (venv_ && venv_->system_packages) {
      const std::string base = base_prefix();
      if (base.empty()) {
        found_.problems.push_back(found_.root +
                                  "/pyvenv.cfg counts its base's packages, but the base, " +
                                  in_quotes(venv_->home) + ", is not there");
      } else {
        add_sites_of(base, false);
      }
    }
    if (found_.sites.empty() && holds_packages()) found_.sites.push_back(found_.root);
  }

  std::string base_prefix() const {
    const auto home = root_.real_path(venv_->home);
    return !venv_->home.empty() && home ? parent(*home) : "";
  }

  // A folder given instead of the environment around it.
  bool holds_packages() const {
    const std::vector<std::string> names = root_.names(found_.root);
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.ends_with(".dist-info") || name.ends_with(".egg-info");
    });
  }

  void find_version() {
    const std::string minor = major_and_minor(version_in_name(library_));
    const auto fits = [&](const std::string& version) {
      return !version.empty() && (minor.empty() || major_and_minor(version) == minor);
    };
    std::vector<std::string> prefixes{found_.root};
    if (venv_) {
      if (fits(venv_->version)) found_.version = venv_->version;
      if (const std::string base = base_prefix(); !base.empty()) prefixes.push_back(base);
    }
    for (const std::string& prefix : prefixes) {
      if (!found_.version.empty()) return;
      const std::string version = version_in(prefix);
      if (fits(version)) found_.version = version;
    }
    if (found_.version.empty()) found_.version = minor;
  }

  std::string version_in(const std::string& prefix) const {
    for (const CondaRecord& record : conda_records(root_, prefix)) {
      if (record.name == "python") return python_version_numbers(record.version);
    }
    constexpr std::string_view definition = "#define PY_VERSION";
    const auto header = root_.read(prefix + "/include/" + library_ + "/patchlevel.h", 16384);
    const std::size_t at = header ? header->find(definition) : std::string::npos;
    const std::size_t quote = at == std::string::npos ? at : header->find('"', at);
    if (quote != std::string::npos) return python_version_numbers(header->substr(quote + 1, 32));
    // pyenv names an installation's folder by its version.
    const std::string name = base_name(prefix);
    return std::count(name.begin(), name.end(), '.') == 2 ? python_version_numbers(name) : "";
  }

  const SystemRoot& root_;
  const ShimContext& context_;
  PythonInstallation found_;
  std::string real_python_;
  std::string library_;
  std::optional<PyvenvConfig> venv_;
};

// sys.prefix of an interpreter: the virtual environment that it was started from, else the folder
// above the bin/ of the real program (Python's getpath).
std::string prefix_of(const SystemRoot& root, const std::string& python) {
  const std::string folder = parent(python);
  for (const std::string& place : {folder, parent(folder)}) {
    if (root.is_file(place + "/pyvenv.cfg")) return place;
  }
  const std::string real = parent(root.real_path(python).value_or(python));
  return base_name(real) == "bin" ? parent(real) : real;
}

}  // namespace

Result<PythonInstallation> read_python_installation(const SystemRoot& root, const std::string& path,
                                                    const ShimContext& context) {
  std::string prefix = path;
  std::string python;
  if (!root.exists(path)) return Error{Code::not_found, "is not there"};
  if (!root.is_folder(path)) {
    Result<std::string> resolved = resolve_python(root, path, context);
    if (!resolved.ok()) return resolved.error();
    python = std::move(resolved).value();
    prefix = prefix_of(root, python);
  }
  const std::optional<std::string> real = root.real_path(prefix);
  if (!real) return Error{Code::not_found, "is not there"};
  return InstallationReader(root, *real, context).read(python);
}

}  // namespace gpl::host
