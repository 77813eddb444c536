#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "gpl/core/result.h"

namespace gpl::artifact {

/// Compresses with zstd. Keeps its working memory, so use one for many pieces.
class Compressor {
 public:
  Compressor() = default;
  Compressor(Compressor&& other) noexcept : context_(other.context_) { other.context_ = nullptr; }
  Compressor& operator=(Compressor&& other) noexcept;
  ~Compressor();

  /// One zstd frame that tells its content's size.
  std::string compress(std::string_view bytes);
  /// The same, or nothing where it does not pay. It pays when it saves a tenth, and a block of the
  /// file system (4 KiB). Of large pieces four samples are tried first, so that content that is
  /// compressed already costs next to nothing.
  std::optional<std::string> compress_if_it_pays(std::string_view bytes);

 private:
  void* context_ = nullptr;  // zstd's; its header stays out of ours
};

/// The content of one frame. Code::invalid when it is none, or is of more than `max_bytes`.
Result<std::string> decompress(std::string_view frame, std::size_t max_bytes);

}  // namespace gpl::artifact
