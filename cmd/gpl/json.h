#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gpl/artifact/entry.h"

namespace gpl::cmd {

using Json = nlohmann::ordered_json;

/// The object's text with a newline; bytes that are no UTF-8 become U+FFFD.
inline std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// {"path", "bytes"} of a file; a link has no bytes.
Json file_json(const artifact::Entry& entry);

}  // namespace gpl::cmd
