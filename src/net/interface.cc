#include "interface.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"

namespace gpl::net {
namespace {

/// The attributes that follow a message's head, by type (of several the last).
std::map<unsigned, std::string_view> attributes(std::string_view bytes) {
  std::map<unsigned, std::string_view> found;
  while (bytes.size() >= sizeof(rtattr)) {
    rtattr head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.rta_len < sizeof head || head.rta_len > bytes.size()) break;
    found[head.rta_type] = bytes.substr(sizeof head, head.rta_len - sizeof head);
    bytes.remove_prefix(std::min<std::size_t>(RTA_ALIGN(head.rta_len), bytes.size()));
  }
  return found;
}

template <class Head>
std::optional<Head> head_of(std::string_view bytes) {
  if (bytes.size() < sizeof(Head)) return std::nullopt;
  Head head;
  std::memcpy(&head, bytes.data(), sizeof head);
  return head;
}

std::string_view behind(std::string_view bytes, std::size_t head_size) {
  return bytes.substr(std::min<std::size_t>(NLMSG_ALIGN(head_size), bytes.size()));
}

void read_link(std::string_view body, std::map<unsigned, Interface>& interfaces) {
  const auto head = head_of<ifinfomsg>(body);
  if (!head) return;
  constexpr unsigned wanted = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
  if ((head->ifi_flags & wanted) != wanted) return;
  if ((head->ifi_flags & (IFF_LOOPBACK | IFF_POINTOPOINT)) != 0) return;
  const auto found = attributes(behind(body, sizeof *head));
  const auto name = found.find(IFLA_IFNAME);
  if (name == found.end() || head->ifi_index <= 0) return;
  const auto index = static_cast<unsigned>(head->ifi_index);
  const std::string_view text = name->second.substr(0, name->second.find('\0'));
  interfaces[index] = Interface{index, std::string(text), {}};
}

std::optional<IpAddress> ip_of(unsigned char family, std::string_view bytes) {
  IpAddress address;
  address.v6 = family == AF_INET6;
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  if (bytes.size() != (address.v6 ? 16U : 4U)) return std::nullopt;
  std::memcpy(address.bytes.data(), bytes.data(), bytes.size());
  return address;
}

void read_address(std::string_view body, std::map<unsigned, Interface>& interfaces,
                  std::set<IpAddress>& own) {
  const auto head = head_of<ifaddrmsg>(body);
  if (!head) return;
  const auto found = attributes(behind(body, sizeof *head));
  // Of IPv4 this is the one of here; the other may be the far end's.
  auto value = found.find(IFA_LOCAL);
  if (value == found.end()) value = found.find(IFA_ADDRESS);
  if (value == found.end()) return;
  const auto address = ip_of(head->ifa_family, value->second);
  if (!address) return;
  own.insert(*address);
  std::uint32_t flags = head->ifa_flags;
  if (const auto more = found.find(IFA_FLAGS);
      more != found.end() && more->second.size() == sizeof flags) {
    std::memcpy(&flags, more->second.data(), sizeof flags);
  }
  if ((flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED | IFA_F_DEPRECATED)) != 0) return;
  const auto interface = interfaces.find(head->ifa_index);
  if (interface == interfaces.end() || !unicast(*address)) return;
  interface->second.addresses.push_back({*address, head->ifa_prefixlen});
}

template <class Body>
bool ask(int socket, std::uint16_t type, const Body& body) {
  struct {
    nlmsghdr head = {};
    Body body = {};
  } request;
  request.head.nlmsg_len = sizeof request;
  request.head.nlmsg_type = type;
  request.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  request.body = body;
  return ::send(socket, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
}

/// Whether the answers end here: with all that there is, or with an error, which is told.
bool ended(std::string_view bytes, int& error) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head;
    std::memcpy(&head, bytes.data(), sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > bytes.size()) break;
    if (head.nlmsg_type == NLMSG_DONE) return true;
    if (head.nlmsg_type == NLMSG_ERROR) {
      const auto told = head_of<nlmsgerr>(behind(bytes.substr(0, head.nlmsg_len), sizeof head));
      error = told && told->error != 0 ? -told->error : EPROTO;
      return true;
    }
    bytes.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), bytes.size()));
  }
  return false;
}

Status take_answers(int socket, std::string& answers) {
  std::string buffer(std::size_t{1} << 16U, '\0');
  for (;;) {
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return posix::io_error("cannot list the network interfaces");
    const auto some = std::string_view(buffer).substr(0, static_cast<std::size_t>(got));
    answers += some;
    int error = 0;
    if (!ended(some, error)) continue;
    if (error != 0) return posix::io_error("cannot list the network interfaces", error);
    return success();
  }
}

}  // namespace

bool link_local(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (address.v6) return bytes[0] == 0xfe && (bytes[1] & 0xc0U) == 0x80;
  return bytes[0] == 169 && bytes[1] == 254;
}

bool unicast(const IpAddress& address) {
  const auto& bytes = address.bytes;
  if (!address.v6) return bytes[0] != 0 && bytes[0] != 127 && bytes[0] < 224;
  if (bytes[0] == 0xff) return false;
  // ::, ::1, and those that hold an IPv4 address
  return std::any_of(bytes.begin(), bytes.begin() + 10, [](std::uint8_t b) { return b != 0; });
}

std::string to_text(const IpAddress& address, const std::string& interface) {
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  std::string all = text;
  if (address.v6 && link_local(address)) all += "%" + interface;
  return all;
}

bool on_link(const Interface& interface, const IpAddress& address) {
  if (link_local(address)) return true;
  return std::any_of(
      interface.addresses.begin(), interface.addresses.end(), [&](const InterfaceAddress& own) {
        if (own.address.v6 != address.v6) return false;
        const unsigned size = address.v6 ? 128 : 32;
        for (unsigned bit = 0; bit < std::min(own.prefix_bits, size); ++bit) {
          const unsigned differ = address.bytes[bit / 8] ^ unsigned { own.address.bytes[bit / 8] };
          if ((differ & (0x80U >> (bit % 8))) != 0) return false;
        }
        return true;
      });
}

Interfaces read_interfaces(std::string_view answers) {
  std::map<unsigned, Interface> interfaces;
  Interfaces all;
  while (answers.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head;
    std::memcpy(&head, answers.data(), sizeof head);
    if (head.nlmsg_len < sizeof head || head.nlmsg_len > answers.size()) break;
    const auto body = behind(answers.substr(0, head.nlmsg_len), sizeof head);
    if (head.nlmsg_type == RTM_NEWLINK) read_link(body, interfaces);
    if (head.nlmsg_type == RTM_NEWADDR) read_address(body, interfaces, all.own);
    answers.remove_prefix(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), answers.size()));
  }
  for (auto& [index, interface] : interfaces)
    if (!interface.addresses.empty()) all.usable.push_back(std::move(interface));
  return all;
}

Result<Interfaces> list_interfaces() {
  const posix::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket.valid()) return posix::io_error("cannot list the network interfaces");
  std::string answers;
  ifinfomsg links = {};
  links.ifi_family = AF_UNSPEC;
  ifaddrmsg addresses = {};
  addresses.ifa_family = AF_UNSPEC;
  if (!ask(socket.get(), RTM_GETLINK, links))
    return posix::io_error("cannot list the network interfaces");
  if (Status took = take_answers(socket.get(), answers); !took.ok()) return took.error();
  if (!ask(socket.get(), RTM_GETADDR, addresses))
    return posix::io_error("cannot list the network interfaces");
  if (Status took = take_answers(socket.get(), answers); !took.ok()) return took.error();
  return read_interfaces(answers);
}

}  // namespace gpl::net
