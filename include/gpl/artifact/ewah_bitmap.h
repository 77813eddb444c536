#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace gpl::artifact {

/// Reads a serialised EWAH bitmap (git's gitformat-bitmap(5), appendix A) off the front of `bytes`,
/// which it shortens. Of the bits, the first `limit` are kept. Nothing when the bytes are no such
/// bitmap, or a bit beyond `limit` is set.
std::optional<std::vector<bool>> read_ewah_bitmap(std::string_view& bytes, std::size_t limit);

}  // namespace gpl::artifact
