#include "gpl/store/damage.h"

#include <charconv>

namespace gpl::store {
namespace {

constexpr std::string_view way_out =
    ". The way out: put the whole folder back from a copy that was made after the peer last ran; "
    "or, where other peers hold the log, move the folder away and start the peer, which then joins "
    "as a new node; see gpl-wal(5)";
constexpr std::string_view damaged_at = " is damaged at offset ";
constexpr std::string_view newer_at = " was written by a newer gpl: at offset ";

}  // namespace

Error damage(std::string_view file, std::uint64_t offset, std::string_view what) {
  return Error{Code::invalid, std::string(file) + std::string(damaged_at) + std::to_string(offset) +
                                  ": " + std::string(what) + std::string(way_out)};
}

Error damage(std::string_view what) {
  return Error{Code::invalid, "the log is damaged: " + std::string(what) + std::string(way_out)};
}

Error too_new(std::string_view file, std::uint64_t offset, std::string_view what) {
  return Error{Code::unsupported, std::string(file) + std::string(newer_at) +
                                      std::to_string(offset) + " is " + std::string(what) +
                                      ", which this one does not know; start that gpl"};
}

std::optional<Place> place_of(const Error& error) {
  const std::string_view text = error.message;
  const std::size_t name_end = text.find(' ');
  if (name_end == std::string_view::npos) return std::nullopt;
  for (const std::string_view before : {damaged_at, newer_at}) {
    if (!text.substr(name_end).starts_with(before)) continue;
    Place place{std::string(text.substr(0, name_end)), 0};
    const char* number = text.data() + name_end + before.size();
    const auto [end, failed] = std::from_chars(number, text.data() + text.size(), place.offset);
    if (failed == std::errc{} && end != number) return place;
  }
  return std::nullopt;
}

std::string without_way_out(const Error& error) {
  return error.message.substr(0, error.message.find(way_out));
}

}  // namespace gpl::store
