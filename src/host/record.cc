#include "gpl/host/record.h"

#include <cassert>
#include <charconv>

namespace gpl::host {

void Record::add(std::string_view key, std::string_view value) {
  assert(!key.empty() && key.find('=') == std::string_view::npos);
  pairs_.emplace_back(key, value.substr(0, value.find('\0')));
}

void Record::add(std::string_view key, std::int64_t value) { add(key, std::to_string(value)); }

std::string_view Record::get(std::string_view key) const {
  for (const auto& [name, value] : pairs_) {
    if (name == key) return value;
  }
  return {};
}

std::int64_t Record::number(std::string_view key, std::int64_t otherwise) const {
  const std::string_view text = get(key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? value : otherwise;
}

std::vector<std::string> Record::all(std::string_view key) const {
  std::vector<std::string> values;
  for (const auto& [name, value] : pairs_) {
    if (name == key) values.push_back(value);
  }
  return values;
}

std::string Record::encode() const {
  std::string bytes;
  for (const auto& [name, value] : pairs_) bytes.append(name).append("=").append(value) += '\0';
  return bytes;
}

Result<Record> Record::decode(std::string_view bytes) {
  Record record;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\0');
    const std::size_t equals = bytes.substr(0, end).find('=');
    if (end == std::string_view::npos || equals == std::string_view::npos || equals == 0) {
      return Error{Code::invalid, "not a record: a pair is not KEY=VALUE with a NUL at its end"};
    }
    record.pairs_.emplace_back(bytes.substr(0, equals), bytes.substr(equals + 1, end - equals - 1));
    bytes.remove_prefix(end + 1);
  }
  return record;
}

}  // namespace gpl::host
