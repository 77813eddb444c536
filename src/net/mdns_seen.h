#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mdns_browser.h"

namespace gpl::net {

/// One picture of what is found on several links: an instance is told as the link has it that knows
/// it longest. Links are numbers.
class MdnsSeen {
 public:
  /// What the event changes in the picture, in events.
  std::vector<MdnsEvent> take(unsigned link, const MdnsEvent& event);
  /// The link is no more, and what was found there.
  std::vector<MdnsEvent> drop(unsigned link);

 private:
  using OnLink = std::pair<unsigned, MdnsFound>;

  std::map<std::string, std::vector<OnLink>> instances_;  ///< the first link first, never empty
};

}  // namespace gpl::net
