#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl {

/// Reads a size in bytes: `512`, `16G`, `1.5GiB`. K M G T are powers of 1000, Ki Mi Gi Ti powers of
/// 1024, a B may follow; a fraction needs a unit and is rounded down to a whole byte, exactly.
/// Lower-case units are refused, since elsewhere a `g` is now 1000 and now 1024. Code::invalid,
/// with the column (from 1), for what is no size or more than 64 bits hold.
Result<std::uint64_t> parse_size(std::string_view text);

/// Memory of a machine or device: one decimal in KiB, MiB or GiB, never a larger unit, so that a
/// column of them compares at a glance: `24.0 GiB`.
std::string format_memory_size(std::uint64_t bytes);

/// A file's size, short and decimal: `12 B`, `3 KB`, `5.1 MB`, `412 MB`.
std::string format_file_size(std::uint64_t bytes);

}  // namespace gpl
