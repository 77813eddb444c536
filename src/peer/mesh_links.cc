#include <utility>

#include "gpl/host/power.h"
#include "gpl/wire/codec.h"
#include "mesh_state.h"
#include "tame_text.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_name_bytes = 255;
constexpr std::size_t most_version_bytes = 64;
constexpr std::size_t most_why_bytes = 2000;

/// Who has the lower id dialled it.
bool is_from_the_lower(const MeshLink& link, PeerId own) {
  return link.dialled == (own < link.hello->peer);
}

}  // namespace

void Mesh::State::entered(net::SecureSocket socket) {
  switch (socket.session.purpose) {
    case auth::Purpose::client:
    case auth::Purpose::relay:
      if (told.client) told.client(std::move(socket));
      return;
    case auth::Purpose::callback:
      return called_back(std::move(socket));
    case auth::Purpose::link:
      break;
  }
  Link link;
  link.address = {socket.remote.host, 0};
  add(std::move(socket), std::move(link));
}

/// Who has dialled speaks first: so the other can tell what to answer.
Mesh::State::Link* Mesh::State::add(net::SecureSocket socket, Link made) {
  const std::uint64_t number = ++last_number_;
  made.number = number;
  made.remote = socket.remote;
  made.local = socket.local;
  made.static_key = socket.session.remote_static;
  net::Connection::Told to;
  to.frame = [weak = weak_from_this(), number](std::string_view payload) {
    if (const auto self = weak.lock(); self && !self->closed) self->received(number, payload);
  };
  to.closed = [weak = weak_from_this(), number](const net::Closing&) {
    if (const auto self = weak.lock(); self && !self->closed) self->drop(number);
  };
  auto connection = net::Connection::adopt(loop, std::move(socket), {}, std::move(to));
  if (!connection.ok()) {
    note_once("cannot take a connection of " + net::to_text(made.remote) + ": " +
              connection.error().message);
    return nullptr;
  }
  made.connection.emplace(std::move(connection).value());
  made.deadline = loop.after(options.pace.hello_within, [weak = weak_from_this(), number] {
    if (const auto self = weak.lock(); self && !self->closed) self->drop(number);
  });
  Link& link = *(links[number] = std::make_unique<Link>(std::move(made)));
  if (link.dialled) greet(link);
  arm_tick();
  return &link;
}

Mesh::State::Link* Mesh::State::find(std::uint64_t number) {
  const auto found = links.find(number);
  return found == links.end() ? nullptr : found->second.get();
}

Mesh::State::Link* Mesh::State::find_up(PeerId peer) {
  const auto found = linked.find(peer);
  return found == linked.end() ? nullptr : find(found->second);
}

bool Mesh::State::send(Link& link, const wire::LinkMessage& message) {
  if (!link.connection->open()) return false;
  std::string bytes = wire::encode(message);
  if (bytes.size() > wire::frame_limit_bytes) return false;
  link.connection->send(std::move(bytes));
  return true;
}

void Mesh::State::greet(Link& link) {
  if (std::exchange(link.greeted, true)) return;
  own.wireless = host::is_wireless(host::SystemRoot());
  send(link, own);
}

void Mesh::State::received(std::uint64_t number, std::string_view payload) {
  Link* const link = find(number);
  if (link == nullptr || link->stage == Link::Stage::leaving) return;
  link->silence = link->since_ping = Duration{};
  auto message = wire::decode<wire::LinkMessage>(payload);
  if (!message.ok()) {
    note_once("the link with " + net::to_text(link->remote) +
              " ends: what it says makes no sense (" + message.error().message +
              "). Is it another version of gpl?");
    return drop(number);
  }
  if (link->stage == Link::Stage::greeting) return heard_first(*link, std::move(message).value());
  if (link->stage == Link::Stage::up) heard(*link, std::move(message).value());
}

void Mesh::State::heard_first(Link& link, wire::LinkMessage message) {
  if (const auto* refused = std::get_if<wire::LinkRefused>(&message)) {
    note_once(net::to_text(link.address.port != 0 ? link.address : link.remote) +
              " takes no link with this peer: " + tame_text(refused->why, most_why_bytes));
    return drop(link.number);
  }
  auto* const hello = std::get_if<wire::LinkHello>(&message);
  if (hello == nullptr) return drop(link.number);
  hello->name = tame_text(hello->name, most_name_bytes);
  hello->version = tame_text(hello->version, most_version_bytes);
  link.hello = std::move(*hello);
  if (!link.dialled) link.address.port = link.hello->port;
  judge(link);
}

void Mesh::State::heard(Link& link, wire::LinkMessage message) {
  if (const auto* ping = std::get_if<wire::Ping>(&message)) {
    send(link, wire::Pong{ping->number});
  } else if (const auto* pong = std::get_if<wire::Pong>(&message)) {
    answered(link, pong->number);
  } else if (const auto* known = std::get_if<wire::KnownPeers>(&message)) {
    take_known(link, *known);
  } else if (std::holds_alternative<wire::CallBack>(message)) {
    call_back(link);
  } else if (const auto* refused = std::get_if<wire::LinkRefused>(&message)) {
    note_once(link.hello->name + " (" + net::to_text(link.remote) +
              ") ends the link: " + tame_text(refused->why, most_why_bytes));
    drop(link.number);
  } else if (!std::holds_alternative<wire::LinkHello>(message)) {
    told.message(link.hello->peer, std::move(message));
  }
}

/// What is to become of a connection whose other end has said who it is.
void Mesh::State::judge(Link& link) {
  const wire::LinkHello& hello = *link.hello;
  link.stage = Link::Stage::greeting;
  if (hello.cluster == 0 && !link.dialled) {  // it only looks whether somebody is here
    greet(link);
    return leave(link);
  }
  if (hello.cluster != own.cluster) return refuse_foreign(link);
  if (hello.process == own.process) return met_itself(link);
  if (link.wanted && *link.wanted != hello.peer) {
    const PeerId wanted = *std::exchange(link.wanted, std::nullopt);
    book.wrong(wanted, link.address);
    redial(wanted, options.pace.least_pause);
  }
  if (hello.peer == own.peer) return met_twin(link);
  if (hello.peer.value == 0) return drop(link.number);
  if (Link* const old = find_up(hello.peer)) return judge_rival(link, *old);
  if (may_be_dialling(link)) return hold(link);
  take(link);
}

/// There is a link with that peer already. Of two with the same process the one that the lower id
/// dialled stays, which both ends see alike.
void Mesh::State::judge_rival(Link& link, Link& old) {
  if (old.hello->process == link.hello->process) {
    const bool old_stays = is_from_the_lower(old, own.peer);
    if (is_from_the_lower(link, own.peer) && !old_stays) {
      drop(old.number);
      // That may have judged it again, if it had waited.
      if (links.contains(link.number) && link.stage == Link::Stage::greeting) take(link);
      return;
    }
    if (link.dialled) {
      if (link.seed) seeds_[*link.seed].peer = link.hello->peer;
      return drop(link.number);
    }
  }
  ask(old, link);
}

/// Whether the own side has said hello on a connection that may be with the same peer, and would
/// stay: only the lower id waits for such, so that no two wait for each other.
bool Mesh::State::may_be_dialling(const Link& link) const {
  if (link.dialled || link.hello->peer < own.peer) return false;
  for (const auto& [number, other] : links) {
    if (!other->dialled || other->stage != Link::Stage::greeting) continue;
    if (other->wanted ? *other->wanted == link.hello->peer : other->remote.host == link.remote.host)
      return true;
  }
  return false;
}

void Mesh::State::hold(Link& link) {
  link.stage = Link::Stage::held;
  link.connection->pause();
}

/// The old link may be dead without that this side knows, as after a power loss over there.
void Mesh::State::ask(Link& old, Link& newcomer) {
  newcomer.stage = Link::Stage::asking;
  newcomer.connection->pause();
  newcomer.asked = old.number;
  newcomer.ping = ++last_ping_;
  send(old, wire::Ping{newcomer.ping});
  const Moment due = loop.now() + options.pace.pong_within;
  newcomer.deadline = loop.at(due, [weak = weak_from_this(), number = newcomer.number, due] {
    if (const auto self = weak.lock(); self && !self->closed) self->give_way(number, due);
  });
}

void Mesh::State::give_way(std::uint64_t number, Moment due) {
  Link* const newcomer = find(number);
  if (newcomer == nullptr || newcomer->stage != Link::Stage::asking) return;
  Link* const old = find(newcomer->asked);
  // If this loop stood still, the answer may be here, unread.
  const bool is_late = loop.now() - due > options.pace.pong_within;
  if (old != nullptr && is_late) return ask(*old, *newcomer);
  if (old == nullptr) return judge(*newcomer);
  drop(old->number);  // which judges the newcomer
}

void Mesh::State::answered(Link& old, std::uint64_t ping) {
  for (const auto& [number, link] : links) {
    if (link->stage != Link::Stage::asking || link->asked != old.number || link->ping != ping)
      continue;
    link->connection->resume();
    if (link->hello->process != old.hello->process) return refuse_copy(*link, old);
    if (link->dialled) return drop(number);
    greet(*link);
    return refuse(*link, "there is a link already");
  }
}

void Mesh::State::refuse(Link& link, const std::string& why) {
  send(link, wire::LinkRefused{why});
  leave(link);
}

void Mesh::State::leave(Link& link) {
  link.stage = Link::Stage::leaving;
  link.deadline.cancel();
  link.connection->close_after_writing();
}

void Mesh::State::refuse_foreign(Link& link) {
  const wire::LinkHello& hello = *link.hello;
  if (hello.cluster == 0) return drop(link.number);
  const std::string why =
      hello.name + " (" + net::to_text(link.address) + ") is of cluster " +
      short_name(hello.cluster) + ", and " + own.name + " (" + where(link.local) +
      ") is of cluster " + short_name(own.cluster) +
      ", though both have the same key. To make them one, choose one, and on each machine of the "
      "other run `gpl leave` and then `gpl worker --join`";
  note_once(why);
  refuse(link, why);
}

/// Two processes say that they are the same peer, and both live: they use copies of one folder.
void Mesh::State::refuse_copy(Link& link, Link& old) {
  const wire::LinkHello& hello = *link.hello;
  const std::string first = net::to_text(old.address.port != 0 ? old.address : old.remote);
  const std::string second = net::to_text(link.address.port != 0 ? link.address : link.remote);
  const std::string why =
      "two processes are the same peer, " + hello.name + ": one at " + first + ", the other at " +
      second + ", from copies of one state folder. The link with " + first +
      " stays. Stop the other, remove the folder `peer` from its state folder, and join anew: gpl "
      "worker --join";
  note_once(why);
  // They are to settle it between them.
  const AddressReach reach = reach_of(link.address.host);
  if (link.address.port != 0 && (reach == AddressReach::wide || reach == reach_of(old.remote.host)))
    send(old, wire::KnownPeers{{{hello.peer, hello.name, {net::to_text(link.address)}}}});
  refuse(link, why);
}

void Mesh::State::met_itself(Link& link) {
  if (!link.dialled) {
    greet(link);
    return leave(link);
  }
  if (link.seed) seeds_[*link.seed].peer = own.peer;
  if (link.wanted) {
    book.wrong(*link.wanted, link.address);
    redial(*std::exchange(link.wanted, std::nullopt), options.pace.least_pause);
  }
  drop(link.number);
}

void Mesh::State::met_twin(Link& link) {
  const wire::LinkHello& hello = *link.hello;
  const std::string there = net::to_text(link.address.port != 0 ? link.address : link.remote);
  const std::string here = where(link.local);
  const bool is_later =
      std::pair(own.process_began, own.process) > std::pair(hello.process_began, hello.process);
  if (!link.dialled) greet(link);
  leave(link);
  if (!is_later) {
    if (std::exchange(noted_twin_, hello.process) != hello.process)
      note("another gpl at " + there + " uses a copy of this peer's state folder. This one, at " +
           here + ", goes on, since it began before; that one ends");
    return;
  }
  if (told.twin && !std::exchange(twin_told_, true))
    told.twin(Error{Code::busy,
                    "another gpl is this peer already: it is at " + there + ", and this one at " +
                        here + ", both with copies of one state folder. Remove " +
                        options.state_folder +
                        "/peer here and join anew (gpl worker --join), or stop the other first"});
}

void Mesh::State::drop(std::uint64_t number) {
  auto node = links.extract(number);
  if (node.empty()) return;
  Link& link = *ended_.emplace_back(std::move(node.mapped()));
  loop.at_end_of_turn([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->ended_.clear();
  });
  link.connection->close();
  link.deadline.cancel();
  const Link::Stage was = std::exchange(link.stage, Link::Stage::leaving);
  if (was == Link::Stage::up) {
    linked.erase(link.hello->peer);
    if (told.down) told.down(link.hello->peer);
    if (closed) return;
  }
  after_end(link, was);
}

void Mesh::State::after_end(const Link& link, Link::Stage was) {
  std::vector<std::uint64_t> waiting;
  for (const auto& [number, other] : links) {
    if (other->stage == Link::Stage::held ||
        (other->stage == Link::Stage::asking && other->asked == link.number))
      waiting.push_back(number);
  }
  for (const std::uint64_t number : waiting) {
    if (Link* const other = find(number); other != nullptr && !closed) judge(*other);
  }
  if (closed) return;
  if (was != Link::Stage::up) return retry(link);
  redial(link.hello->peer, pause_after(0));
  if (linked.empty()) dial_seeds();
}

}  // namespace gpl::peer
