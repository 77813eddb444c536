#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/result.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/frame.h"
#include "gpl/wire/keeper_message.h"
#include "readiness.h"

namespace gpl::host {

/// A connection to the keeper. Never blocks: what a peer does not take is queued, up to a limit.
class KeeperLink {
 public:
  /// Of what is queued: a peer that is this far behind has to connect anew.
  static constexpr std::size_t limit_bytes = std::size_t{64} * 1024 * 1024;

  KeeperLink(Readiness& readiness, posix::Fd socket);
  KeeperLink(const KeeperLink&) = delete;
  ~KeeperLink();

  /// Once the peer's hello has come: longer messages may.
  void greeted() { reader_.set_limit(wire::frame_limit_bytes); }
  void send(const wire::KeeperToPeer& message);
  /// Writes as much as the socket takes.
  void flush();
  /// What has come since, in order.
  std::vector<wire::PeerToKeeper> take_messages();
  void drop() { fail(""); }
  /// Nothing can be sent or will come any more; with words when it was its fault.
  bool broken() const { return broken_; }
  const std::string& why() const { return why_; }

 private:
  void receive();
  void take_frames();
  void fail(std::string why);

  Readiness& readiness_;
  posix::Fd socket_;
  wire::FrameReader reader_{wire::hello_limit_bytes};
  wire::FrameWriter writer_;
  std::vector<wire::PeerToKeeper> messages_;
  bool hello_came_ = false;
  bool broken_ = false;
  std::string why_;
};

/// The keeper's socket, with who may come in: this user and root.
class KeeperSocket {
 public:
  /// In the state folder, of which no other keeper may be. Removes what an earlier one left.
  static Result<KeeperSocket> open(const std::string& state_folder);
  KeeperSocket(KeeperSocket&& other) noexcept = default;
  KeeperSocket& operator=(KeeperSocket&&) = delete;
  ~KeeperSocket();

  int descriptor() const { return socket_.get(); }
  /// The next connection of who may come in; none: invalid.
  posix::Fd accept() const;

 private:
  KeeperSocket(posix::Fd socket, std::string path)
      : socket_(std::move(socket)), path_(std::move(path)) {}

  posix::Fd socket_;
  std::string path_;
};

}  // namespace gpl::host
