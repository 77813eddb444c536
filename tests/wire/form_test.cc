#include <doctest/doctest.h>

#include "gpl/core/specifier.h"
#include "gpl/wire/read.h"
#include "gpl/wire/requirement_fields.h"
#include "gpl/wire/write.h"

namespace gpl::wire {
namespace {

enum class Colour { red, green, blue };
struct Dot {
  std::int8_t x = 0;
  std::uint8_t y = 0;
  friend bool operator==(const Dot&, const Dot&) = default;
};
struct Even {
  int number = 0;
};
struct Growing {
  int first = 0;
  std::string second;
};
struct Wrapped {
  std::uint16_t number = 0;
};

}  // namespace

template <>
inline constexpr auto last_enumerator<Colour> = last_is<Colour::blue>();
template <>
inline constexpr auto fields<Dot> = list_of<Dot>("dot", &Dot::x, &Dot::y);
template <>
inline constexpr auto fields<Even> = list_of<Even>("even", &Even::number);
template <>
inline constexpr Rule<Even> rule<Even> = {[](const Even& even) { return even.number % 2 == 0; },
                                          "the number is even"};
template <>
inline constexpr auto fields<Growing> = list_of<Growing>("growing", &Growing::first,
                                                         &Growing::second);
template <>
inline constexpr bool is_extensible<Growing> = true;
template <>
inline constexpr auto fields<Wrapped> = list_of<Wrapped>("wrapped", &Wrapped::number);
template <>
inline constexpr bool is_bare<Wrapped> = true;

namespace {

template <class T>
std::string written(const T& value) {
  Writer out("");
  write(out, value);
  return std::move(out).take();
}

/// What is read, if it is all of the bytes.
template <class T>
std::optional<T> taken(std::string_view bytes) {
  Reader in(bytes, 0);
  T value{};
  if (!read(in, value) || in.left() != 0) return std::nullopt;
  return value;
}

template <class T>
std::string fault(std::string_view bytes) {
  Reader in(bytes, 0);
  T value{};
  REQUIRE(!read(in, value));
  return in.fault();
}

template <std::size_t size>
std::string bytes_of(const char (&literal)[size]) {
  return std::string(literal, size - 1);
}

TEST_CASE("a struct is an array of its fields") {
  CHECK(written(Dot{-1, 2}) == "\x92\xff\x02");
  CHECK(taken<Dot>("\x92\xff\x02") == Dot{-1, 2});
  CHECK(written(Wrapped{7}) == "\x07");
}

TEST_CASE("an optional is its value or nothing") {
  CHECK(written(std::optional<int>()) == "\xc0");
  CHECK(written(std::optional<int>(5)) == "\x05");
  CHECK(!taken<std::optional<int>>("\xc0").value().has_value());
  CHECK(taken<std::optional<int>>("\x05").value() == 5);
}

TEST_CASE("pairs, arrays, maps, shared values and texts have a form") {
  CHECK(written(std::pair<int, bool>(1, true)) == "\x92\x01\xc3");
  CHECK(written(std::array<int, 3>{1, 2, 3}) == "\x93\x01\x02\x03");
  CHECK(written(std::map<std::string, int>{{"b", 2}, {"a", 1}}) ==
        "\x82\xc4\x01"
        "a\x01\xc4\x01"
        "b\x02");
  CHECK(written(std::make_shared<const Dot>(Dot{1, 2})) == "\x92\x01\x02");
  CHECK(written(SpecifierSet::parse(">=2, <3").value()) == "\xc4\x06<3,>=2");
  CHECK(taken<std::pair<int, bool>>("\x92\x01\xc3") == std::pair<int, bool>(1, true));
  CHECK(taken<std::array<int, 3>>("\x93\x01\x02\x03") == std::array<int, 3>{1, 2, 3});
  CHECK(taken<SpecifierSet>("\xc4\x06<3,>=2") == SpecifierSet::parse(">=2, <3").value());
}

TEST_CASE("numbers that the type cannot hold are refused") {
  CHECK(taken<std::uint8_t>("\xcc\xff") == 255);
  CHECK(fault<std::uint8_t>(bytes_of("\xcd\x01\x00")) ==
        "expected a number from 0 to 255, found 256 at byte 0");
  CHECK(fault<std::uint8_t>("\xff") == "expected a number from 0 to 255, found -1 at byte 0");
  CHECK(taken<std::int8_t>("\xd0\x80") == -128);
  CHECK(fault<std::int8_t>("\xcc\x80") ==
        "expected a number from -128 to 127, found 128 at byte 0");
  CHECK(fault<std::int8_t>("\xd1\xff\x7f") ==
        "expected a number from -128 to 127, found -129 at byte 0");
  CHECK(fault<std::int64_t>("\xcf\xff\xff\xff\xff\xff\xff\xff\xff") ==
        "expected a number from -9223372036854775808 to 9223372036854775807, found "
        "18446744073709551615 at byte 0");
}

TEST_CASE("longer forms than needed are refused") {
  for (const std::string& bytes :
       {bytes_of("\xcc\x7f"), bytes_of("\xcd\x00\xff"), bytes_of("\xce\x00\x00\xff\xff"),
        bytes_of("\xcf\x00\x00\x00\x00\xff\xff\xff\xff"), bytes_of("\xd0\xe0"),
        bytes_of("\xd0\x01"), bytes_of("\xd1\xff\x80"), bytes_of("\xd2\xff\xff\x80\x00"),
        bytes_of("\xd3\xff\xff\xff\xff\x80\x00\x00\x00")}) {
    CHECK(fault<std::int64_t>(bytes) == "a longer form than needed at byte 0");
  }
  CHECK(fault<std::string>(bytes_of("\xc5\x00\x01x")) == "a longer form than needed at byte 0");
  CHECK(fault<std::string>(bytes_of("\xc6\x00\x00\xff\xff")) ==
        "a longer form than needed at byte 0");
  CHECK(fault<std::vector<int>>(bytes_of("\xdc\x00\x01\x01")) ==
        "a longer form than needed at byte 0");
  CHECK(fault<std::vector<int>>(bytes_of("\xdd\x00\x00\xff\xff")) ==
        "a longer form than needed at byte 0");
  CHECK(fault<std::map<int, int>>(bytes_of("\xde\x00\x01\x01\x01")) ==
        "a longer form than needed at byte 0");
}

TEST_CASE("the shortest form of every size is taken") {
  for (int shift = 0; shift < 63; ++shift) {
    for (const std::int64_t around : {-1, 0, 1}) {
      const std::int64_t value = (std::int64_t{1} << shift) + around;
      CHECK(taken<std::int64_t>(written(value)) == value);
      CHECK(taken<std::int64_t>(written(-value)) == -value);
      const auto natural = static_cast<std::uint64_t>(value);
      CHECK(taken<std::uint64_t>(written(natural)) == natural);
    }
  }
}

TEST_CASE("a value of another kind is refused, and both are named") {
  CHECK(fault<int>("\xc4\x01x") == "expected a number, found a string at byte 0");
  CHECK(fault<bool>("\x01") == "expected true or false, found a number at byte 0");
  CHECK(fault<std::string>("\xa1x") == "expected a string, found text at byte 0");
  CHECK(fault<std::string>("\xc0") == "expected a string, found nothing at byte 0");
  CHECK(fault<std::vector<int>>("\x80") == "expected an array, found a map at byte 0");
  CHECK(fault<std::map<int, int>>("\x90") == "expected a map, found an array at byte 0");
  CHECK(fault<int>("\xca") == "expected a number, found a fraction at byte 0");
  CHECK(fault<int>("\xc1") == "expected a number, found a byte that begins no value at byte 0");
  CHECK(fault<int>("\xd4") == "expected a number, found an extension at byte 0");
  CHECK(fault<int>("\xc2") == "expected a number, found true or false at byte 0");
  CHECK(fault<int>("") == "expected a number, found the end at byte 0");
  CHECK(fault<int>("\xcd\x01") == "the end within a value at byte 1");
}

TEST_CASE("a length that the bytes left cannot hold is refused") {
  CHECK(fault<std::string>("\xc6\xff\xff\xff\xff") ==
        "its length is given as 4294967295, and only 0 bytes are left at byte 0");
  CHECK(fault<std::vector<Dot>>("\xdd\xff\xff\xff\xff\x92") ==
        "its length is given as 4294967295, and only 1 bytes are left at byte 0");
  // Three bytes each.
  CHECK(fault<std::vector<Dot>>("\x92\x92\x01\x02\x92\x01") ==
        "its length is given as 2, and only 5 bytes are left at byte 0");
  CHECK(fault<std::map<int, int>>("\xdf\xff\xff\xff\xff\x01") ==
        "its length is given as 4294967295, and only 1 bytes are left at byte 0");
}

TEST_CASE("unknown enumerators and alternatives are refused") {
  using Either = std::variant<int, bool>;
  CHECK(taken<Colour>("\x02") == Colour::blue);
  CHECK(fault<Colour>("\x03") == "there is no value 3 at byte 0");
  CHECK(taken<Either>("\x92\x01\xc3") == Either(true));
  CHECK(fault<Either>("\x92\x02\xc3") == "there is no alternative 2 at byte 1");
  CHECK(fault<Either>("\x91\x01") == "expected a pair of alternative and value at byte 0");
}

TEST_CASE("maps whose keys do not ascend are refused, equal ones too") {
  CHECK(taken<std::map<int, int>>("\x82\x01\x05\x02\x05") == std::map<int, int>{{1, 5}, {2, 5}});
  CHECK(fault<std::map<int, int>>("\x82\x01\x05\x01\x05") ==
        "a key that is not above the one before it at byte 3");
  CHECK(fault<std::map<int, int>>("\x82\x02\x05\x01\x05") ==
        "a key that is not above the one before it at byte 3");
}

TEST_CASE("pairs and arrays of another length are refused") {
  CHECK(fault<std::pair<int, int>>("\x93\x01\x02\x03") == "expected a pair at byte 0");
  CHECK(fault<std::array<int, 2>>("\x93\x01\x02\x03") == "expected 2 elements at byte 0");
}

TEST_CASE("a struct with other fields than are known is refused") {
  CHECK(fault<Dot>("\x91\x01") == "expected 2 fields of dot, found 1 at byte 0");
  CHECK(fault<Dot>("\x93\x01\x02\x03") == "expected 2 fields of dot, found 3 at byte 0");
  CHECK(fault<Dot>("\x92\x01\xc0") == "field 2 of dot: expected a number, found nothing at byte 2");
}

TEST_CASE("of an extensible struct new fields at the end are passed over, and only these") {
  const std::string known = "\x92\x05\xc4\x01x";
  const std::string longer = "\x93\x05\xc4\x01x";
  // One of each kind of value: whatever a newer version may add.
  for (const std::string& added :
       {bytes_of("\xc0"), bytes_of("\x01"), bytes_of("\xff"), bytes_of("\xc3"), bytes_of("\xa1z"),
        bytes_of("\xc4\x01z"), bytes_of("\xc5\x00\x01z"), bytes_of("\xc6\x00\x00\x00\x01z"),
        bytes_of("\xc7\x01\x05z"), bytes_of("\xca\x01\x02\x03\x04"), bytes_of("\xcc\x80"),
        bytes_of("\xcb\x01\x02\x03\x04\x05\x06\x07\x08"), bytes_of("\xd1\x80\x00"),
        bytes_of("\xd4\x01\x02"), bytes_of("\xd9\x01z"), bytes_of("\x92\x01\x91\xc0"),
        bytes_of("\x81\x01\xc4\x00"), bytes_of("\xdc\x00\x02\x01\x02"),
        bytes_of("\xdf\x00\x00\x00\x01\x01\x02")}) {
    const auto grown = taken<Growing>(longer + added);
    REQUIRE(grown.has_value());
    CHECK(grown->first == 5);
    CHECK(grown->second == "x");
    CHECK(!taken<Growing>((longer + added).substr(0, longer.size() + added.size() - 1)));
  }
  CHECK(taken<Growing>(known).has_value());
  CHECK(fault<Growing>("\x91\x05") == "expected 2 fields of growing, found 1 at byte 0");
  CHECK(fault<Growing>(longer + "\xc1") ==
        "expected a value, found a byte that begins no value at byte 5");
  CHECK(fault<Growing>(longer + "\xdd\xff\xff\xff\xff") == "the end within a value at byte 5");
}

TEST_CASE("what is passed over may be nested a million deep") {
  const std::string deep = "\x93\x05\xc4\x01x" + std::string(1000000, '\x91');
  CHECK(taken<Growing>(deep + "\x01").has_value());
  CHECK(!taken<Growing>(deep).has_value());
}

TEST_CASE("values against a rule of their type are refused") {
  CHECK(taken<Even>("\x91\x04")->number == 4);
  CHECK(fault<Even>("\x91\x05") == "expected that the number is even at byte 0");
}

TEST_CASE("texts that do not parse or are not in their normal form are refused") {
  CHECK(fault<SpecifierSet>("\xc4\x03>=x").ends_with("at byte 0"));
  CHECK(fault<SpecifierSet>("\xc4\x04>= 2") == "a text that is not in its normal form at byte 0");
}

TEST_CASE("the fewest bytes of a type are those of its shortest value") {
  static_assert(smallest_encoding<Dot>() == 3);
  static_assert(smallest_encoding<Wrapped>() == 1);
  static_assert(smallest_encoding<std::variant<Dot, bool>>() == 3);
  static_assert(smallest_encoding<std::pair<std::string, Dot>>() == 6);
  static_assert(smallest_encoding<std::array<std::string, 3>>() == 7);
  static_assert(smallest_encoding<std::optional<Dot>>() == 1);
  static_assert(smallest_encoding<std::shared_ptr<const Dot>>() == 3);
  CHECK(written(Dot{}).size() == 3);
  CHECK(written(std::variant<Dot, bool>(false)).size() == 3);
}

TEST_CASE("members are counted whatever their types are") {
  struct None {};
  struct Many {
    std::optional<Dot> a;
    std::vector<int> b;
    std::variant<Dot, std::string> c;
    std::array<int, 3> d;
    std::shared_ptr<const Dot> e;
    std::map<int, Dot> f;
    bool g = false;
  };
  static_assert(detail::has_members<None, 0>);
  static_assert(!detail::has_members<None, 1>);
  static_assert(detail::has_members<Many, 7>);
  static_assert(!detail::has_members<Many, 6>);
  static_assert(!detail::has_members<Many, 8>);
}

TEST_CASE("a member that is listed twice is found") {
  static_assert(detail::all_differ(&Dot::x, &Dot::y));
  static_assert(!detail::all_differ(&Dot::x, &Dot::y, &Dot::x));
}

TEST_CASE("an enumerator after the last is found") {
  static_assert(detail::is_named<Colour::blue>());
  static_assert(!detail::is_named<static_cast<Colour>(3)>());
}

}  // namespace
}  // namespace gpl::wire
