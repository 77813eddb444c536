#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::host {

/// The headers of a METADATA, PKG-INFO or WHEEL file (core metadata specification; RFC 822 form):
/// what stands before the first empty line.
struct MetadataHeaders {
  /// In order, the names in lower case, the values trimmed, folded lines joined by a space.
  std::vector<std::pair<std::string, std::string>> fields;
  bool complete = false;  ///< the end of the headers was seen

  /// The first value of `name` (in lower case), nullptr without one: what Python's email parser
  /// and so importlib.metadata answer.
  const std::string* first(std::string_view name) const;
};

/// Takes any bytes: a byte order mark, CR, LF and CRLF line ends, names in any case, values in any
/// encoding. A line that is no header ends them, as in Python's email parser. A last line without
/// its end counts as a field only when `whole` says that nothing follows.
MetadataHeaders parse_metadata_headers(std::string_view text, bool whole = true);

/// What an installed distribution's metadata says of itself.
struct PackageMetadata {
  std::string name;     ///< as written
  std::string version;  ///< as written; printable ASCII, but not necessarily PEP 440
};

/// Code::invalid when the name or version is missing, or is no name (PEP 508) or no printable text;
/// the message is a clause such as "has no Version".
Result<PackageMetadata> package_metadata(const MetadataHeaders& headers);

/// No more of a metadata file than this is ever read: its headers are a few KiB.
inline constexpr std::size_t max_metadata_bytes = std::size_t{64} << 10;

/// The headers of the file `path`, relative to the folder `at`. Reads steps of 4 KiB, until the
/// headers end, or name and version are known, or `max_metadata_bytes`. Code::not_found when there
/// is no such file, else Code::io or Code::denied; the message is the system's words alone.
Result<MetadataHeaders> read_metadata_headers(int at, const std::string& path);

}  // namespace gpl::host
