#include "gpl/peer/keeper_link.h"

#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/host/socket_path.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"
#include "keeper_process.h"

namespace gpl::peer {
namespace {

constexpr Duration dial_at_most = seconds(5);
constexpr Duration soon = milliseconds(5);
constexpr Duration later = milliseconds(500);
constexpr int eager_tries = 200;
constexpr Duration starts_within = seconds(2);
constexpr int starts_noted = 3;

}  // namespace

KeeperLink::KeeperLink(net::Loop& loop, std::string state_folder, std::string program, Told told)
    : loop_(loop),
      state_folder_(std::move(state_folder)),
      program_(std::move(program)),
      told_(std::move(told)) {}

KeeperLink::~KeeperLink() = default;

void KeeperLink::start() { dial(); }

void KeeperLink::retire() {
  retiring_ = true;
  send(wire::to_keeper::Retire{});
}

void KeeperLink::dial() {
  const Result<std::string> path = host::socket_path(state_folder_, "keeper.sock");
  if (!path.ok()) {
    told_.note("cannot reach the keeper: " + path.error().message);
    return try_again();
  }
  dialer_ =
      net::Dialer::unix_socket(loop_, path.value(), dial_at_most,
                               [this](Result<posix::Fd> socket) { dialled(std::move(socket)); });
}

void KeeperLink::dialled(Result<posix::Fd> socket) {
  if (socket.ok()) return adopt(std::move(socket).value());
  // One that was started has a while to come up, or to find that another one has.
  const Moment now = loop_.now();
  if (socket.error().code == Code::not_found && !retiring_ &&
      (!started_at_ || now - *started_at_ >= starts_within)) {
    if (Status status = start_keeper(program_, state_folder_); !status.ok())
      told_.note(status.error().message);
    started_at_ = now;
    ++failures_;
    if (++starts_ == starts_noted)
      told_.note("the keeper ends as soon as it is started: see " + state_folder_ + "/keeper.log");
  } else if (++failures_ == eager_tries) {
    told_.note("the keeper does not answer: " + socket.error().message);
  }
  try_again();
}

void KeeperLink::try_again() {
  if (retiring_) return;
  timer_ = loop_.after(failures_ < eager_tries && !strange_ ? soon : later, [this] { dial(); });
}

void KeeperLink::adopt(posix::Fd socket) {
  net::ConnectionOptions options;
  options.frame_limit_bytes = wire::frame_limit_bytes;
  auto connection =
      net::Connection::adopt(loop_, std::move(socket), options,
                             {[this](std::string_view payload) { take(payload); },
                              [this](const net::Closing& closing) { lost(closing.message); },
                              {}});
  if (!connection.ok()) return lost(connection.error().message);
  connection_.emplace(std::move(connection).value());
  connection_->send(wire::encode(wire::PeerToKeeper{
      wire::KeeperHello{wire::keeper_protocol, wire::keeper_protocol, GPL_VERSION, ""}}));
}

void KeeperLink::take(std::string_view payload) {
  auto message = wire::decode<wire::KeeperToPeer>(payload);
  if (!message.ok()) {
    told_.note("the keeper said what is no message: " + message.error().message);
    connection_->close();
    return;
  }
  if (const auto* hello = std::get_if<wire::KeeperHello>(&message.value())) {
    take_hello(*hello);
  } else if (hello_) {
    told_.message(std::move(message).value());
  }
}

void KeeperLink::take_hello(const wire::KeeperHello& hello) {
  if (hello.oldest_protocol > wire::keeper_protocol ||
      hello.newest_protocol < wire::keeper_protocol) {
    if (!std::exchange(strange_, true))
      told_.note("the keeper is of gpl " + hello.version +
                 ", which this gpl (" GPL_VERSION
                 ") does not understand: its jobs go on; end its process to go on here");
    connection_->close();
    return;
  }
  hello_ = hello;
  failures_ = 0;
  started_at_.reset();
  starts_ = 0;
  strange_ = false;
  told_.changed(true);
}

void KeeperLink::lost(const std::string& why) {
  connection_.reset();
  const bool was_connected = std::exchange(hello_, std::nullopt).has_value();
  if (was_connected) {
    if (!retiring_) told_.note("the keeper is gone" + (why.empty() ? "" : ": " + why));
    told_.changed(false);
  }
  ++failures_;
  try_again();
}

void KeeperLink::send(const wire::PeerToKeeper& message) {
  if (connection_ && hello_ && connection_->open()) connection_->send(wire::encode(message));
}

}  // namespace gpl::peer
