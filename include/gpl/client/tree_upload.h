#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/artifact/chunk.h"
#include "gpl/artifact/manifest.h"
#include "gpl/artifact/selection.h"
#include "gpl/client/session.h"
#include "gpl/client/voice.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"

namespace gpl::client {

/// The store of the peer at the other end of a session, for as long as that connection lives:
/// Code::busy once it is another one.
class PeerStore : public artifact::ChunkSink {
 public:
  explicit PeerStore(Session& session) : session_(session), connection_(session.connection()) {}

  Result<std::vector<artifact::Digest>> missing(const std::vector<artifact::Digest>& ids) override;
  Status put(const artifact::Chunk& chunk) override;
  /// Puts the manifest of what was put. Nothing when the peer lacks chunks of it after all.
  Result<std::optional<ContentId>> commit(const artifact::Manifest& manifest);

 private:
  Status still_there() const;

  Session& session_;
  std::uint32_t connection_;
};

/// Sees to it that the peer has these files of `source` as a tree, and returns its id: "" when
/// nothing was selected. What has not changed since the last time (`cache_folder`) is neither read
/// nor sent. The tree stays there for as long as the connection lives; when that is lost meanwhile
/// it begins again.
Result<ContentId> upload_tree(Session& session, const std::string& source,
                              const artifact::Selection& selection, const std::string& cache_folder,
                              const Voice& voice);

}  // namespace gpl::client
