#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "gpl/core/id.h"
#include "gpl/core/time.h"

/// Leases: what lets a leader start a task elsewhere although it cannot reach the peer that ran it.
///
/// A peer has one renewal, and every attempt with OnLoss::retry a length that is counted from it: a
/// renewal that was asked for at a moment is, for an attempt with a lease of d, good until d after
/// that moment by the holder's clock. The holder has ended the attempt by then. The ledger counts
/// d, lengthened by what clocks may differ in rate, from a later moment (when it answered), so that
/// what it calls over is over. Leases are not in the log: a renewal costs no sync.
namespace gpl {

/// What the clocks of two machines count of one stretch of time differs by at most one part in so
/// many. (A quartz clock is off by 1 in 10,000 at worst, and may be slewed by 1 in 2,000.)
inline constexpr std::int64_t clock_rate_parts = 100;

/// No lease is shorter: there must be time for silence to be noticed, and for an attempt to end.
inline constexpr Duration shortest_lease = seconds(30);

/// The lease of an attempt whose job asks for this one.
constexpr Duration effective_lease(Duration asked) {
  return asked < shortest_lease ? shortest_lease : asked;
}

/// At least what another machine's clock counts while this one's counts `d`; with what is lost by
/// counting in whole milliseconds. Requires d >= 0.
constexpr Duration across_clocks(Duration d) {
  return milliseconds(d.count_ms + (d.count_ms + clock_rate_parts - 1) / clock_rate_parts + 2);
}

/// What a machine's clocks say as an event comes in.
struct Clocks {
  Moment now;  ///< the steady one
  Instant at;  ///< the time of day
};

/// From when a renewal counts: from when it was asked for, never from when the answer came; less
/// the time, by the leader's clock, for which the leader did not know whether it still was one. So
/// a leader that was replaced meanwhile gives no more than what its successor waits for.
Moment renewal_counts_from(Moment asked_at, Duration unconfirmed);

/// The worker's side. Moments are those of its machine.
class LeaseHolder {
 public:
  LeaseHolder() = default;
  /// What a keeper that was started anew still knows.
  explicit LeaseHolder(std::optional<Moment> renewed_at) : renewed_at_(renewed_at) {}

  /// A renewal was granted. One older than the present one changes nothing.
  void renewed(Moment asked_at, Duration unconfirmed);

  /// From when the present renewal counts. Nothing: there never was one.
  std::optional<Moment> renewed_at() const { return renewed_at_; }
  /// When a lease of this length is over: no process of its attempt may be left then.
  std::optional<Moment> over_at(Duration lease) const;
  /// Also true when there never was a renewal.
  bool over(Moment now, Duration lease) const;

 private:
  std::optional<Moment> renewed_at_;
};

/// The leader's side, made anew whenever one begins to lead. Moments are those of its machine.
class LeaseLedger {
 public:
  /// Leases that earlier leaders granted count as granted at the moment of beginning.
  explicit LeaseLedger(Moment began) : began_(began) {}

  /// A renewal is being granted to the peer.
  void answered(PeerId peer, Moment now);
  /// Until when a lease of this length may still be held by the peer.
  Moment over_at(PeerId peer, Duration lease) const;
  bool over(PeerId peer, Moment now, Duration lease) const { return over_at(peer, lease) <= now; }

 private:
  Moment began_;
  std::map<PeerId, Moment> answered_;
};

}  // namespace gpl
