#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/attempt.h"
#include "gpl/core/id.h"
#include "gpl/core/result.h"
#include "gpl/host/kept_output.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {

/// Of which attempt something is a copy.
struct MirrorSubject {
  Fence fence;
  JobId job;
  TaskId task;
  PeerId worker;
  friend bool operator==(const MirrorSubject&, const MirrorSubject&) = default;
};

/// The copies on disk, STATE/mirrors/EPOCH.NUMBER each:
///
///   about                    its MirrorSubject, as a Record; written first
///   stdout, stderr, skipped  as the keeper has them (host::KeptOutput)
///   over                     wire::encode of the AttemptOver, once the copy is complete and synced
///
/// What is removed is first renamed to removed-EPOCH.NUMBER.
class MirrorFolders {
 public:
  explicit MirrorFolders(const std::string& state_folder) : path_(state_folder + "/mirrors") {}

  std::string path_of(const Fence& fence) const;
  /// Of a copy that has begun, or begins so.
  Result<host::KeptOutput> open(const MirrorSubject& subject, std::uint64_t cap_bytes) const;

  struct Found {
    MirrorSubject subject;
    std::array<std::uint64_t, 2> bytes{};  ///< of the two streams
    std::optional<wire::AttemptOver> over;
  };
  /// All that there are. Those that do not say what they are, and what was to be removed, are named
  /// in `leftovers`, to be given to `remove`.
  Result<std::vector<Found>> list(std::vector<std::string>& leftovers) const;

  /// The output is on disk, and so is that this is all. May take long.
  Status complete(const host::KeptOutput& output, const MirrorSubject& subject,
                  const wire::AttemptOver& over) const;

  /// The name that it has from then on, to be given to `remove`. "": there is none.
  std::string move_away(const Fence& fence) const;
  /// May take long.
  void remove(const std::string& name) const;

 private:
  Result<Found> look(const std::string& name) const;

  std::string path_;
};

}  // namespace gpl::peer
