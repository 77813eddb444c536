#include "gpl/peer/discovery.h"

#include <algorithm>
#include <utility>

#include "gpl/core/hex.h"
#include "hex_number.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_seen = 4096;
constexpr Duration patience = seconds(30);

std::string text_of(const net::MdnsService& service, const std::string& key) {
  const auto found = service.text.find(key);
  return found == service.text.end() ? "" : found->second;
}

}  // namespace

net::MdnsService announced(PeerId peer, const std::string& fingerprint, const std::string& version,
                           std::uint16_t port) {
  const std::string id = hex(peer.value);
  return {id, port, {{"id", id}, {"key", fingerprint}, {"version", version}}};
}

std::optional<PeerId> announced_peer(const net::MdnsService& service,
                                     const std::string& fingerprint) {
  const std::uint64_t id = number_of_hex(text_of(service, "id"));
  if (id == 0 || hex(id) != service.instance || text_of(service, "key") != fingerprint)
    return std::nullopt;
  return PeerId{id};
}

void Sightings::found(PeerId peer) {
  if (seen_.size() < most_seen) seen_.insert(peer);
}

bool Sightings::check(Moment now, const std::set<PeerId>& far) {
  const bool any_seen =
      std::any_of(far.begin(), far.end(), [&](PeerId peer) { return seen_.contains(peer); });
  if (far.empty() || any_seen) {
    none_since_.reset();
    // Without anyone to see nothing is known: it stays as it was.
    if (any_seen) blocked_ = false;
    return false;
  }
  if (!none_since_) none_since_ = now;
  if (now - *none_since_ < patience) return false;
  blocked_ = true;
  return !std::exchange(told_, true);
}

Discovery::Discovery(Options options, Told told)
    : options_(std::move(options)), told_(std::move(told)) {}

Result<std::unique_ptr<Discovery>> Discovery::open(net::Loop& loop, Options options, Told told) {
  std::unique_ptr<Discovery> made(new Discovery(std::move(options), std::move(told)));
  Discovery* const self = made.get();
  net::Mdns::Told from;
  from.found = [self](const net::MdnsFound& found) { self->found(found); };
  from.gone = [self](const std::string& instance) { self->gone(instance); };
  from.note = self->told_.note;
  auto mdns = net::Mdns::open(loop, {self->options_.announce}, std::move(from));
  if (!mdns.ok()) return mdns.error();
  self->mdns_ = std::move(mdns).value();
  return made;
}

void Discovery::check(Moment now, const std::set<PeerId>& far) {
  if (!sightings_.check(now, far) || !told_.note) return;
  told_.note(
      "peers are linked that multicast DNS does not show: multicast seems to be blocked on "
      "this network. Machines that are to join need the address of one that is there: gpl "
      "worker --join=HOST:PORT");
}

void Discovery::found(const net::MdnsFound& found) {
  const std::optional<PeerId> peer = announced_peer(found.service, options_.fingerprint);
  if (!peer) {
    if (told_.stranger) told_.stranger(found);
    return;
  }
  sightings_.found(*peer);
  if (!found.addresses.empty()) told_.hint(*peer, found.addresses);
}

void Discovery::gone(const std::string& instance) {
  // By `announced_peer` the instance is the id.
  sightings_.gone(PeerId{number_of_hex(instance)});
}

}  // namespace gpl::peer
