#include "gpl/net/mdns.h"

#include <sys/random.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "gpl/core/prng.h"
#include "interface.h"
#include "interface_watch.h"
#include "mdns_link.h"
#include "mdns_seen.h"
#include "mdns_socket.h"

namespace gpl::net {
namespace {

// As many as others keep of a host.
constexpr std::size_t most_announced = MdnsCache::most_addresses;
// A timer that is so late tells that the machine slept.
constexpr Duration slept = seconds(30);

std::vector<IpAddress> addresses_of(const Interface& interface) {
  std::vector<IpAddress> all;
  for (const InterfaceAddress& own : interface.addresses)
    if (all.size() < most_announced) all.push_back(own.address);
  return all;
}

bool has(const Interface& interface, bool v6) {
  return std::any_of(interface.addresses.begin(), interface.addresses.end(),
                     [&](const InterfaceAddress& own) { return own.address.v6 == v6; });
}

}  // namespace

struct Mdns::State : std::enable_shared_from_this<Mdns::State> {
 public:
  State(Loop& loop, std::optional<MdnsService> service, Told told, std::uint64_t seed)
      : loop_(loop), service_(std::move(service)), told_(std::move(told)), prng_(seed) {}

  Status start() {
    auto watch = InterfaceWatch::open(loop_, [this] { interfaces_changed(); });
    if (!watch.ok()) return watch.error();
    watch_ = std::move(watch).value();
    auto list = list_interfaces();
    if (!list.ok()) return list.error();
    take(std::move(list).value());
    if (!links_.empty() && usable() == 0) return Error{Code::io, first_failure_};
    schedule();
    return success();
  }

  void announce(MdnsService service) {
    service_ = std::move(service);
    for (auto& [index, link] : links_) link.mdns.announce(service_, loop_.now());
    turn();
  }

  void look() {
    for (auto& [index, link] : links_) link.mdns.look(loop_.now());
    turn();
  }

  std::size_t usable() const {
    return static_cast<std::size_t>(
        std::count_if(links_.begin(), links_.end(),
                      [](const auto& entry) { return entry.second.v4 || entry.second.v6; }));
  }

  /// The handle is gone: nothing is told any more.
  void drop() {
    dropped_ = true;
    for (auto& [index, link] : links_)
      for (const std::string& bytes : link.mdns.goodbye()) send(link, bytes);
    wake_.cancel();
    watch_.reset();
    links_.clear();
  }

 private:
  struct Link {
    Interface interface;
    MdnsLink mdns;
    std::unique_ptr<MdnsSocket> v4 = {};
    std::unique_ptr<MdnsSocket> v6 = {};
    bool noted = false;
  };

  void interfaces_changed() {
    const auto self = shared_from_this();
    auto list = list_interfaces();
    if (!list.ok()) return note(list.error().message);
    take(std::move(list).value());
    turn();
  }

  void take(Interfaces list) {
    for (auto at = links_.begin(); at != links_.end();) {
      const bool stays =
          std::any_of(list.usable.begin(), list.usable.end(), [&](const Interface& interface) {
            return interface.index == at->first && interface.name == at->second.interface.name;
          });
      if (!stays) queue(seen_.drop(at->first));
      at = stays ? std::next(at) : links_.erase(at);
    }
    const Moment now = loop_.now();
    own_ = std::move(list.own);
    for (Interface& interface : list.usable) {
      const auto [at, fresh] = links_.try_emplace(
          interface.index, Link{interface, MdnsLink(interface.name, prng_.next(), now)});
      Link& link = at->second;
      link.interface = std::move(interface);
      // A family that is new has others that have not been asked yet.
      const bool opened = open(link, false, link.v4) | open(link, true, link.v6);
      if (opened && !fresh) link.mdns.look(now);
      link.mdns.set_addresses(addresses_of(link.interface), own_, now);
      if (fresh) link.mdns.announce(service_, now);
    }
  }

  /// Opens or closes as the interface has addresses of the family. Whether it has opened.
  bool open(Link& link, bool v6, std::unique_ptr<MdnsSocket>& socket) {
    if (!has(link.interface, v6)) {
      socket.reset();
      return false;
    }
    if (socket) return false;
    const unsigned index = link.interface.index;
    auto made = MdnsSocket::open(
        loop_, index, v6,
        [weak = weak_from_this(), index, v6](std::string_view bytes, const MdnsSource& from) {
          if (const auto self = weak.lock()) self->receive(index, v6, bytes, from);
        });
    if (!made.ok()) {
      const std::string why = "cannot look for peers on " + link.interface.name + ": " +
                              made.error().message + "; name one with --join=HOST:PORT instead";
      if (first_failure_.empty()) first_failure_ = why;
      if (!std::exchange(link.noted, true)) note(why);
      return false;
    }
    socket = std::move(made).value();
    return true;
  }

  void receive(unsigned index, bool v6, std::string_view bytes, MdnsSource from) {
    const auto at = links_.find(index);
    if (dropped_ || at == links_.end()) return;
    Link& link = at->second;
    if (!on_link(link.interface, from.address)) return;
    from.own_machine = own_.count(from.address) != 0;
    MdnsSocket* socket = (v6 ? link.v6 : link.v4).get();
    if (from.own_machine && socket != nullptr && socket->is_echo(bytes)) return;
    link.mdns.receive(bytes, from, loop_.now());
    flush(index, link);
    tell();
    if (!dropped_) schedule();
  }

  /// What is due, on all links.
  void turn() {
    const auto self = shared_from_this();
    const Moment now = loop_.now();
    for (auto& [index, link] : links_) {
      link.mdns.tick(now);
      flush(index, link);
    }
    tell();
    if (!dropped_) schedule();
  }

  void flush(unsigned index, Link& link) {
    for (const MdnsPacket& packet : link.mdns.take_packets()) {
      if (!packet.to) {
        send(link, packet.bytes);
      } else if (MdnsSocket* socket = (packet.to->address.v6 ? link.v6 : link.v4).get()) {
        (void)socket->send_to(packet.bytes, *packet.to);  // who asked will ask again
      }
    }
    for (const MdnsEvent& event : link.mdns.take_events()) queue(seen_.take(index, event));
  }

  void send(Link& link, const std::string& bytes) {
    for (MdnsSocket* socket : {link.v4.get(), link.v6.get()}) {
      if (socket == nullptr) continue;
      const Status sent = socket->send(bytes);
      if (sent.ok() || dropped_ || std::exchange(link.noted, true)) continue;
      note("on " + link.interface.name + ": " + sent.error().message +
           "; peers there may not be found");
    }
  }

  void schedule() {
    std::optional<Moment> next;
    for (const auto& [index, link] : links_)
      if (const Moment wake = link.mdns.wake(); !next || wake < *next) next = wake;
    if (!next) return wake_.cancel();
    if (wake_.pending() && planned_ == *next) return;
    planned_ = *next;
    wake_ = loop_.at(planned_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->woken();
    });
  }

  void woken() {
    const Moment now = loop_.now();
    if (now - planned_ > slept)
      for (auto& [index, link] : links_) link.mdns.resume(now);
    turn();
  }

  void queue(std::vector<MdnsEvent> events) {
    for (MdnsEvent& event : events) events_.push_back(std::move(event));
  }

  void note(const std::string& text) {
    if (told_.note) told_.note(text);
  }

  /// Any of what is told may end it all, or call in here again.
  void tell() {
    const auto self = shared_from_this();
    while (!dropped_ && !events_.empty()) {
      const MdnsEvent event = std::move(events_.front());
      events_.erase(events_.begin());
      if (event.found) {
        told_.found(*event.found);
      } else {
        told_.gone(event.instance);
      }
    }
  }

  Loop& loop_;
  std::optional<MdnsService> service_;
  Told told_;
  Prng prng_;
  std::set<IpAddress> own_;
  std::map<unsigned, Link> links_;
  MdnsSeen seen_;
  std::vector<MdnsEvent> events_;
  std::string first_failure_;
  std::unique_ptr<InterfaceWatch> watch_;
  Moment planned_;
  Timer wake_;
  bool dropped_ = false;
};

Result<std::unique_ptr<Mdns>> Mdns::open(Loop& loop, MdnsOptions options, Told told) {
  assert(told.found && told.gone);
  std::uint64_t seed = 0;
  // Whatever it is, it serves: it only spreads what many would do at the same moment.
  (void)::getrandom(&seed, sizeof seed, GRND_NONBLOCK);
  auto state = std::make_shared<State>(loop, std::move(options.announce), std::move(told), seed);
  if (Status started = state->start(); !started.ok()) return started.error();
  return std::unique_ptr<Mdns>(new Mdns(std::move(state)));
}

Mdns::Mdns(std::shared_ptr<State> state) : state_(std::move(state)) {}
Mdns::~Mdns() { state_->drop(); }

void Mdns::announce(MdnsService service) { state_->announce(std::move(service)); }
void Mdns::look() { state_->look(); }
std::size_t Mdns::interfaces() const { return state_->usable(); }

}  // namespace gpl::net
