#include "gpl/peer/identity.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "gpl/host/machine.h"
#include "gpl/host/record.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::peer {
namespace {

constexpr std::size_t most_identity_bytes = 4096;
constexpr std::int64_t form = 1;  ///< of the file

std::string folder_of(const std::string& state) { return state + "/peer"; }
std::string file_of(const std::string& state) { return folder_of(state) + "/identity"; }

Result<posix::Fd> made_folder(const std::string& state) {
  if (Status made = posix::make_folders(folder_of(state), 0700); !made.ok()) return made.error();
  Result<posix::Fd> folder = posix::open_folder(folder_of(state));
  if (!folder.ok()) return folder;
  // The folder itself must survive a power loss, not only what is in it.
  const Result<posix::Fd> above = posix::open_folder(state);
  if (!above.ok()) return above.error();
  if (::fsync(above.value().get()) != 0) return posix::io_error("cannot sync " + state);
  return folder;
}

/// Fine when it is not there.
Status remove_file(const posix::Fd& folder, const std::string& state, const char* name) {
  if (::unlinkat(folder.get(), name, 0) != 0 && errno != ENOENT)
    return posix::io_error("cannot remove " + folder_of(state) + "/" + name);
  return success();
}

Status sync_folder(const posix::Fd& folder, const std::string& state) {
  if (::fsync(folder.get()) != 0) return posix::io_error("cannot sync " + folder_of(state));
  return success();
}

Result<std::uint64_t> draw() {
  std::uint64_t number = 0;
  while (number == 0) {
    const ssize_t got = ::getrandom(&number, sizeof number, 0);
    if (got < 0 && errno != EINTR) return posix::io_error("cannot draw a random number");
    if (got != static_cast<ssize_t>(sizeof number)) number = 0;
  }
  return number;
}

std::string hex(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t i = text.size(); i-- > 0; number >>= 4)
    text[i] = "0123456789abcdef"[number & 15];
  return text;
}

std::uint64_t from_hex(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() == 16 ? number : 0;
}

Result<Identity> decode(std::string_view bytes, const std::string& path) {
  const auto damaged = [&](const std::string& why) {
    return Error{Code::invalid, path + " is damaged (" + why +
                                    "): the peer would not know who it is. Bring the file back " +
                                    "from a copy, or move the state folder away to begin anew"};
  };
  const Result<host::Record> record = host::Record::decode(bytes);
  if (!record.ok()) return damaged("it is not a record");
  const std::int64_t found_form = record.value().number("form");
  if (found_form > form)
    return Error{Code::unsupported, path + " was written by a later version of gpl (form " +
                                        std::to_string(found_form) + "): run that one"};
  const std::int64_t peer = record.value().number("peer");
  const std::int64_t node = record.value().number("node");
  Identity identity;
  identity.cluster = from_hex(record.value().get("cluster"));
  if (found_form != form || peer <= 0 || node <= 0 || identity.cluster == 0)
    return damaged("it lacks an id");
  identity.peer = PeerId{static_cast<std::uint64_t>(peer)};
  identity.node = raft::NodeId{static_cast<std::uint64_t>(node)};
  identity.name = record.value().get("name");
  identity.founded_at = Instant{record.value().number("founded_ms")};
  return identity;
}

std::string encode(const Identity& identity) {
  host::Record record;
  record.add("form", form);
  record.add("peer", static_cast<std::int64_t>(identity.peer.value));
  record.add("node", static_cast<std::int64_t>(identity.node.value));
  record.add("cluster", hex(identity.cluster));
  record.add("name", identity.name);
  record.add("founded_ms", identity.founded_at.since_epoch_ms);
  return record.encode();
}

}  // namespace

Result<std::optional<Identity>> read_identity(const std::string& state) {
  const std::string path = file_of(state);
  const Result<std::string> bytes = posix::read_file_at(AT_FDCWD, path, most_identity_bytes);
  if (!bytes.ok() && bytes.error().code == Code::not_found) return std::optional<Identity>();
  if (!bytes.ok()) return bytes.error();
  Result<Identity> identity = decode(bytes.value(), path);
  if (!identity.ok()) return std::move(identity).error();
  return std::optional<Identity>(std::move(identity).value());
}

Result<Identity> found_identity(const std::string& state) {
  const Result<std::optional<Identity>> present = read_identity(state);
  if (!present.ok()) return present.error();
  if (present.value())
    return Error{Code::busy, file_of(state) +
                                 " is there already: this machine belongs to cluster " +
                                 short_name(present.value()->cluster)};
  const Result<posix::Fd> folder = made_folder(state);
  if (!folder.ok()) return folder.error();
  const Result<std::uint64_t> number = draw();
  if (!number.ok()) return number.error();
  const Result<std::uint64_t> cluster = draw();
  if (!cluster.ok()) return cluster.error();
  Identity identity;
  // 63 bits, and never 0, whatever was drawn.
  identity.peer = PeerId{number.value() >> 1 | 1};
  identity.node = raft::NodeId{identity.peer.value};
  identity.cluster = cluster.value();
  identity.name = host::host_name();
  identity.founded_at = posix::wall_clock();
  const Status written = posix::replace_file_at(folder.value().get(), "identity", encode(identity),
                                                posix::Durability::synced);
  if (!written.ok()) return written.error();
  return identity;
}

Status remove_identity(const std::string& state) {
  const Result<posix::Fd> folder = posix::open_folder(folder_of(state));
  if (!folder.ok() && folder.error().code == Code::not_found) return success();
  if (!folder.ok()) return folder.error();
  // The identity last: without it the rest means nothing.
  for (const char* name : {"draining", "identity"}) {
    if (Status removed = remove_file(folder.value(), state, name); !removed.ok()) return removed;
  }
  return sync_folder(folder.value(), state);
}

std::string short_name(std::uint64_t cluster) { return hex(cluster).substr(0, 4); }

bool is_draining(const std::string& state) {
  return ::access((folder_of(state) + "/draining").c_str(), F_OK) == 0;
}

Status set_draining(const std::string& state, bool draining) {
  const Result<posix::Fd> folder = made_folder(state);
  if (!folder.ok()) return folder.error();
  if (draining)
    return posix::replace_file_at(folder.value().get(), "draining", "", posix::Durability::synced);
  if (Status removed = remove_file(folder.value(), state, "draining"); !removed.ok())
    return removed;
  return sync_folder(folder.value(), state);
}

}  // namespace gpl::peer
