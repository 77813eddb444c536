#include "gpl/client/discovery.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "gpl/net/loop.h"
#include "gpl/net/mdns.h"
#include "gpl/net/secure_socket.h"

namespace gpl::client {
namespace {

// Anyone on the network can announce anything.
constexpr std::size_t most_addresses = 64;
constexpr std::size_t most_of_instance = 4;

/// One look around.
class Look {
 public:
  Look(net::Loop& loop, const Proof& proof, Duration at_most)
      : loop_(loop), proof_(proof), fingerprint_(proof.key.fingerprint()), at_most_(at_most) {}

  Result<std::vector<net::PeerAddress>> run() {
    net::Mdns::Told told;
    told.found = [this](const net::MdnsFound& found) { seen(found); };
    told.gone = [](const std::string&) {};
    const auto mdns = net::Mdns::open(loop_, {}, std::move(told));
    if (!mdns.ok()) return mdns.error();
    if (mdns.value()->interfaces() == 0) {
      return Error{Code::not_found, "no network here takes multicast (mDNS)"};
    }
    bool over = false;
    const net::Timer deadline = loop_.after(at_most_, [&over] { over = true; });
    while (!over && !reached_) (void)loop_.run_one(at_most_);
    if (reached_) return in_order();
    if (refused_) return *refused_;
    if (addresses_.empty()) {
      return Error{Code::not_found, "no peer of cluster " + fingerprint_ +
                                        " announces itself on this network (mDNS)"};
    }
    return unreachable_.value_or(Error{
        Code::not_found, net::to_text(addresses_.front()) + ", announced by mDNS, is silent"});
  }

 private:
  void seen(const net::MdnsFound& found) {
    const auto key = found.service.text.find("key");
    if (key == found.service.text.end() || key->second != fingerprint_) return;
    std::size_t of_instance = 0;
    for (const net::PeerAddress& address : found.addresses) {
      if (addresses_.size() >= most_addresses || of_instance == most_of_instance) return;
      if (std::find(addresses_.begin(), addresses_.end(), address) != addresses_.end()) continue;
      addresses_.push_back(address);
      ++of_instance;
      auth::Call call{proof_.key, proof_.key.role(), proof_.own, auth::Purpose::client,
                      auth::spoken_protocols};
      dials_.emplace_back(
          loop_, address, std::move(call), at_most_,
          [this, address](Result<net::SecureSocket> made) { answered(address, made); });
    }
  }

  void answered(const net::PeerAddress& address, const Result<net::SecureSocket>& made) {
    if (made.ok()) {
      if (!reached_) reached_ = address;
    } else if (made.error().code == Code::denied || made.error().code == Code::unsupported) {
      refused_ = made.error();
    } else {
      unreachable_ = made.error();
    }
  }

  std::vector<net::PeerAddress> in_order() const {
    std::vector<net::PeerAddress> ordered = addresses_;
    std::erase(ordered, *reached_);
    ordered.insert(ordered.begin(), *reached_);
    return ordered;
  }

  net::Loop& loop_;
  const Proof& proof_;
  std::string fingerprint_;
  Duration at_most_;
  std::vector<net::PeerAddress> addresses_;
  std::vector<net::SecureDialer> dials_;
  std::optional<net::PeerAddress> reached_;
  std::optional<Error> refused_;
  std::optional<Error> unreachable_;
};

}  // namespace

Result<std::vector<net::PeerAddress>> discover_peers(const Proof& proof, Duration at_most) {
  Result<std::unique_ptr<net::Loop>> loop = net::Loop::create();
  if (!loop.ok()) return std::move(loop).error();
  return Look(*loop.value(), proof, at_most).run();
}

}  // namespace gpl::client
