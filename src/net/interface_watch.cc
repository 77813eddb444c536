#include "interface_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "gpl/posix/error.h"

namespace gpl::net {
namespace {

// An interface that comes up says so in several steps, most of them at once.
constexpr Duration debounce = milliseconds(50);

}  // namespace

Result<std::unique_ptr<InterfaceWatch>> InterfaceWatch::open(Loop& loop,
                                                             std::function<void()> changed) {
  posix::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  if (!socket.valid()) return posix::io_error("cannot watch the network interfaces");
  sockaddr_nl name = {};
  name.nl_family = AF_NETLINK;
  name.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    return posix::io_error("cannot watch the network interfaces");
  std::unique_ptr<InterfaceWatch> made(
      new InterfaceWatch(loop, std::move(socket), std::move(changed)));
  auto watch = loop.watch(made->socket_.get(), [raw = made.get()] { raw->drain(); });
  if (!watch.ok()) return watch.error();
  made->watch_ = std::move(watch).value();
  return made;
}

InterfaceWatch::InterfaceWatch(Loop& loop, posix::Fd socket, std::function<void()> changed)
    : loop_(loop), socket_(std::move(socket)), changed_(std::move(changed)) {}

void InterfaceWatch::drain() {
  std::array<char, 16384> ignored;
  // What it says does not matter, nor that some was lost (ENOBUFS): the whole list is read anew.
  while (::recv(socket_.get(), ignored.data(), ignored.size(), 0) >= 0 || errno == ENOBUFS ||
         errno == EINTR) {
  }
  if (!quiet_.pending()) quiet_ = loop_.after(debounce, [changed = changed_] { changed(); });
}

}  // namespace gpl::net
