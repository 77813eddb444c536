#include "gpl/core/lease.h"

#include <algorithm>

namespace gpl {

Moment renewal_counts_from(Moment asked_at, Duration unconfirmed) {
  if (unconfirmed <= milliseconds(0)) return asked_at;
  return asked_at + milliseconds(-across_clocks(unconfirmed).count_ms);
}

void LeaseHolder::renewed(Moment asked_at, Duration unconfirmed) {
  const Moment counts_from = renewal_counts_from(asked_at, unconfirmed);
  renewed_at_ = renewed_at_ ? std::max(*renewed_at_, counts_from) : counts_from;
}

std::optional<Moment> LeaseHolder::over_at(Duration lease) const {
  if (!renewed_at_) return std::nullopt;
  return *renewed_at_ + lease;
}

bool LeaseHolder::over(Moment now, Duration lease) const {
  return !renewed_at_ || *over_at(lease) <= now;
}

void LeaseLedger::answered(PeerId peer, Moment now) {
  const auto [entry, added] = answered_.try_emplace(peer, now);
  if (!added) entry->second = std::max(entry->second, now);
}

Moment LeaseLedger::over_at(PeerId peer, Duration lease) const {
  const auto entry = answered_.find(peer);
  return (entry == answered_.end() ? began_ : entry->second) + across_clocks(lease);
}

}  // namespace gpl
