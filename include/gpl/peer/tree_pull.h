#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "gpl/artifact/chunk_store.h"
#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/loop.h"
#include "gpl/peer/far_sessions.h"
#include "gpl/peer/pool.h"
#include "gpl/peer/tree_pins.h"

namespace gpl::peer {

struct PullLimits {
  Duration silence = seconds(30);  ///< of a holder; then it is another one's turn
  Duration look = seconds(60);     ///< without any progress; then it is given up
  Duration look_again = seconds(2);
  std::size_t outstanding = 8;  ///< chunks asked for at a time
};

/// Brings trees to this peer's store from others that have them: the manifest, then the chunks that
/// are missing here, a few at a time; each is checked by its name. What breaks off goes on with the
/// next holder, and what has come stays.
class TreePulls {
 public:
  struct Around {
    net::Loop& loop;
    Pool& pool;
    const artifact::ChunkStore& store;
    TreePins& pins;
    FarSessions& far;
    /// Linked peers that have the tree whole, the best first: asks them. Told from the loop.
    std::function<void(const ContentId& tree, std::function<void(std::vector<PeerId>)> told)>
        find_holders;
  };
  using Done = std::function<void(Status)>;

  explicit TreePulls(Around around, PullLimits limits = {});
  ~TreePulls();
  TreePulls(const TreePulls&) = delete;
  TreePulls& operator=(const TreePulls&) = delete;

  /// Sees to it that the tree is whole here and pinned (as of client `pin`, until `release`). At
  /// once when it is. `from`: who has it, asked first; others are looked for when there is none or
  /// it fails, again and again for a minute. Code::not_found: nobody has it; Code::invalid: that is
  /// no tree; Code::io: this disk. Two who ask for one tree share the work. `done` is told once,
  /// from the loop.
  void bring(const ContentId& tree, std::optional<PeerId> from, std::uint64_t pin, Done done);
  /// What was asked for with this pin need not be kept any more, and what is still being brought
  /// for it alone is given up, and not told.
  void release(std::uint64_t pin);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpl::peer
