#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gpl/artifact/selection.h"
#include "gpl/core/result.h"

namespace gpl::client {

/// One --data: a file or folder that the command finds under `name`.
struct DataWish {
  std::string job;   ///< whose result it is: "12" or "last"; "": it is on this machine
  std::string path;  ///< relative to that job's folder, or to the caller's
  std::string name;  ///< relative to the command's folder
  friend bool operator==(const DataWish&, const DataWish&) = default;
};

/// Reads PATH[=NAME] or JOB:PATH[=NAME]; without NAME it is the path's last part. Code::invalid for
/// a name that does not lie in a folder.
Result<DataWish> parse_data(std::string_view text);

/// Takes what is at `path`, a file or folder of this machine (a link: what it leads to), into the
/// selection under `name`, in place of what was selected there. Code::not_found when nothing is.
Status add_data(artifact::Selection& selection, const std::string& path, const std::string& name);

}  // namespace gpl::client
