#include "gpl/peer/mesh.h"

#include <utility>

#include "drawn_number.h"
#include "mesh_state.h"
#include "own_address.h"

namespace gpl::peer {

Result<std::unique_ptr<Mesh>> Mesh::open(net::Loop& loop, MeshOptions options, Told told) {
  const Result<std::uint64_t> process = drawn_number();
  if (!process.ok()) return process.error();
  auto state = std::make_shared<State>(loop, std::move(options), std::move(told));
  if (Status started = state->start(process.value()); !started.ok()) return started.error();
  return std::unique_ptr<Mesh>(new Mesh(std::move(state)));
}

Mesh::Mesh(std::shared_ptr<State> state) : state_(std::move(state)) {}
Mesh::~Mesh() { state_->close(); }

bool Mesh::is_up(PeerId peer) const { return state_->linked.contains(peer); }

std::vector<PeerId> Mesh::up() const {
  std::vector<PeerId> all;
  for (const auto& [peer, number] : state_->linked) all.push_back(peer);
  return all;
}

bool Mesh::send(PeerId peer, wire::LinkMessage message) {
  MeshLink* const link = state_->find_up(peer);
  return link != nullptr && state_->send(*link, message);
}

const wire::LinkHello* Mesh::hello_of(PeerId peer) const {
  const MeshLink* const link = state_->find_up(peer);
  return link == nullptr ? nullptr : &*link->hello;
}

std::optional<net::PeerAddress> Mesh::address_of(PeerId peer) const {
  const MeshLink* const link = state_->find_up(peer);
  if (link == nullptr || link->address.port == 0) return std::nullopt;
  return link->address;
}

std::optional<PeerId> Mesh::peer_of(const auth::KeyBytes& static_public) const {
  for (const PeerId peer : up())
    if (state_->find_up(peer)->static_key == static_public) return peer;
  return std::nullopt;
}

void Mesh::dial(PeerId peer, Dialled done) { state_->dial(peer, std::move(done)); }

std::uint16_t Mesh::port() const { return state_->own.port; }

std::string Mesh::shown_address() const {
  net::PeerAddress shown{"", port()};
  const std::string& listening = state_->listener->address().host;
  if (reach_of(listening) != AddressReach::nowhere) shown.host = listening;
  for (const auto& [peer, number] : state_->linked) {
    const MeshLink* const link = state_->find_up(peer);
    if (shown.host.empty() && reach_of(link->local.host) == AddressReach::wide)
      shown.host = link->local.host;
  }
  if (shown.host.empty()) shown.host = own_address();
  if (shown.host.empty()) shown.host = "localhost";
  return net::to_text(shown);
}

void Mesh::forget(PeerId peer) {
  state_->book.forget(peer);
  state_->stop_dialling(peer);
  state_->forget_undialled(peer);
}

bool Mesh::multicast_is_blocked() const {
  return state_->discovery && state_->discovery->sightings().is_blocked();
}

std::size_t Mesh::seen_by_mdns() const {
  return state_->discovery ? state_->discovery->sightings().count() : 0;
}

}  // namespace gpl::peer
