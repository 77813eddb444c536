#include "gpl/peer/identity.h"

#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <string_view>

#include "drawn_number.h"
#include "gpl/core/hex.h"
#include "gpl/host/machine.h"
#include "gpl/host/record.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "hex_number.h"

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
  identity.cluster = number_of_hex(record.value().get("cluster"));
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

std::string hex_of(const auth::KeyBytes& key) {
  std::string text;
  for (const std::uint8_t byte : key) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::optional<auth::KeyBytes> key_of(std::string_view text) {
  auth::KeyBytes key{};
  if (text.size() != 2 * key.size()) return std::nullopt;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char* const digits = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(digits, digits + 2, key[i], 16);
    if (error != std::errc() || end != digits + 2) return std::nullopt;
  }
  return key;
}

Result<auth::KeyPair> decode_key(std::string_view bytes, const std::string& path) {
  const Result<host::Record> record = host::Record::decode(bytes);
  if (record.ok() && record.value().number("form") > form)
    return Error{Code::unsupported, path + " was written by a later version of gpl: run that one"};
  const std::optional<auth::KeyBytes> secret = record.ok() && record.value().number("form") == form
                                                   ? key_of(record.value().get("secret"))
                                                   : std::nullopt;
  if (!secret)
    return Error{Code::invalid,
                 path +
                     " is damaged. Bring the file back from a copy, or remove it: a new one is "
                     "made then, and secrets of jobs that wait here are lost"};
  return auth::key_pair_of(*secret);
}

Result<auth::KeyPair> make_key(const posix::Fd& folder) {
  const auth::KeyPair pair = auth::draw_key_pair();
  host::Record record;
  record.add("form", form);
  record.add("secret", hex_of(pair.secret));
  const Status written = posix::replace_file_at(folder.get(), "static.key", record.encode(),
                                                posix::Durability::synced);
  if (!written.ok()) return written.error();
  return pair;
}

Result<Identity> make_identity(const std::string& state, std::uint64_t cluster) {
  const Result<std::optional<Identity>> present = read_identity(state);
  if (!present.ok()) return present.error();
  if (present.value())
    return Error{Code::busy, file_of(state) +
                                 " is there already: this machine belongs to cluster " +
                                 short_name(present.value()->cluster)};
  const Result<posix::Fd> folder = made_folder(state);
  if (!folder.ok()) return folder.error();
  const Result<std::uint64_t> number = drawn_number();
  if (!number.ok()) return number.error();
  // Before the identity: who has one has both.
  if (const auto key = make_key(folder.value()); !key.ok()) return key.error();
  Identity identity;
  // 63 bits, and never 0, whatever was drawn.
  identity.peer = PeerId{number.value() >> 1 | 1};
  identity.node = raft::NodeId{identity.peer.value};
  identity.cluster = cluster;
  identity.name = host::host_name();
  identity.founded_at = posix::wall_clock();
  const Status written = posix::replace_file_at(folder.value().get(), "identity", encode(identity),
                                                posix::Durability::synced);
  if (!written.ok()) return written.error();
  return identity;
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
  const Result<std::uint64_t> cluster = drawn_number();
  if (!cluster.ok()) return cluster.error();
  return make_identity(state, cluster.value());
}

Result<Identity> join_identity(const std::string& state, std::uint64_t cluster) {
  assert(cluster != 0);
  return make_identity(state, cluster);
}

Result<auth::KeyPair> static_key(const std::string& state) {
  const std::string path = folder_of(state) + "/static.key";
  const Result<std::string> bytes = posix::read_file_at(AT_FDCWD, path, most_identity_bytes);
  if (bytes.ok()) return decode_key(bytes.value(), path);
  if (bytes.error().code != Code::not_found) return bytes.error();
  const Result<posix::Fd> folder = made_folder(state);
  if (!folder.ok()) return folder.error();
  return make_key(folder.value());
}

Status remove_identity(const std::string& state) {
  const Result<posix::Fd> folder = posix::open_folder(folder_of(state));
  if (!folder.ok() && folder.error().code == Code::not_found) return success();
  if (!folder.ok()) return folder.error();
  // The identity last: without it the rest means nothing.
  for (const char* name : {"draining", "peers", "static.key", "identity"}) {
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
