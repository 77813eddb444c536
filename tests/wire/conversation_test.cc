// What a command line, peers and a keeper say to each other: who may send what more, and what is
// refused.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "all_fields.h"
#include "arbitrary.h"
#include "gpl/wire/frame.h"
#include "gpl/wire/write.h"
#include "same.h"

namespace gpl::wire {
namespace {

template <class T>
std::string written(const T& value) {
  Writer out("");
  write(out, value);
  return std::move(out).take();
}

/// The head of an array of so many values.
std::string array_head(std::size_t count) {
  if (count < 16) return std::string(1, static_cast<char>(0x90 | count));
  return {'\xdc', static_cast<char>(count >> 8), static_cast<char>(count & 0xff)};
}

template <class T>
std::string body_of(const T& part) {
  return written(part).substr(array_head(fields<T>.count).size());
}

/// `bytes`, which have the encoding of `part` once, with other bytes in its place.
template <class T>
std::string replaced(std::string bytes, const T& part, const std::string& with) {
  const std::string was = written(part);
  const std::size_t at = bytes.find(was);
  REQUIRE(at != std::string::npos);
  REQUIRE(bytes.find(was, at + 1) == std::string::npos);
  return bytes.replace(at, was.size(), with);
}

/// The part has `more` at its end, which is said to be so many fields.
template <class T>
std::string with_more(const std::string& bytes, const T& part, const std::string& more,
                      std::size_t count) {
  return replaced(bytes, part, array_head(fields<T>.count + count) + body_of(part) + more);
}

/// A newer gpl's message, with more at the end of `part`, is taken as what is known of it.
template <class Message, class T>
void takes_more(const Message& message, const T& part) {
  INFO(fields<T>.name);
  const std::string bytes = encode(message);
  for (const std::string& more : {std::string("\xc0"), std::string("\xc4\x03new"),
                                  std::string("\x92\x01\x81\xc4\x01k\xc3")}) {
    const Result<Message> decoded = decode<Message>(with_more(bytes, part, more, 1));
    REQUIRE(decoded.ok());
    CHECK(same(decoded.value(), message));
    CHECK(!decode<Message>(with_more(bytes, part, more, 2)).ok());
  }
  const Result<Message> decoded = decode<Message>(with_more(bytes, part, "\x01\x02\x03", 3));
  REQUIRE(decoded.ok());
  CHECK(same(decoded.value(), message));
}

/// A value of T that is found in the message's bytes only once: with something in every string.
template <class T>
T some(std::uint64_t seed) {
  Prng random(seed);
  return arbitrary<T>(random);
}

TEST_CASE("hellos of a newer gpl may say more") {
  const Hello hello{1, 3, "2.0.0"};
  takes_more(ClientMessage{0, hello}, hello);
  takes_more(PeerMessage{0, hello}, hello);
  const KeeperHello keeper{1, 3, "2.0.0", "boot/1/2"};
  takes_more(PeerToKeeper(keeper), keeper);
  takes_more(KeeperToPeer(keeper), keeper);
  const auto link = some<LinkHello>(1);
  takes_more(LinkMessage(link), link);
}

TEST_CASE("what a newer peer lists may say more of each") {
  const auto job = some<JobSummary>(1);
  takes_more(PeerMessage{7, JobList{{some<JobSummary>(2), job, some<JobSummary>(3)}, true}}, job);
  const auto peer = some<PeerSummary>(4);
  ClusterStatus cluster = some<ClusterStatus>(5);
  cluster.peers = {some<PeerSummary>(6), peer};
  cluster.ended = {job};
  takes_more(PeerMessage{7, cluster}, peer);
  takes_more(PeerMessage{7, cluster}, job);
  takes_more(PeerMessage{7, cluster}, cluster);
  const auto file = some<ResultFile>(8);
  takes_more(PeerMessage{7, Results{{file, some<ResultFile>(9)}, std::nullopt}}, file);
  const auto notes = some<JobNotesAre>(10);
  takes_more(PeerMessage{7, notes}, notes);
}

TEST_CASE("nothing may be missing of what is known, also where more may follow") {
  const Hello hello{1, 3, "2.0.0"};
  const std::string bytes = encode(ClientMessage{0, hello});
  CHECK(decode<ClientMessage>(replaced(bytes, hello, "\x92\x01\x03")).error().message ==
        "message of a client: field 2 of client message: expected 3 fields of hello, found 2 at "
        "byte 5");
}

/// Every alternative of V that is not extensible, in a message that `enclose` makes of it.
template <class V, class Enclose, std::size_t... index>
void refuse_more(const Enclose& enclose, std::index_sequence<index...>) {
  const auto refuse = [&]<std::size_t at>(std::integral_constant<std::size_t, at>) {
    using T = std::variant_alternative_t<at, V>;
    if constexpr (!is_extensible<T>) {
      INFO(fields<T>.name);
      const T part = some<T>(at);
      // It is the last value of its message: what follows its head is known by that.
      const std::string bytes = encode(enclose(V(std::in_place_index<at>, part)));
      const std::string known = written(part);
      REQUIRE(bytes.ends_with(known));
      const std::string before = bytes.substr(0, bytes.size() - known.size());
      const std::string grown = before + array_head(fields<T>.count + 1) + body_of(part) + '\x01';
      const auto decoded = decode<decltype(enclose(V()))>(grown);
      REQUIRE(!decoded.ok());
      CHECK(decoded.error().message.find("fields of " + std::string(fields<T>.name) + ", found " +
                                         std::to_string(fields<T>.count + 1)) != std::string::npos);
    }
  };
  (refuse(std::integral_constant<std::size_t, index>()), ...);
}

template <class V, class Enclose>
void refuse_more(const Enclose& enclose) {
  refuse_more<V>(enclose, std::make_index_sequence<std::variant_size_v<V>>());
}

TEST_CASE("no question or order may ask for more than is understood") {
  refuse_more<Question>([](Question body) { return ClientMessage{7, std::move(body)}; });
  refuse_more<PeerToKeeper>([](PeerToKeeper message) { return message; });
  refuse_more<KeeperToPeer>([](KeeperToPeer message) { return message; });
  refuse_more<LinkMessage>([](LinkMessage message) { return message; });
}

TEST_CASE("no answer may say more than is understood, lists of jobs and peers aside") {
  refuse_more<Answer>([](Answer body) { return PeerMessage{7, std::move(body)}; });
}

template <class T>
std::string refusal(const std::string& bytes) {
  const Result<T> decoded = decode<T>(bytes);
  REQUIRE(!decoded.ok());
  REQUIRE(decoded.error().code == Code::invalid);
  return decoded.error().message;
}

/// The first number that no alternative of V has.
template <class V>
constexpr char unknown = static_cast<char>(std::variant_size_v<V>);
template <class V>
std::string no_alternative(std::size_t at) {
  return "there is no alternative " + std::to_string(std::variant_size_v<V>) + " at byte " +
         std::to_string(at);
}

TEST_CASE("a message of a kind that is not known is refused") {
  const auto in_envelope = [](char kind) {
    return std::string("\x01\x92\x07\x92") + kind + '\x90';
  };
  const auto bare = [](char kind) { return std::string("\x01\x92") + kind + '\x90'; };
  CHECK(refusal<ClientMessage>(in_envelope(unknown<Question>)) ==
        "message of a client: field 2 of client message: " + no_alternative<Question>(4));
  CHECK(refusal<PeerMessage>(in_envelope(unknown<Answer>)) ==
        "message to a client: field 2 of peer message: " + no_alternative<Answer>(4));
  CHECK(refusal<PeerToKeeper>(bare(unknown<PeerToKeeper>)) ==
        "message to the keeper: " + no_alternative<PeerToKeeper>(2));
  CHECK(refusal<KeeperToPeer>(bare(unknown<KeeperToPeer>)) ==
        "message of the keeper: " + no_alternative<KeeperToPeer>(2));
  CHECK(refusal<LinkMessage>(bare(unknown<LinkMessage>)) ==
        "message of a peer: " + no_alternative<LinkMessage>(2));
  // An outcome, within what a keeper has on disk.
  const EndedAttempt ended{{1, AttemptId{2}}, std::nullopt, Exited{3}, {4}, false};
  CHECK(refusal<EndedAttempt>(replaced(encode(ended), Outcome(Exited{3}), "\x92\x06\x91\x03")) ==
        "end of an attempt: field 3 of ended attempt: there is no alternative 6 at byte 7");
}

TEST_CASE("numbers and names of values that are too large are refused") {
  using namespace std::string_literals;
  CHECK(refusal<ClientMessage>("\x01\x92\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x92\x04\x90"s) ==
        "message of a client: field 1 of client message: expected a number from 0 to 4294967295, "
        "found 4294967296 at byte 2");
  CHECK(refusal<ClientMessage>("\x01\x92\x07\x92\x09\x92\x91\x94\x04\x01\x02\xc2\xc2"s) ==
        "message of a client: field 2 of client message, field 1 of list jobs, field 1 of job "
        "query: there is no value 4 at byte 8");
  CHECK(refusal<KeeperToPeer>("\x01\x92\x07\x93\x01\x02\xc4\x00"s) ==
        "message of the keeper: field 2 of exec grew: there is no value 2 at byte 5");
}

TEST_CASE("data that is said to be longer than the message is refused") {
  using namespace std::string_literals;
  CHECK(refusal<PeerToKeeper>("\x01\x92\x09\x94\x92\x01\x02\x00\xc6\xff\xff\xff\xff"
                              "abc"s) ==
        "message to the keeper: field 3 of input: its length is given as 4294967295, and only 3 "
        "bytes are left at byte 8");
  CHECK(refusal<ClientMessage>("\x01\x92\x07\x92\x01\x91\xdd\x00\x10\x00\x00\xc4\x00"s) ==
        "message of a client: field 2 of client message, field 1 of ask chunks: its length is "
        "given as 1048576, and only 2 bytes are left at byte 6");
}

TEST_CASE("a hello of whatever version fits into the frame that strangers may send") {
  constexpr std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  const std::string version(200, 'v');
  CHECK(encode(ClientMessage{most, Hello{most, most, version}}).size() < hello_limit_bytes);
  const KeeperHello hello{most, most, version, std::string(200, 'i')};
  CHECK(encode(PeerToKeeper(hello)).size() < hello_limit_bytes);
}

TEST_CASE("the largest pieces that are sent fit into a frame") {
  const std::string data(std::size_t{4} * 1024 * 1024, 'x');
  CHECK(encode(ClientMessage{1, PutChunk{std::string(32, 'i'), data}}).size() < frame_limit_bytes);
  CHECK(encode(PeerMessage{1, Output{{}, data, 0}}).size() < frame_limit_bytes);
  const std::string piece(piece_limit_bytes, 'x');
  CHECK(encode(PeerMessage{1, FilePiece{piece, false}}).size() < frame_limit_bytes);
  CHECK(encode(PeerMessage{1, TreePiece{piece, false}}).size() < frame_limit_bytes);
  CHECK(encode(PeerMessage{1, ChunkIs{data}}).size() < frame_limit_bytes);
}

}  // namespace
}  // namespace gpl::wire
