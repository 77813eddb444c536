#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "connected.h"
#include "gpl/auth/handshake.h"
#include "gpl/net/secure_socket.h"
#include "run_until.h"

inline gpl::auth::KeyBytes key_of(std::uint8_t byte) {
  gpl::auth::KeyBytes key;
  key.fill(byte);
  return key;
}

/// The two ends of a channel, without a handshake.
struct Ends {
  gpl::auth::Channel one{gpl::auth::Sealer(key_of(1)), gpl::auth::Opener(key_of(2))};
  gpl::auth::Channel two{gpl::auth::Sealer(key_of(2)), gpl::auth::Opener(key_of(1))};
};

inline gpl::net::SecureSocket secured(gpl::posix::Fd socket, gpl::auth::Channel channel) {
  return {std::move(socket), gpl::auth::Established{std::move(channel), {}, {}, {}, 1}, {}, {}};
}

/// Two connections with each other on one loop, over a channel.
struct SecureBoth {
  std::unique_ptr<gpl::net::Loop> loop = make_loop();
  Noted one;
  Noted two;

  explicit SecureBoth(gpl::net::ConnectionOptions options = {}) {
    SocketPair pair;
    Ends ends;
    options.frame_limit_bytes = gpl::wire::frame_limit_bytes;
    one.adopt(*loop, secured(std::move(pair.one), std::move(ends.one)), options);
    two.adopt(*loop, secured(std::move(pair.two), std::move(ends.two)), options);
  }
};

/// One connection over a channel, whose other end the test reads and writes itself.
struct SecureSingle {
  std::unique_ptr<gpl::net::Loop> loop = make_loop();
  SocketPair pair;
  Noted end;
  gpl::auth::Channel other;

  explicit SecureSingle(gpl::net::ConnectionOptions options = {}) : SecureSingle(Ends(), options) {}

  std::string sealed(const std::string& plain) {
    std::string bytes;
    other.sealer.seal(plain, bytes);
    return bytes;
  }
  /// What has come at the other end, opened.
  std::string opened() {
    std::string plain;
    CHECK(other.opener.open(take(pair.two), plain).ok());
    return plain;
  }

 private:
  SecureSingle(Ends ends, gpl::net::ConnectionOptions options) : other(std::move(ends.two)) {
    end.adopt(*loop, secured(std::move(pair.one), std::move(ends.one)), options);
  }
};

inline gpl::auth::Answering answering(const gpl::auth::Key& key) {
  return {key, gpl::auth::draw_key_pair(), gpl::auth::spoken_protocols};
}

inline gpl::auth::Call call(const gpl::auth::Key& key,
                            gpl::auth::Purpose purpose = gpl::auth::Purpose::client) {
  return {key, key.role(), gpl::auth::draw_key_pair(), purpose, gpl::auth::spoken_protocols};
}

/// A gate that keeps who entered.
struct Gated {
  std::vector<gpl::net::SecureSocket> entered;
  std::vector<std::string> notes;
  std::optional<gpl::net::Gate> gate;

  Gated(gpl::net::Loop& loop, const gpl::auth::Key& key, gpl::net::GateLimits limits = {}) {
    gpl::net::Gate::Told told;
    told.entered = [this](gpl::net::SecureSocket socket) { entered.push_back(std::move(socket)); };
    told.note = [this](const std::string& note) { notes.push_back(note); };
    gate.emplace(loop, answering(key), limits, std::move(told));
  }
  Gated(const Gated&) = delete;
  Gated& operator=(const Gated&) = delete;
  gpl::net::Gate* operator->() { return &*gate; }
};
