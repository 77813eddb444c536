#include "load_use.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gpl/core/size.h"
#include "word_list.h"

namespace gpl {
namespace {

constexpr std::size_t most_named = 4;

}  // namespace

LoadUse LoadUse::of_cpus(const PeerView& peer, std::uint64_t missing) {
  LoadUse use(missing, static_cast<std::uint64_t>(std::max(peer.cpus_held, 0)), false);
  for (const LoadHold& hold : peer.loads)
    use.add(hold, static_cast<std::uint64_t>(std::max(hold.cpus, 0)));
  return use;
}

LoadUse LoadUse::of_memory(const PeerView& peer, std::uint64_t missing_bytes) {
  LoadUse use(missing_bytes, peer.memory_held_bytes, true);
  for (const LoadHold& hold : peer.loads) use.add(hold, hold.memory_bytes);
  return use;
}

void LoadUse::add(const LoadHold& hold, std::uint64_t amount) {
  if (amount == 0) return;
  shares_.push_back({&hold, amount});
  others_ -= std::min(others_, amount);
  const auto known = std::find_if(holders_.begin(), holders_.end(),
                                  [&](const Holder& each) { return each.name == hold.holder; });
  if (known == holders_.end()) {
    holders_.push_back({hold.holder, amount, hold.since});
    return;
  }
  known->amount += amount;
  if (hold.since && (!known->since || *hold.since < *known->since)) known->since = hold.since;
}

std::string LoadUse::holders() const {
  std::vector<std::string> names;
  for (const Holder& holder : holders_) names.push_back(holder.name);
  return joined(names, ", ");
}

std::string LoadUse::amount_words(std::uint64_t amount) const {
  return is_memory_ ? format_memory_size(amount) : std::to_string(amount);
}

std::string LoadUse::described(Instant now) const {
  std::vector<std::string> parts;
  std::uint64_t others = others_;
  for (const Holder& holder : holders_) {
    if (parts.size() == most_named) {
      others += holder.amount;
      continue;
    }
    parts.push_back(amount_words(holder.amount) + (parts.empty() ? " held by " : " by ") +
                    holder.name +
                    (holder.since ? " for " + format_short(now - *holder.since) : ""));
  }
  if (parts.empty()) return "";
  if (others > 0) parts.push_back(amount_words(others) + " by others");
  return " (" + joined(parts, ", ") + ")";
}

bool LoadUse::all_must_end() const {
  std::uint64_t sum = 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const Share& share : shares_) {
    sum += share.amount;
    least = std::min(least, share.amount);
  }
  return sum - least < missing_;
}

std::string LoadUse::awaited_ends() const {
  if (holders_.empty() || holders_.size() > most_named || others_ > 0) return "";
  std::vector<std::string> names;
  for (const Holder& holder : holders_) names.push_back(holder.name);
  const bool one = names.size() == 1;
  if (all_must_end()) return in_words(names) + (one ? " ends" : " end");
  return (one ? "enough tasks of " : "enough of ") + in_words(names) + " end";
}

std::optional<Instant> LoadUse::free_by() const {
  std::vector<std::pair<Instant, std::uint64_t>> ends;
  for (const Share& share : shares_) {
    if (share.hold->ends_by) ends.emplace_back(*share.hold->ends_by, share.amount);
  }
  std::sort(ends.begin(), ends.end());
  std::uint64_t free = 0;
  for (const auto& [end, amount] : ends) {
    free += amount;
    if (free >= missing_) return end;
  }
  return std::nullopt;
}

}  // namespace gpl
