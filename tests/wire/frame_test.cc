#include "gpl/wire/frame.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace gpl;
using wire::FrameReader;
using wire::FrameWriter;

namespace {

constexpr std::size_t small_limit_bytes = 1000;

std::string framed(const std::string& payload) {
  const std::size_t size = payload.size();
  std::string bytes;
  for (unsigned i = 0; i < 4; ++i) bytes += static_cast<char>(size >> (8 * i) & 0xff);
  return bytes + payload;
}

/// What is written in one go.
std::string written(FrameWriter& writer) {
  std::string bytes;
  while (writer.queued_bytes() > 0) {
    std::array<std::string_view, 3> pieces;
    const std::size_t count = writer.gather(pieces);
    for (std::size_t i = 0; i < count; ++i) bytes += pieces[i];
    std::size_t size = 0;
    for (std::size_t i = 0; i < count; ++i) size += pieces[i].size();
    writer.wrote(size);
  }
  return bytes;
}

struct Taken {
  std::vector<std::string> payloads;
  std::optional<Error> fault;
};

void take_all(FrameReader& reader, Taken& taken) {
  while (true) {
    const auto next = reader.next();
    if (!next.ok()) {
      taken.fault = next.error();
      return;
    }
    if (!next.value().has_value()) return;
    taken.payloads.emplace_back(*next.value());
  }
}

/// Feeds `bytes` in pieces that end at `cuts`, each from memory that is gone with it.
Taken read_in_pieces(FrameReader& reader, const std::string& bytes, std::vector<std::size_t> cuts) {
  cuts.push_back(bytes.size());
  std::sort(cuts.begin(), cuts.end());
  Taken taken;
  std::size_t from = 0;
  for (const std::size_t cut : cuts) {
    const auto piece = std::make_unique<std::string>(bytes.substr(from, cut - from));
    from = cut;
    reader.feed(*piece);
    take_all(reader, taken);
    if (taken.fault.has_value()) break;
  }
  return taken;
}

}  // namespace

TEST_CASE("a frame is its length in four bytes, the lowest first, and the payload") {
  FrameWriter writer;
  writer.add(std::string(258, 'x'));
  writer.add("y");
  CHECK(writer.queued_bytes() == 4 + 258 + 4 + 1);
  CHECK(written(writer) == std::string("\x02\x01\x00\x00", 4) + std::string(258, 'x') +
                               std::string("\x01\x00\x00\x00y", 5));
}

TEST_CASE("whatever is written is read again, in whatever pieces it comes") {
  CHECK(rc::check([](const std::vector<std::string>& texts, std::vector<std::uint16_t> cut_seeds) {
    FrameWriter writer;
    std::vector<std::string> payloads;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      std::string payload = texts[i] + "!";
      if (i % 5 == 4) payload += std::string(*rc::gen::inRange<std::size_t>(0, 20'000), 'L');
      payloads.push_back(payload);
      writer.add(payload);
    }
    const std::string bytes = written(writer);
    std::vector<std::size_t> cuts;
    for (const std::uint16_t seed : cut_seeds) cuts.push_back(seed % (bytes.size() + 1));
    FrameReader reader(wire::frame_limit_bytes);
    const Taken taken = read_in_pieces(reader, bytes, cuts);
    RC_ASSERT(!taken.fault.has_value());
    RC_ASSERT(taken.payloads == payloads);
    RC_ASSERT(!reader.within_frame());
  }));
}

TEST_CASE("a stream that is given byte by byte comes out whole") {
  const std::string bytes = framed("one") + framed(std::string(300, 'z')) + framed("3");
  std::vector<std::size_t> cuts;
  for (std::size_t i = 0; i < bytes.size(); ++i) cuts.push_back(i);
  FrameReader reader(small_limit_bytes);
  const Taken taken = read_in_pieces(reader, bytes, cuts);
  CHECK(taken.payloads == std::vector<std::string>{"one", std::string(300, 'z'), "3"});
}

TEST_CASE("a frame of no bytes is refused, and so is all after it") {
  FrameReader reader(small_limit_bytes);
  const Taken taken = read_in_pieces(reader, framed("good") + framed("") + framed("more"), {});
  CHECK(taken.payloads == std::vector<std::string>{"good"});
  REQUIRE(taken.fault.has_value());
  CHECK(taken.fault->code == Code::invalid);
  reader.feed(framed("later"));
  CHECK_FALSE(reader.next().ok());
  reader.feed(framed("later"));
  CHECK_FALSE(reader.next().ok());
}

TEST_CASE("a length over the limit is refused as soon as it is known, and costs no memory") {
  for (const std::string& header : {std::string("\xe9\x03\x00\x00", 4), std::string(4, '\xff')}) {
    FrameReader reader(small_limit_bytes);
    const Taken taken = read_in_pieces(reader, header, {1, 2, 3});
    REQUIRE(taken.fault.has_value());
    CHECK(taken.fault->code == Code::too_large);
    CHECK(taken.fault->message.find("at most 1000") != std::string::npos);
    CHECK(reader.held_bytes() < 100);
  }
}

TEST_CASE("the longest frame that is allowed is taken") {
  FrameReader reader(small_limit_bytes);
  const std::string payload(small_limit_bytes, 'x');
  CHECK(read_in_pieces(reader, framed(payload), {500}).payloads ==
        std::vector<std::string>{payload});
}

TEST_CASE("a claimed length costs memory only as its bytes come") {
  FrameReader reader(wire::frame_limit_bytes);
  const std::string frame = framed(std::string(wire::frame_limit_bytes, 'x'));
  for (std::size_t fed = 0; fed < 1'000'000; fed += 10'000) {
    reader.feed(std::string_view(frame).substr(fed, 10'000));
    const auto next = reader.next();
    REQUIRE(next.ok());
    CHECK_FALSE(next.value().has_value());
    CHECK(reader.held_bytes() <= 2 * (fed + 10'000));
  }
}

TEST_CASE("once a large frame is done its memory is given back") {
  FrameReader reader(wire::frame_limit_bytes);
  const Taken taken = read_in_pieces(reader, framed(std::string(1'000'000, 'x')), {500'000});
  CHECK(taken.payloads.size() == 1);
  CHECK(reader.held_bytes() < 5000);
}

TEST_CASE("a new limit holds for the frames that are not yet given out, also of one piece") {
  const std::string bytes = framed("helo") + framed("longer") + framed("seven..");
  FrameReader reader(4);
  reader.feed(bytes);
  CHECK(reader.next().value() == "helo");
  reader.set_limit(6);
  CHECK(reader.next().value() == "longer");
  CHECK(reader.next().error().code == Code::too_large);
}

TEST_CASE("what was fed and not yet given out can be kept, before more is fed") {
  CHECK(rc::check([](const std::vector<bool>& keeps) {
    std::string bytes;
    std::vector<std::string> payloads;
    for (std::size_t i = 0; i < 20; ++i) {
      payloads.push_back(std::string(i * 7 % 11 + 1, static_cast<char>('a' + i)));
      bytes += framed(payloads.back());
    }
    FrameReader reader(small_limit_bytes);
    std::vector<std::string> got;
    std::size_t fed = 0;
    for (const bool keep : keeps) {
      const auto piece = std::make_unique<std::string>(bytes.substr(fed, 17));
      fed += piece->size();
      reader.feed(*piece);
      if (keep) {
        // As a connection that is paused: one frame, and the rest is for later.
        if (const auto next = reader.next(); next.value().has_value())
          got.emplace_back(*next.value());
        reader.keep();
        continue;
      }
      while (const auto next = reader.next().value()) got.emplace_back(*next);
    }
    while (const auto next = reader.next().value()) got.emplace_back(*next);
    RC_ASSERT(got.size() <= payloads.size());
    RC_ASSERT(std::equal(got.begin(), got.end(), payloads.begin()));
    if (fed == bytes.size()) RC_ASSERT(got.size() == payloads.size());
  }));
}

TEST_CASE("what has been given out is not kept, however often the rest is") {
  FrameReader reader(small_limit_bytes);
  const std::string frame = framed("0123456789");
  reader.feed(frame);
  reader.keep();
  for (int i = 0; i < 10'000; ++i) {
    reader.feed(frame);
    CHECK(reader.next().value() == "0123456789");
    reader.keep();
  }
  CHECK(reader.held_bytes() < 200);
}

TEST_CASE("of what follows a frame that came in two pieces nothing is copied") {
  FrameReader reader(small_limit_bytes);
  std::string bytes;
  for (int i = 0; i < 200; ++i) bytes += framed("0123456789");
  CHECK(read_in_pieces(reader, bytes, {7}).payloads.size() == 200);
  CHECK(reader.held_bytes() < 200);
}

TEST_CASE("an end of the stream cuts a frame short once its first byte has come") {
  FrameReader reader(small_limit_bytes);
  CHECK_FALSE(reader.within_frame());
  Taken taken = read_in_pieces(reader, framed("ab") + "\x05", {});
  CHECK(taken.payloads.size() == 1);
  CHECK(reader.within_frame());
  taken = read_in_pieces(reader,
                         std::string("\x00\x00\x00"
                                     "12345",
                                     8),
                         {});
  CHECK(taken.payloads == std::vector<std::string>{"12345"});
  CHECK_FALSE(reader.within_frame());
}

TEST_CASE("thousands of small frames are few pieces, and a large payload is not copied") {
  FrameWriter writer;
  for (int i = 0; i < 10'000; ++i) writer.add("0123456789");
  std::string large(20'000, 'x');
  const char* const bytes = large.data();
  writer.add(std::move(large));
  writer.add("small");
  std::array<std::string_view, 64> pieces;
  const std::size_t count = writer.gather(pieces);
  CHECK(count <= 6);
  CHECK(pieces[count - 2].data() == bytes);
}

TEST_CASE("written in parts of any size, the rest stays queued in order") {
  CHECK(rc::check([](std::vector<std::uint16_t> parts) {
    FrameWriter writer;
    std::string expected;
    std::string bytes;
    std::size_t i = 0;
    const auto write_part = [&](std::size_t part) {
      std::array<std::string_view, 2> pieces;
      const std::size_t count = writer.gather(pieces);
      std::size_t left = part;
      for (std::size_t piece = 0; piece < count && left > 0; ++piece) {
        const std::string_view some = pieces[piece].substr(0, left);
        bytes += some;
        left -= some.size();
      }
      writer.wrote(part - left);
    };
    for (const std::uint16_t part : parts) {
      ++i;
      const std::string payload(i % 4 == 0 ? 9000 + i : i, static_cast<char>('a' + i % 20));
      writer.add(payload);
      expected += framed(payload);
      write_part(part % 20'000);
      RC_ASSERT(writer.queued_bytes() == expected.size() - bytes.size());
    }
    while (writer.queued_bytes() > 0) write_part(5000);
    RC_ASSERT(bytes == expected);
  }));
}

TEST_CASE("a cleared writer has nothing to write") {
  FrameWriter writer;
  writer.add("one");
  writer.wrote(2);
  writer.clear();
  CHECK(writer.queued_bytes() == 0);
  writer.add("two");
  CHECK(written(writer) == framed("two"));
}
