#include "gpl/core/peer_offer.h"

namespace gpl {

PeerView view_of(const PeerOffer& offer) {
  PeerView view;
  view.name = offer.name;
  view.host = offer.host;
  view.accelerators = offer.accelerators;
  view.environments = offer.environments;
  view.problems = offer.problems;
  view.labels = offer.labels;
  view.closed = offer.closed;
  return view;
}

}  // namespace gpl
