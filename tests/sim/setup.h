#pragma once

// What a seed's cluster looks like and what befalls it: drawn from the seed, within what its
// campaign is about.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/core/time.h"
#include "gpl/raft/node.h"
#include "sim/network.h"
#include "sim/sim_committer.h"

namespace gpl::sim {

enum class Campaign { mixed, partition, crash, disk, membership, jobs };
inline constexpr std::array campaigns{Campaign::mixed, Campaign::partition,  Campaign::crash,
                                      Campaign::disk,  Campaign::membership, Campaign::jobs};
std::string_view name_of(Campaign campaign);
std::optional<Campaign> campaign_named(std::string_view name);

/// Mistakes made on purpose, to see that they are found.
enum class PlantedBug {
  none,
  forgotten_vote,  ///< a restart does not know for whom it voted
  old_term,        ///< raft::PlantedBug::commit_old_term_by_counting
  lease_answer,    ///< a lease is counted from the answer and not from the request
};
std::string_view name_of(PlantedBug bug);
std::optional<PlantedBug> planted_bug_named(std::string_view name);

enum class Fault : std::size_t {
  split,         ///< into two parts that do not hear each other
  one_way,       ///< one machine is not heard by some others
  isolate,       ///< one machine is cut off
  slow_network,  ///< late, lossy, doubling
  kill,          ///< a process is killed, and started again after a while
  power_loss,    ///< the same, and what was not synced is lost in parts
  power_loss_in_recovery,
  pause,  ///< a process is stopped, and goes on after a while as if nothing were
  disk_full,
  sync_failure,
  disk_stall,
  bit_flip,
  disk_loss,
  clock_jump,
  transfer,    ///< of leadership
  membership,  ///< a voter is replaced, one more or one less, a learner for a while
  keeper_stop,
  keeper_kill,
  worker_reboot,
  late_grant,  ///< a lease arrives seconds late, at a peer that is not heard from then on
  prune,       ///< of jobs that ended long ago
  new_epoch,   ///< as after a takeover
  count_of_faults,
};

/// Times are scaled.
struct FaultMix {
  /// How often each is drawn, relative to the others.
  std::array<std::uint32_t, static_cast<std::size_t>(Fault::count_of_faults)> weights{};
  Micros pause_low = millis(100);
  Micros pause_high = millis(2000);
  Micros partition_low = millis(100);
  Micros partition_high = secs(8);
  std::uint32_t worst_drop_ppm = 250'000;  ///< of a bad network
  Micros worst_delay = millis(300);
  /// Of the leaders that are elected, so many are felled in their first moments. 0: none.
  std::uint64_t fell_one_in = 0;

  std::uint32_t& operator[](Fault fault) { return weights[static_cast<std::size_t>(fault)]; }
};

struct Setup {
  Campaign campaign = Campaign::mixed;
  PlantedBug planted_bug = PlantedBug::none;
  std::size_t voters = 3;
  std::size_t spares = 1;       ///< machines that can become voters
  bool grows_from_one = false;  ///< the others are added one by one
  bool hasty_operator = false;  ///< asks for changes at once, and for more before they are done
  std::size_t workers = 0;      ///< machines that run attempts
  std::size_t clients = 2;
  Micros think_low = millis(20);  ///< between a client's requests
  Micros think_high = millis(400);
  /// So many submits of each client and nothing else: no job is held, cancelled, or depends on
  /// another. 0: a mixture, until it is stopped.
  std::size_t submits = 0;
  bool commands_run = false;            ///< each starts, and ends by itself with an exit code
  std::size_t longest_argument = 2000;  ///< of a command, in bytes
  Duration election_timeout = milliseconds(1000);
  Duration heartbeat = milliseconds(100);
  std::uint64_t segment_bytes = 64 * 1024;
  std::uint64_t snapshot_after_entries = 50;
  std::size_t kept_entries = 1024;  ///< before a snapshot's mark
  std::size_t long_kept_entries = 65536;
  std::size_t apply_limit_bytes = std::size_t{256} * 1024;
  std::size_t piece_bytes = 4096;  ///< of a snapshot, in one message
  std::size_t append_limit_bytes = 16 * 1024;
  NetworkQuality network;
  DiskSpeed disk;
  std::int64_t clock_ppm = 200;          ///< no clock is faster or slower than by so much
  std::uint64_t unkillable_one_in = 30;  ///< of the processes that are killed
  bool through_codec = false;
  FaultMix faults;
  Micros faults_until = secs(20);
  // When nothing fails any more: until all is well again, and at most so long without a commit.
  Micros settle_limit = secs(60);
  Micros still_limit = secs(60);

  /// A time that would do with an election timeout of a second, for the one that is.
  Micros scaled(Micros time) const { return time * election_timeout.count_ms / 1000; }
  /// Often as far off as clocks may be.
  std::int64_t draw_clock_ppm(Prng& dice) const {
    const auto off =
        dice.one_in(2)
            ? clock_ppm
            : static_cast<std::int64_t>(dice.below(static_cast<std::uint64_t>(clock_ppm) + 1));
    return dice.one_in(2) ? off : -off;
  }
};

/// Whose faults bring it to light.
Campaign campaign_that_finds(PlantedBug bug);

Setup draw_setup(Campaign campaign, std::uint64_t seed, PlantedBug bug);

}  // namespace gpl::sim
