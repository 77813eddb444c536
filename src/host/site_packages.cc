#include "gpl/host/site_packages.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/core/framework_table.h"
#include "gpl/core/package_requirement.h"
#include "gpl/host/direct_url.h"
#include "gpl/host/package_metadata.h"
#include "gpl/host/path_file.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::host {
namespace {

constexpr std::string_view editable_pth = "__editable__.";
constexpr std::string_view editable_finder = "__editable___";
constexpr std::string_view finder_ending = "_finder.py";

// Entries' endings are compared in lower case, as importlib.metadata does.
bool has_ending(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() &&
         to_lower(name.substr(name.size() - ending.size())) == ending;
}

std::string_view without_ending(std::string_view name, std::string_view ending) {
  return name.substr(0, name.size() - ending.size());
}

std::string absolute(const std::string& folder, const std::string& path) {
  const std::filesystem::path whole =
      path.starts_with('/') ? std::filesystem::path(path) : std::filesystem::path(folder) / path;
  std::string normal = whole.lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

// Reads one folder; used once.
class FolderReader {
 public:
  FolderReader(const SystemRoot& root, std::string folder)
      : root_(root), folder_(std::move(folder)) {}

  SitePackages read() {
    Result<posix::Fd> opened = posix::open_folder(root_.on_disk(folder_));
    if (!opened.ok()) {
      site_.problems.push_back(opened.error().message);
      return std::move(site_);
    }
    at_ = std::move(opened).value();
    const std::vector<std::string> names = root_.names(folder_);
    for (const std::string& name : names) read_entry(name);
    for (Distribution& distribution : site_.distributions) mark_editable(distribution);
    report_incomplete();
    report_leftovers();
    return std::move(site_);
  }

 private:
  void read_entry(const std::string& name) {
    if (name.starts_with('~')) {
      leftovers_.push_back(name);
    } else if (has_ending(name, ".dist-info")) {
      read_distribution(name, {"/METADATA", "/PKG-INFO"});
    } else if (has_ending(name, ".egg-info")) {
      read_distribution(name, {"/PKG-INFO", "/METADATA", ""});
    } else if (has_ending(name, ".egg")) {
      read_egg(name);
    } else if (has_ending(name, ".egg-link")) {
      read_egg_link(name);
    } else if (has_ending(name, ".pth") && !name.starts_with('.')) {
      read_pth(name);
    } else if (name.starts_with(editable_finder) && name.ends_with(finder_ending)) {
      const std::string_view stem = without_ending(name, finder_ending);
      marks_.push_back({std::string(stem.substr(editable_finder.size())), ""});
    }
  }

  void complain(const std::string& entry, const std::string& what) {
    site_.problems.push_back(folder_ + "/: " + in_quotes(entry) + " " + what);
  }

  bool is_folder(const std::string& path) const {
    struct stat status;
    return ::fstatat(at_.get(), path.c_str(), &status, 0) == 0 && S_ISDIR(status.st_mode);
  }

  // Reads the first of `files`, named relative to the entry, that is there.
  void read_distribution(const std::string& entry, std::initializer_list<const char*> files) {
    for (const std::string file : files) {
      if (file.empty() && is_folder(entry)) break;
      const Result<MetadataHeaders> headers = read_metadata_headers(at_.get(), entry + file);
      if (!headers.ok() && headers.error().code == Code::not_found) continue;
      if (!headers.ok()) {
        complain(entry, "is not counted: its metadata" +
                            (file.empty() ? file : " " + file.substr(1)) +
                            " cannot be read: " + headers.error().message);
        return;
      }
      add(entry, headers.value());
      return;
    }
    incomplete_.push_back(entry);
  }

  void add(const std::string& entry, const MetadataHeaders& headers) {
    const Result<PackageMetadata> metadata = package_metadata(headers);
    if (!metadata.ok()) {
      complain(entry, "is not counted: its metadata " + metadata.error().message);
      return;
    }
    Distribution distribution;
    distribution.name = normalised_package_name(metadata.value().name);
    distribution.version = metadata.value().version;
    distribution.site = folder_;
    distribution.record = entry;
    site_.distributions.push_back(std::move(distribution));
  }

  // NAME-VERSION-pyX.Y.egg, - in name or version written _ (setuptools' egg names).
  void read_egg(const std::string& entry) {
    if (is_folder(entry)) return read_distribution(entry, {"/EGG-INFO/PKG-INFO"});
    const std::string_view stem = without_ending(entry, ".egg");
    const std::size_t dash = stem.find('-');
    if (dash == std::string_view::npos) return;
    const std::string_view rest = stem.substr(dash + 1);
    MetadataHeaders headers;
    headers.fields = {{"name", std::string(stem.substr(0, dash))},
                      {"version", std::string(rest.substr(0, rest.find('-')))}};
    const std::size_t before = site_.distributions.size();
    add(entry, headers);
    if (site_.distributions.size() > before) site_.distributions.back().read_from_name = true;
  }

  void read_egg_link(const std::string& entry) {
    const Result<std::string> text = posix::read_file_at(at_.get(), entry, max_path_file_bytes);
    const std::string link = text.ok() ? egg_link_folder(text.value()) : "";
    const std::string source = link.empty() ? "" : absolute(folder_, link);
    std::string stem(without_ending(entry, ".egg-link"));
    for (const bool underscored : {false, true}) {
      if (underscored) std::replace(stem.begin(), stem.end(), '-', '_');
      const std::string file = root_.on_disk(source) + "/" + stem + ".egg-info/PKG-INFO";
      const Result<MetadataHeaders> headers = read_metadata_headers(AT_FDCWD, file);
      if (source.empty() || !headers.ok()) continue;
      const std::size_t before = site_.distributions.size();
      add(entry, headers.value());
      if (site_.distributions.size() == before) return;
      site_.distributions.back().editable = true;
      site_.distributions.back().source = source;
      return;
    }
    complain(entry, source.empty() ? "is not counted: it names no folder"
                                   : "is not counted: there is no metadata in " + source);
  }

  void read_pth(const std::string& entry) {
    const Result<std::string> text = posix::read_file_at(at_.get(), entry, max_path_file_bytes);
    if (!text.ok()) {
      complain(entry, "is not followed: " + text.error().message);
      return;
    }
    std::vector<std::string> folders;
    for (const std::string& line : pth_folders(text.value())) {
      folders.push_back(absolute(folder_, line));
    }
    if (entry.starts_with(editable_pth)) {
      const std::string_view stem = without_ending(entry, ".pth");
      marks_.push_back(
          {std::string(stem.substr(editable_pth.size())), folders.empty() ? "" : folders.front()});
    }
    site_.added.insert(site_.added.end(), folders.begin(), folders.end());
  }

  // Only for what belongs to a framework: the others would be a file to open each.
  void mark_editable(Distribution& distribution) const {
    if (framework_variant(distribution.name) == nullptr) return;
    if (has_ending(distribution.record, ".dist-info")) {
      const Result<std::string> text = posix::read_file_at(
          at_.get(), distribution.record + "/direct_url.json", max_direct_url_bytes);
      const DirectUrl direct = text.ok() ? parse_direct_url(text.value()) : DirectUrl{};
      if (direct.editable) {
        distribution.editable = true;
        distribution.source = direct.folder;
      }
    }
    for (const EditableMark& mark : marks_) {
      if (!is_entry_of(mark.stem, distribution.name)) continue;
      distribution.editable = true;
      if (distribution.source.empty()) distribution.source = mark.source;
    }
  }

  void report_incomplete() {
    for (const std::string& entry : incomplete_) {
      const std::string_view stem = std::string_view(entry).substr(0, entry.rfind('.'));
      const bool has_whole =
          std::any_of(site_.distributions.begin(), site_.distributions.end(),
                      [&](const Distribution& whole) { return is_entry_of(stem, whole.name); });
      if (!has_whole) {
        complain(entry, "is not counted: it holds no metadata; reinstall the package or remove it");
      }
    }
  }

  void report_leftovers() {
    if (leftovers_.empty()) return;
    std::string list;
    for (const std::string& name : leftovers_) {
      list += (list.empty() ? "" : ", ") + in_quotes(name);
    }
    site_.problems.push_back(folder_ + "/: " + list + (leftovers_.size() == 1 ? " is" : " are") +
                             " not counted: left over from an uninstall that was interrupted; "
                             "remove what begins with ~");
  }

  struct EditableMark {
    std::string stem;
    std::string source;
  };

  const SystemRoot& root_;
  std::string folder_;
  posix::Fd at_;
  SitePackages site_;
  std::vector<EditableMark> marks_;
  std::vector<std::string> incomplete_;
  std::vector<std::string> leftovers_;
};

}  // namespace

SitePackages read_site_packages(const SystemRoot& root, const std::string& folder) {
  return FolderReader(root, folder).read();
}

bool is_entry_of(std::string_view stem, std::string_view normalised_name) {
  const std::string normal = normalised_package_name(stem);
  if (!normal.starts_with(normalised_name)) return false;
  const std::string_view rest = std::string_view(normal).substr(normalised_name.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '-' && is_digit(rest[1]));
}

}  // namespace gpl::host
