#include "gpl/artifact/exchange.h"

#include <utility>

namespace gpl::artifact {

Result<std::vector<Digest>> missing(const Manifest& manifest, ChunkSink& sink) {
  // So many in one question: a collection of the store has to wait for the answer.
  constexpr std::size_t at_once = 16'384;
  std::vector<Digest> absent;
  std::vector<Digest> asked;
  const auto ask = [&]() -> Status {
    Result<std::vector<Digest>> found = sink.missing(asked);
    if (!found.ok()) return std::move(found).error();
    absent.insert(absent.end(), found.value().begin(), found.value().end());
    asked.clear();
    return success();
  };
  for (const TreeEntry& entry : manifest.entries) {
    for (const Digest& id : entry.chunks) {
      asked.push_back(id);
      if (asked.size() < at_once) continue;
      if (Status answered = ask(); !answered.ok()) return std::move(answered).error();
    }
  }
  if (Status answered = ask(); !answered.ok()) return std::move(answered).error();
  return absent;
}

}  // namespace gpl::artifact
