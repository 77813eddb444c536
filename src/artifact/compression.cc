#include "gpl/artifact/compression.h"

#include <zstd.h>

#include <cassert>
#include <utility>

namespace gpl::artifact {
namespace {

constexpr int level = 1;  // a submit waits for it
constexpr std::size_t block_bytes = 4096;
constexpr std::size_t sample_bytes = 16 << 10;
constexpr std::size_t samples = 4;

bool pays(std::size_t before, std::size_t after) {
  return after + before / 10 <= before && after + block_bytes <= before;
}

std::string sample_of(std::string_view bytes) {
  std::string sample;
  for (std::size_t i = 0; i < samples; ++i)
    sample += bytes.substr((bytes.size() - sample_bytes) / (samples - 1) * i, sample_bytes);
  return sample;
}

}  // namespace

Compressor& Compressor::operator=(Compressor&& other) noexcept {
  std::swap(context_, other.context_);
  return *this;
}

Compressor::~Compressor() { ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(context_)); }

std::string Compressor::compress(std::string_view bytes) {
  if (context_ == nullptr) context_ = ZSTD_createCCtx();
  assert(context_ != nullptr);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(context_), frame.data(),
                                             frame.size(), bytes.data(), bytes.size(), level);
  assert(!ZSTD_isError(size));  // the bound holds
  frame.resize(size);
  return frame;
}

std::optional<std::string> Compressor::compress_if_it_pays(std::string_view bytes) {
  if (bytes.size() <= block_bytes) return std::nullopt;
  if (bytes.size() > 2 * samples * sample_bytes &&
      !pays(samples * sample_bytes, compress(sample_of(bytes)).size())) {
    return std::nullopt;
  }
  std::string frame = compress(bytes);
  if (!pays(bytes.size(), frame.size())) return std::nullopt;
  return frame;
}

Result<std::string> decompress(std::string_view frame, std::size_t max_bytes) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > max_bytes)
    return Error{Code::invalid, "is no zstd frame of a size that is allowed"};
  std::string bytes(size, '\0');
  const std::size_t got = ZSTD_decompress(bytes.data(), bytes.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) || got != bytes.size())
    return Error{Code::invalid, "cannot be decompressed"};
  return bytes;
}

}  // namespace gpl::artifact
