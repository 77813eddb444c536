#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "gpl/net/connection.h"
#include "gpl/net/dialer.h"
#include "gpl/net/loop.h"
#include "gpl/wire/keeper_message.h"

namespace gpl::peer {

/// The peer's connection to its keeper: finds the one that runs, or starts one, and does so again
/// whenever it is gone.
class KeeperLink {
 public:
  struct Told {
    std::function<void(wire::KeeperToPeer)> message;  ///< hellos are not told
    std::function<void(bool connected)> changed;
    std::function<void(const std::string&)> note;
  };

  /// `program`: what to run as `program keeper STATE_FOLDER` when no keeper answers.
  KeeperLink(net::Loop& loop, std::string state_folder, std::string program, Told told);
  ~KeeperLink();
  KeeperLink(const KeeperLink&) = delete;
  KeeperLink& operator=(const KeeperLink&) = delete;

  void start();
  /// Dropped while not connected: who asks has to ask again when `changed` tells.
  void send(const wire::PeerToKeeper& message);
  bool connected() const { return hello_.has_value(); }
  /// What the keeper said of itself; nothing while not connected.
  const std::optional<wire::KeeperHello>& hello() const { return hello_; }
  /// Starts no other one when it is gone.
  void retire();

 private:
  void dial();
  void dialled(Result<posix::Fd> socket);
  void adopt(posix::Fd socket);
  void take(std::string_view payload);
  void take_hello(const wire::KeeperHello& hello);
  void lost(const std::string& why);
  void try_again();

  net::Loop& loop_;
  std::string state_folder_;
  std::string program_;
  Told told_;
  std::optional<net::Dialer> dialer_;
  std::optional<net::Connection> connection_;
  std::optional<wire::KeeperHello> hello_;
  net::Timer timer_;
  int failures_ = 0;                  ///< since it was connected
  std::optional<Moment> started_at_;  ///< when a keeper was last started, in vain so far
  int starts_ = 0;                    ///< of keepers, since one was connected
  bool retiring_ = false;
  bool strange_ = false;  ///< of another protocol
};

}  // namespace gpl::peer
