#include "mdns_seen.h"

#include <algorithm>

namespace gpl::net {

std::vector<MdnsEvent> MdnsSeen::take(unsigned link, const MdnsEvent& event) {
  std::vector<OnLink>& links = instances_[event.instance];
  std::optional<MdnsFound> before;
  if (!links.empty()) before = links.front().second;
  const auto at =
      std::find_if(links.begin(), links.end(), [&](const OnLink& on) { return on.first == link; });
  if (!event.found) {
    if (at != links.end()) links.erase(at);
  } else if (at != links.end()) {
    at->second = *event.found;
  } else {
    links.emplace_back(link, *event.found);
  }
  std::optional<MdnsFound> after;
  if (!links.empty()) {
    after = links.front().second;
  } else {
    instances_.erase(event.instance);
  }
  if (before == after) return {};
  return {MdnsEvent{event.instance, std::move(after)}};
}

std::vector<MdnsEvent> MdnsSeen::drop(unsigned link) {
  std::vector<std::string> names;
  for (const auto& [name, links] : instances_) names.push_back(name);
  std::vector<MdnsEvent> events;
  for (const std::string& name : names)
    for (MdnsEvent& event : take(link, {name, std::nullopt})) events.push_back(std::move(event));
  return events;
}

}  // namespace gpl::net
