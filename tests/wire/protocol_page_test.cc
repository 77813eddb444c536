// gpl-protocol(7) is what the code does: it names every message and struct with its number and as
// many fields, and its example is what is sent.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <type_traits>
#include <vector>

#include "all_fields.h"
#include "gpl/wire/frame.h"
#include "gpl/wire/shape.h"

namespace gpl::wire {
namespace {

/// A section of the page, without its heading.
std::string section(const std::string& heading) {
  std::ifstream file(GPL_TEST_CASES "/../../man/gpl-protocol.7.scd");
  REQUIRE(file.is_open());
  std::stringstream all;
  all << file.rdbuf();
  const std::string page = all.str();
  const std::size_t start = page.find("\n# " + heading + "\n");
  REQUIRE(start != std::string::npos);
  const std::size_t body = start + heading.size() + 3;
  return page.substr(body, page.find("\n# ", body) - body);
}

/// Its entries "*NAME* (FIELD, FIELD)": the name, with a + where more fields may come, and how many
/// fields.
using Entries = std::vector<std::pair<std::string, std::size_t>>;
Entries entries(const std::string& heading) {
  const std::string text = section(heading);
  Entries out;
  for (std::size_t at = text.find("\n*"); at != std::string::npos; at = text.find("\n*", at + 1)) {
    const std::size_t name_end = text.find('*', at + 2);
    if (text.compare(name_end, 3, "* (") != 0) continue;  // a paragraph that begins in bold
    const std::size_t close = text.find(')', name_end);
    REQUIRE(close != std::string::npos);
    const std::string listed = text.substr(name_end + 3, close - name_end - 3);
    const auto commas = static_cast<std::size_t>(std::count(listed.begin(), listed.end(), ','));
    const bool may_grow = text.compare(close + 1, 6, " _(+)_") == 0;
    out.emplace_back(text.substr(at + 2, name_end - at - 2) + (may_grow ? "+" : ""),
                     listed.empty() ? 0 : commas + 1);
  }
  return out;
}

template <class T>
std::string entry_name() {
  return std::string(fields<T>.name) + (is_extensible<T> ? "+" : "");
}

template <class V, std::size_t... index>
Entries alternatives(std::index_sequence<index...>) {
  return {{std::to_string(index) + " " + entry_name<std::variant_alternative_t<index, V>>(),
           fields<std::variant_alternative_t<index, V>>.count}...};
}
template <class V>
Entries alternatives() {
  return alternatives<V>(std::make_index_sequence<std::variant_size_v<V>>());
}

/// The structs that travel within a T, itself included, by name.
template <class T>
struct Within {
  static void put(std::map<std::string, std::size_t>& out) {
    if constexpr (is_optional<T> || is_vector<T> || is_array<T>) {
      Within<typename T::value_type>::put(out);
    } else if constexpr (is_map<T>) {
      Within<typename T::key_type>::put(out);
      Within<typename T::mapped_type>::put(out);
    } else if constexpr (Listed<T> && !is_bare<T>) {
      const auto [entry, is_new] = out.emplace(entry_name<T>(), fields<T>.count);
      CHECK(entry->second == fields<T>.count);
      if (is_new) put_members(out);
    }
  }
  static void put_members(std::map<std::string, std::size_t>& out) {
    std::apply(
        [&](auto... member) {
          (Within<std::remove_cvref_t<decltype(std::declval<T>().*member)>>::put(out), ...);
        },
        fields<T>.members);
  }
};
template <class... T>
struct Within<std::variant<T...>> {
  static void put(std::map<std::string, std::size_t>& out) {
    // Commands have a section of their own.
    if constexpr (std::is_same_v<std::variant<T...>, Command>)
      put_inner(out);
    else
      (Within<T>::put(out), ...);
  }
  /// Of messages: what is in them.
  static void put_inner(std::map<std::string, std::size_t>& out) {
    (Within<T>::put_members(out), ...);
  }
};

TEST_CASE("gpl-protocol(7) names every kind of message, with its number and fields") {
  CHECK(entries("WHAT A CLIENT ASKS") == alternatives<Question>());
  CHECK(entries("WHAT A PEER ANSWERS") == alternatives<Answer>());
  CHECK(entries("WHAT A PEER TELLS ITS KEEPER") == alternatives<PeerToKeeper>());
  CHECK(entries("WHAT A KEEPER TELLS ITS PEER") == alternatives<KeeperToPeer>());
  CHECK(entries("WHAT PEERS TELL EACH OTHER") == alternatives<LinkMessage>());
  CHECK(entries("COMMANDS") == alternatives<Command>());
}

TEST_CASE("gpl-protocol(7) names every struct that is in a message") {
  std::map<std::string, std::size_t> structs;
  Within<Question>::put_inner(structs);
  Within<Answer>::put_inner(structs);
  Within<PeerToKeeper>::put_inner(structs);
  Within<KeeperToPeer>::put_inner(structs);
  Within<LinkMessage>::put_inner(structs);
  const Entries listed = entries("STRUCTS");
  const std::map<std::string, std::size_t> on_page(listed.begin(), listed.end());
  for (const auto& [name, count] : structs) {
    CAPTURE(name);
    const auto found = on_page.find(name);
    REQUIRE(found != on_page.end());
    CHECK(found->second == count);
  }
  CHECK(listed.size() == structs.size());
}

/// The bytes of the example's lines that begin with this sign.
std::string example(char sign) {
  std::istringstream lines(section("EXAMPLE"));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(std::string(1, sign) + " ")) continue;
    std::istringstream bytes(line.substr(2, line.find("  ") - 2));
    for (unsigned byte = 0; bytes >> std::hex >> byte;) out += static_cast<char>(byte);
    REQUIRE(bytes.eof());
  }
  return out;
}

template <class Message>
std::string framed(const std::vector<Message>& messages) {
  std::string out;
  for (const Message& message : messages) {
    FrameWriter writer;
    writer.add(encode(message));
    std::vector<std::string_view> pieces(4);
    pieces.resize(writer.gather(pieces));
    for (const std::string_view piece : pieces) out += piece;
  }
  return out;
}

TEST_CASE("the example in gpl-protocol(7) is what is sent") {
  CHECK(example('>') == framed<ClientMessage>({{0, Hello{1, 1, "0.1.0"}},
                                               {1, CancelJob{JobId{12}, std::nullopt}},
                                               {2, CancelJob{JobId{13}, std::nullopt}}}));
  CHECK(example('<') ==
        framed<PeerMessage>({{0, Hello{1, 1, "0.1.0"}},
                             {1, Done{}},
                             {2, Refused{125, "there is no job 13", std::nullopt}}}));
}

}  // namespace
}  // namespace gpl::wire
