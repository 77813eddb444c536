// peer_submit SOCKET COUNT WINDOW: submits COUNT held jobs to a running peer over one connection,
// WINDOW of them unanswered at a time, and prints how many a second were acknowledged. peer.py
// starts the peer.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "gpl/net/connection.h"
#include "gpl/net/dialer.h"
#include "gpl/net/loop.h"
#include "gpl/wire/codec.h"

using namespace gpl;

namespace {

class Burst {
 public:
  Burst(net::Loop& loop, std::uint64_t count, std::uint64_t window)
      : loop_(loop), count_(count), window_(window) {}

  void adopt(posix::Fd socket) {
    net::ConnectionOptions options;
    options.frame_limit_bytes = wire::frame_limit_bytes;
    auto made =
        net::Connection::adopt(loop_, std::move(socket), options,
                               {[this](std::string_view payload) { take(payload); },
                                [this](const net::Closing& closing) {
                                  std::fprintf(stderr, "closed: %s\n", closing.message.c_str());
                                  loop_.stop();
                                },
                                {}});
    if (!made.ok()) return loop_.stop();
    connection_.emplace(std::move(made).value());
    send(0, wire::Hello{wire::client_protocol, wire::client_protocol, "bench"});
  }
  std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  void send(std::uint32_t question, wire::Question body) {
    connection_->send(wire::encode(wire::ClientMessage{question, std::move(body)}));
  }
  void take(std::string_view payload) {
    const auto message = wire::decode<wire::PeerMessage>(payload);
    if (!message.ok()) return loop_.stop();
    if (std::holds_alternative<wire::Submitted>(message.value().body)) ++acknowledged_;
    if (const auto* refused = std::get_if<wire::Refused>(&message.value().body)) {
      std::fprintf(stderr, "refused: %s\n", refused->message.c_str());
      return loop_.stop();
    }
    if (acknowledged_ == count_) return loop_.stop();
    while (sent_ < count_ && sent_ - acknowledged_ < window_) submit();
  }
  void submit() {
    wire::SubmitJob job;
    job.request = {0x62656e6368, ++sent_};
    job.job.spec.command = {"/bin/true"};
    job.job.spec.folder = "/";
    job.job.held = true;
    send(static_cast<std::uint32_t>(sent_), std::move(job));
  }

  net::Loop& loop_;
  std::uint64_t count_;
  std::uint64_t window_;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::optional<net::Connection> connection_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::puts("peer_submit SOCKET COUNT WINDOW: run by peer.py, which starts a peer");
    return 0;
  }
  auto loop = net::Loop::create();
  if (!loop.ok()) return 1;
  const auto count = std::strtoull(argv[2], nullptr, 10);
  Burst submitter(*loop.value(), count, std::strtoull(argv[3], nullptr, 10));
  const auto dialer =
      net::Dialer::unix_socket(*loop.value(), argv[1], seconds(5), [&](Result<posix::Fd> socket) {
        if (!socket.ok()) return loop.value()->stop();
        submitter.adopt(std::move(socket).value());
      });
  const auto began = std::chrono::steady_clock::now();
  loop.value()->run();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  std::printf("%llu of %llu acknowledged, window %s: %.0f a second\n",
              static_cast<unsigned long long>(submitter.acknowledged()), count, argv[3],
              static_cast<double>(submitter.acknowledged()) / taken.count());
  return submitter.acknowledged() == count ? 0 : 1;
}
