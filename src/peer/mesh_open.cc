#include <fcntl.h>

#include <charconv>
#include <utility>

#include "gpl/host/power.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/file.h"
#include "mesh_state.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_noted = 256;

Error with_way_out(Error error) {
  if (error.code == Code::busy)
    error.message +=
        ". Another program listens there: stop it, or choose another with --listen "
        "ADDRESS:PORT";
  return error;
}

/// STATE/peer/port: the free port that it listened at the last time; 0: none is known.
std::uint16_t read_port(const std::string& state) {
  const Result<std::string> text = posix::read_file_at(AT_FDCWD, state + "/peer/port", 16);
  std::uint16_t port = 0;
  if (text.ok())
    std::from_chars(text.value().data(), text.value().data() + text.value().size(), port);
  return port;
}

void keep_port(const std::string& state, std::uint16_t port) {
  const Result<posix::Fd> folder = posix::open_folder(state + "/peer");
  if (folder.ok())
    (void)posix::replace_file_at(folder.value().get(), "port", std::to_string(port),
                                 posix::Durability::none);
}

}  // namespace

Mesh::State::State(net::Loop& on, MeshOptions given, Told teller)
    : loop(on), options(std::move(given)), told(std::move(teller)), book(options.state_folder) {}

Status Mesh::State::start(std::uint64_t process) {
  random_ = Prng(process);
  own.peer = options.identity.peer;
  own.cluster = options.identity.cluster;
  own.name = options.identity.name;
  own.version = options.version;
  own.process = process;
  own.process_began = posix::wall_clock();
  own.on_battery = host::has_battery(host::SystemRoot());
  if (Status loaded = book.load(); !loaded.ok()) note(loaded.error().message);
  if (Status listening = listen(); !listening.ok()) return listening;
  last_tick_ = last_save_ = loop.now();
  discover();
  for (const net::PeerAddress& seed : options.seeds) seeds_.emplace_back().said = seed;
  dial_seeds();
  for (const PeerId peer : book.peers()) {
    if (peer != own.peer) redial(peer, Duration{});
  }
  return success();
}

Result<net::Listener> Mesh::State::listen_at(const net::PeerAddress& address) {
  net::Listener::Told to;
  to.accepted = [weak = weak_from_this()](posix::Fd socket, const net::PeerAddress& from) {
    const auto self = weak.lock();
    if (self && !self->closed && self->gate) self->gate->take(std::move(socket), from);
  };
  to.note = [weak = weak_from_this()](const std::string& text) {
    if (const auto self = weak.lock(); self && !self->closed) self->note(text);
  };
  return net::Listener::listen_tcp(loop, address, std::move(to));
}

/// The one that it had before, where others look for it, if that is free.
Result<net::Listener> Mesh::State::listen_at_any_port(const std::string& host) {
  const std::uint16_t before = read_port(options.state_folder);
  auto made = listen_at({host, before});
  if (!made.ok() && before != 0) made = listen_at({host, 0});
  if (made.ok()) keep_port(options.state_folder, made.value().address().port);
  return made;
}

Result<net::Listener> Mesh::State::listen_anywhere() {
  std::string any = "::";
  auto made = listen_at({any, net::default_port});
  if (!made.ok() && made.error().code != Code::busy) {
    any = "0.0.0.0";  // a machine without IPv6
    made = listen_at({any, net::default_port});
  }
  if (made.ok() || made.error().code != Code::busy) return made;
  const std::uint16_t before = read_port(options.state_folder);
  made = listen_at_any_port(any);
  if (made.ok() && made.value().address().port != before)
    note("port " + std::to_string(net::default_port) +
         " is taken by another program: this peer listens on port " +
         std::to_string(made.value().address().port) +
         " instead. Where multicast does not reach, others need to be told so, or --listen "
         "ADDRESS:PORT chooses one that stays");
  return made;
}

Status Mesh::State::listen() {
  net::Gate::Told to;
  to.entered = weakly(&State::entered);
  to.note = [weak = weak_from_this()](const std::string& text) {
    if (const auto self = weak.lock(); self && !self->closed) self->note(text);
  };
  gate.emplace(loop, auth::Answering{options.key, options.own}, net::GateLimits{}, std::move(to));
  const bool is_any_port = options.listen && options.listen->port == 0;
  auto made = is_any_port      ? listen_at_any_port(options.listen->host)
              : options.listen ? listen_at(*options.listen)
                               : listen_anywhere();
  if (!made.ok()) return with_way_out(std::move(made).error());
  listener.emplace(std::move(made).value());
  own.port = listener->address().port;
  return success();
}

void Mesh::State::discover() {
  if (!options.mdns) return;
  Discovery::Options look;
  look.fingerprint = options.key.fingerprint();
  look.announce = announced(own.peer, look.fingerprint, own.version, own.port);
  Discovery::Told to;
  to.hint = [weak = weak_from_this()](PeerId peer, const std::vector<net::PeerAddress>& where) {
    const auto self = weak.lock();
    if (!self || self->closed) return;
    if (peer == self->own.peer) return self->dial_twin(where);
    for (const net::PeerAddress& address : where) self->book.hinted(peer, address);
    self->hint(peer, false);
  };
  to.note = [weak = weak_from_this()](const std::string& text) {
    if (const auto self = weak.lock(); self && !self->closed) self->note(text);
  };
  auto made = Discovery::open(loop, std::move(look), std::move(to));
  if (!made.ok())
    return note("this peer is not announced, and finds no others by itself: " +
                made.error().message);
  discovery = std::move(made).value();
}

void Mesh::State::close() {
  closed = true;
  (void)book.save();
  discovery.reset();
  listener.reset();
  gate.reset();
  tick_.cancel();
  for (auto& [peer, target] : targets_) target.next.cancel();
  for (MeshSeed& seed : seeds_) seed.target.next.cancel();
  for (auto& [number, relay] : relays_) relay.timer.cancel();
  // What runs now may be one of these: they go with the state. Their sockets close at once.
  for (auto& [number, link] : links) {
    link->deadline.cancel();
    link->connection->close();
  }
}

void Mesh::State::note(const std::string& text) const {
  if (!closed && told.note) told.note(text);
}

void Mesh::State::note_once(const std::string& text) {
  if (noted_.size() >= most_noted) noted_.clear();
  if (noted_.insert(text).second) note(text);
}

/// Of this peer, at the address of a route.
std::string Mesh::State::where(const net::PeerAddress& address) const {
  return net::to_text({address.host, own.port});
}

}  // namespace gpl::peer
