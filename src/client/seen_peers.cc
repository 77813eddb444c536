#include "gpl/client/seen_peers.h"

#include <fcntl.h>

#include <sstream>

#include "gpl/posix/file.h"

namespace gpl::client {
namespace {

constexpr const char* name = "seen-peers";
constexpr std::size_t most_bytes = 4096;
constexpr std::size_t most_peers = 8;

}  // namespace

std::vector<net::PeerAddress> read_seen_peers(const std::string& state) {
  std::vector<net::PeerAddress> peers;
  const Result<std::string> bytes = posix::read_file_at(AT_FDCWD, state + "/" + name, most_bytes);
  if (!bytes.ok()) return peers;
  std::istringstream lines(bytes.value());
  for (std::string line; std::getline(lines, line) && peers.size() < most_peers;)
    if (Result<net::PeerAddress> address = net::parse_peer_address(line); address.ok())
      peers.push_back(std::move(address).value());
  return peers;
}

void keep_seen_peers(const std::string& state, const std::vector<net::PeerAddress>& peers) {
  if (!posix::make_folders(state, 0700).ok()) return;
  const Result<posix::Fd> folder = posix::open_folder(state);
  if (!folder.ok()) return;
  std::string text;
  for (std::size_t i = 0; i < peers.size() && i < most_peers; ++i)
    text += net::to_text(peers[i]) + "\n";
  (void)posix::replace_file_at(folder.value().get(), name, text, posix::Durability::none);
}

}  // namespace gpl::client
