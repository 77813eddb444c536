// One side of a handshake and its channel, step by step over standard input and output in hex:
// tests/e2e/noise_peer.py is the other side.
//
// noise_tool initiate ROLE PURPOSE | noise_tool respond: the first line read is the key's. It
// prints "send HEX" when there is something to send and "want N" for how many bytes it waits for,
// as hex on a line; in the end "established ROLE PURPOSE PROTOCOL OWN REMOTE" (static public keys),
// or "failed MESSAGE" and exits 1. Then "seal HEX" and "open HEX" are answered by "HEX", or
// "failed".
//
// noise_tool channel KEY RECORDS: "seal" and "open" with a key and that many records a key.

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "gpl/auth/handshake.h"
#include "hex.h"

namespace {

using namespace gpl::auth;

void say(const std::string& line) { std::cout << line << std::endl; }

int fail(const std::string& message) {
  say("failed " + message);
  return 1;
}

std::optional<Role> role_by(const std::string& name) {
  for (const Role role : {Role::peer, Role::client, Role::observer})
    if (name_of(role) == name) return role;
  return std::nullopt;
}

std::string shown(const KeyBytes& key) {
  return to_hex({reinterpret_cast<const char*>(key.data()), key.size()});
}

int serve(Sealer& sealer, Opener& opener) {
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::string bytes = from_hex(std::string_view(line).substr(line.find(' ') + 1));
    std::string out;
    if (line.starts_with("seal ")) {
      sealer.seal(bytes, out);
    } else if (const gpl::Status opened = opener.open(bytes, out); !opened.ok()) {
      return fail(opened.error().message);
    }
    say(to_hex(out));
  }
  return 0;
}

int shake(Handshake handshake, const KeyPair& own) {
  std::string line;
  for (;;) {
    if (const std::string out = handshake.output(); !out.empty()) say("send " + to_hex(out));
    if (handshake.complete()) break;
    say("want " + std::to_string(handshake.wanted()));
    if (!std::getline(std::cin, line)) return 1;
    const std::string bytes = from_hex(line);
    if (bytes.size() != handshake.wanted()) return 2;
    if (const gpl::Status taken = handshake.take(bytes); !taken.ok()) {
      if (const std::string out = handshake.output(); !out.empty()) say("send " + to_hex(out));
      return fail(taken.error().message);
    }
  }
  Established made = handshake.established();
  say("established " + std::string(name_of(made.role)) + " " +
      std::to_string(static_cast<int>(made.purpose)) + " " + std::to_string(made.protocol) + " " +
      shown(own.public_half) + " " + shown(made.remote_static));
  return serve(made.channel.sealer, made.channel.opener);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  if (how == "channel" && argc == 4) {
    const auto key = array_of<KeyBytes>(from_hex(argv[2]));
    const std::uint64_t records = std::strtoull(argv[3], nullptr, 10);
    Sealer sealer(key, records);
    Opener opener(key, records);
    return serve(sealer, opener);
  }
  std::string line;
  std::getline(std::cin, line);
  const gpl::Result<Key> key = Key::parse(line);
  if (!key.ok()) return fail(key.error().message);
  const KeyPair own = draw_key_pair();
  if (how == "respond") return shake(Handshake::respond({key.value(), own, spoken_protocols}), own);
  const std::optional<Role> role = argc == 4 ? role_by(argv[2]) : std::nullopt;
  if (how != "initiate" || !role) return 2;
  const auto purpose = static_cast<Purpose>(std::atoi(argv[3]));
  return shake(Handshake::initiate({key.value(), *role, own, purpose, spoken_protocols}), own);
}
