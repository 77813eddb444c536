#include "gpl/net/connection.h"

#include <utility>

#include "connection_state.h"

namespace gpl::net {

Result<Connection> Connection::adopt(Loop& loop, posix::Fd socket, ConnectionOptions options,
                                     Told told) {
  auto state = std::make_shared<State>(loop.state_, std::move(socket), options, std::move(told));
  if (const Status started = state->start(); !started.ok()) return started.error();
  return Connection(std::move(state));
}

Result<Connection> Connection::adopt(Loop& loop, SecureSocket socket, ConnectionOptions options,
                                     Told told) {
  auto state =
      std::make_shared<State>(loop.state_, std::move(socket.socket), options, std::move(told));
  state->secure(std::move(socket.session.channel));
  if (const Status started = state->start(); !started.ok()) return started.error();
  return Connection(std::move(state));
}

Connection::Connection(std::shared_ptr<State> state) : state_(std::move(state)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&& other) noexcept {
  if (state_ != nullptr && this != &other) state_->drop();
  state_ = std::move(other.state_);
  return *this;
}
Connection::~Connection() {
  if (state_ != nullptr) state_->drop();
}

void Connection::send(std::string payload) { state_->send(std::move(payload)); }
std::size_t Connection::queued_bytes() const { return state_->queued_bytes(); }
bool Connection::open() const { return state_->open(); }
void Connection::pause() { state_->pause(); }
void Connection::resume() { state_->resume(); }
void Connection::set_frame_limit(std::size_t bytes) { state_->set_frame_limit(bytes); }
void Connection::close() { state_->end(CloseCause::here, "closed"); }
void Connection::close_after_writing() { state_->finish(); }
int Connection::descriptor() const { return state_->descriptor(); }

}  // namespace gpl::net
