#pragma once

#include <string>

#include "temporary_folder.h"

namespace gpl::test {

/// A stand-in for / with made-up Python packages.
class PythonTree {
 public:
  const std::string& path() const { return folder_.path(); }
  std::string operator/(const std::string& name) const { return folder_ / name; }
  std::string write(const std::string& name, const std::string& bytes, mode_t mode = 0644) const {
    return folder_.write(name, bytes, mode);
  }
  /// A whole distribution in the folder `site`; its entry is NAME-VERSION.dist-info, - as _.
  void install(const std::string& site, const std::string& name, const std::string& version) const {
    std::string escaped = name;
    for (char& c : escaped) c = c == '-' ? '_' : c;
    write(site + "/" + escaped + "-" + version + ".dist-info/METADATA", metadata(name, version));
  }
  static std::string metadata(const std::string& name, const std::string& version) {
    return "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n\nText\n";
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace gpl::test
