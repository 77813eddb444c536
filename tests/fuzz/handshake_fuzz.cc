// Both sides of the handshake, the channel and the key's line, with hostile bytes: of a stranger,
// of who changes what genuine sides say, and of who has a client's key and says what it likes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "gpl/auth/handshake.h"
#include "gpl/auth/noise.h"

namespace {

using namespace gpl::auth;

void require(bool holds) {
  if (!holds) std::abort();
}

/// The keys of all runs: to draw them is most of what a handshake costs.
struct Cluster {
  Key key = Key::draw();
  Key client = key.derive(Role::client).value();
  KeyPair initiator = draw_key_pair();
  KeyPair responder = draw_key_pair();
};
const Cluster& cluster() {
  static const Cluster made;
  return made;
}

/// The bytes of the input, taken from the front.
struct Input {
  std::string_view bytes;
  std::uint8_t number() {
    if (bytes.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    return first;
  }
  std::string_view take(std::size_t size) {
    const std::string_view front = bytes.substr(0, size);
    bytes.remove_prefix(front.size());
    return front;
  }
};

/// Gives `side` what it wants of `stream`, each piece a copy of its own, so that reading past it
/// shows. False once it has failed.
bool feed(Handshake& side, std::string_view& stream) {
  while (side.wanted() > 0 && stream.size() >= side.wanted()) {
    require(side.wanted() <= handshake_message_limit_bytes);
    const auto piece = std::make_unique<std::string>(stream.substr(0, side.wanted()));
    stream.remove_prefix(piece->size());
    if (!side.take(*piece).ok()) {
      require(!side.complete() && side.wanted() == 0);
      return false;
    }
  }
  return true;
}

void open_in_pieces(Opener& opener, std::string_view stream, std::size_t step, std::string& plain) {
  for (; !stream.empty(); stream.remove_prefix(std::min(step, stream.size()))) {
    const auto piece = std::make_unique<std::string>(stream.substr(0, step));
    if (!opener.open(*piece, plain).ok()) break;
    require(opener.held_bytes() <= 2 * (2 + record_limit_bytes));
  }
}

/// Who has no key gets neither side to the end, whatever it says.
void strange(Input input) {
  const Cluster& keys = cluster();
  Handshake sides[] = {Handshake::respond({keys.key, keys.responder, spoken_protocols}),
                       Handshake::initiate({keys.client, Role::client, keys.initiator,
                                            Purpose::client, spoken_protocols})};
  for (Handshake& side : sides) {
    std::string_view stream = input.bytes;
    feed(side, stream);
    require(!side.complete());
  }
  Opener opener(keys.initiator.public_half);
  std::string plain;
  open_in_pieces(opener, input.bytes, 1U + input.number(), plain);
  require(plain.empty());
}

/// Genuine sides, one byte of whose words is changed (or none).
void changed(Input input) {
  const Cluster& keys = cluster();
  const bool peer = input.number() % 2 == 0;
  Handshake initiator =
      Handshake::initiate({peer ? keys.key : keys.client, peer ? Role::peer : Role::client,
                           keys.initiator, Purpose::client, spoken_protocols});
  Handshake responder = Handshake::respond({keys.key, keys.responder, spoken_protocols});
  std::size_t at = input.number() | static_cast<std::size_t>(input.number() % 2) << 8U;
  const std::uint8_t mask = input.number();
  bool hit = false;
  for (int message = 0; message < 3; ++message) {
    std::string said = (message == 1 ? responder : initiator).output();
    if (at < said.size() && mask != 0 && !hit) {
      said[at] = static_cast<char>(static_cast<std::uint8_t>(said[at]) ^ mask);
      hit = true;
    }
    at -= hit ? 0 : said.size();
    std::string_view stream = said;
    const bool sound = feed(message == 1 ? initiator : responder, stream);
    require(sound == !hit);
    if (hit) return;
  }
  require(initiator.complete() && responder.complete());
  Established one = initiator.established();
  Established other = responder.established();
  const std::string text(input.take(200));
  std::string stream;
  one.channel.sealer.seal(text, stream);
  std::string plain;
  open_in_pieces(other.channel.opener, stream, 1U + input.number(), plain);
  require(plain == text && !other.channel.opener.within_record());
  // What else comes was not sealed by the other side.
  open_in_pieces(other.channel.opener, input.bytes, 7, plain);
  require(plain == text);
}

/// Who has a client's key, and says what it likes where only the key's holders are heard.
void insider(Input input) {
  const Cluster& keys = cluster();
  const KeyBytes psk = keys.client.psk(Role::client).value();
  std::string hello("gpl\2\0\1\0\1", 8);
  Handshake responder = Handshake::respond({keys.key, keys.responder, spoken_protocols});
  NoiseHandshake hostile(Side::initiator, hello, psk, keys.initiator);
  const std::string first = hello + hostile.write({});
  std::string_view stream = first;
  require(feed(responder, stream));
  require(hostile.read(responder.output().substr(8)).ok());
  const std::string third = hostile.write(std::string(1, static_cast<char>(input.number())));
  stream = third;
  require(feed(responder, stream) == responder.complete());
  require(!responder.complete() || responder.established().purpose == Purpose::client);

  Handshake initiator = Handshake::initiate(
      {keys.client, Role::client, keys.initiator, Purpose::client, spoken_protocols});
  const std::string said = initiator.output();
  NoiseHandshake impostor(Side::responder, said.substr(0, 8), psk, keys.responder);
  require(impostor.read(said.substr(8)).ok());
  hello[3] = '\0';
  std::string payload = hello + std::string(input.take(64));
  payload.resize(8 + 64);
  const std::string answer = hello + impostor.write(payload);
  stream = answer;
  require(!feed(initiator, stream));
}

void key_line(Input input) {
  const auto key = Key::parse(input.bytes);
  if (key.ok()) require(Key::parse(key.value().text()).value() == key.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input{{reinterpret_cast<const char*>(data), size}};
  switch (input.number() % 4) {
    case 0:
      strange(input);
      break;
    case 1:
      changed(input);
      break;
    case 2:
      insider(input);
      break;
    case 3:
      key_line(input);
      break;
  }
  return 0;
}
