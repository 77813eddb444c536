#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gpl/core/result.h"
#include "gpl/net/loop.h"
#include "gpl/net/watch.h"
#include "gpl/posix/fd.h"
#include "interface.h"
#include "mdns_echo.h"
#include "mdns_records.h"

namespace gpl::net {

/// One interface's socket of one family, bound to the group 224.0.0.251 or ff02::fb and not to all
/// addresses: so it takes no packets that other responders on this machine are sent, and all that
/// comes is of this link.
class MdnsSocket {
 public:
  /// A packet from others. Its source may be any; its own_machine is not set.
  using Received = std::function<void(std::string_view bytes, const MdnsSource& from)>;

  /// Code::io.
  static Result<std::unique_ptr<MdnsSocket>> open(Loop& loop, unsigned interface, bool v6,
                                                  Received received);
  MdnsSocket(const MdnsSocket&) = delete;
  MdnsSocket& operator=(const MdnsSocket&) = delete;

  /// To the group. Whatever does not fit into the system's buffer is lost, as on the wire.
  Status send(const std::string& bytes);
  Status send_to(const std::string& bytes, const MdnsSource& to);
  /// Whether the packet, from an address of this machine, is one that came back from here.
  bool is_echo(std::string_view bytes);

 private:
  MdnsSocket(Loop& loop, posix::Fd socket, unsigned interface, bool v6, Received received);
  void receive();

  Loop& loop_;
  posix::Fd socket_;
  unsigned interface_;
  bool v6_;
  Received received_;
  MdnsEcho echo_;
  Watch watch_;
};

}  // namespace gpl::net
