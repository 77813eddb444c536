#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/result.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// At most `size_bytes` of the file at `path` below an attempt's `files`, from `offset` on; of a
/// link its target. Never follows a link. Code::not_found; invalid for a path that may not be; io.
Result<wire::FilePiece> read_result(const std::string& attempts_folder, const Fence& fence,
                                    const std::string& path, std::uint64_t offset,
                                    std::uint32_t size_bytes);

/// Removes them, and the folders that this leaves empty. What is not there is no error.
Status remove_results(const std::string& attempts_folder, const Fence& fence,
                      const std::vector<std::string>& paths);

}  // namespace gpl::peer
