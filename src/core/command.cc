#include "gpl/core/command.h"

namespace gpl {
namespace {

struct Names {
  using Name = std::string_view;
  Name operator()(const command::Submit&) const { return "submit"; }
  Name operator()(const command::Place&) const { return "place"; }
  Name operator()(const command::PlaceGang&) const { return "place gang"; }
  Name operator()(const command::Start&) const { return "start"; }
  Name operator()(const command::Report&) const { return "report"; }
  Name operator()(const command::Cancel&) const { return "cancel"; }
  Name operator()(const command::Hold&) const { return "hold"; }
  Name operator()(const command::Release&) const { return "release"; }
  Name operator()(const command::PeerUp&) const { return "peer up"; }
  Name operator()(const command::PeerDown&) const { return "peer down"; }
  Name operator()(const command::PeerForgotten&) const { return "peer forgotten"; }
  Name operator()(const command::AttemptsLost&) const { return "attempts lost"; }
  Name operator()(const command::LeasesOver&) const { return "leases over"; }
  Name operator()(const command::Prune&) const { return "prune"; }
  Name operator()(const command::SetFeatureLevel&) const { return "set feature level"; }
  Name operator()(const command::SetEpoch&) const { return "set epoch"; }
};

struct Levels {
  using Level = std::uint32_t;
  Level operator()(const command::Submit& c) const { return feature_level_of(c.job.shape); }
  Level operator()(const command::Place&) const { return 1; }
  Level operator()(const command::PlaceGang&) const { return 2; }
  Level operator()(const command::Start&) const { return 1; }
  Level operator()(const command::Report&) const { return 1; }
  Level operator()(const command::Cancel&) const { return 1; }
  Level operator()(const command::Hold&) const { return 1; }
  Level operator()(const command::Release&) const { return 1; }
  Level operator()(const command::PeerUp&) const { return 1; }
  Level operator()(const command::PeerDown&) const { return 1; }
  Level operator()(const command::PeerForgotten&) const { return 1; }
  Level operator()(const command::AttemptsLost&) const { return 1; }
  Level operator()(const command::LeasesOver&) const { return 1; }
  Level operator()(const command::Prune&) const { return 1; }
  Level operator()(const command::SetFeatureLevel&) const { return 1; }
  Level operator()(const command::SetEpoch&) const { return 1; }
};

}  // namespace

std::string_view name_of(const Command& command) { return std::visit(Names{}, command); }

std::uint32_t feature_level_of(const Command& command) { return std::visit(Levels{}, command); }

}  // namespace gpl
