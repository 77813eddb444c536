#include "gpl/host/package_metadata.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "gpl/core/ascii.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"

namespace gpl::host {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct Line {
  std::string_view text;
  bool ended = false;
};

// Takes the next line off `rest`; CR, LF and CRLF end one.
Line next_line(std::string_view& rest) {
  const std::size_t end = rest.find_first_of("\r\n");
  if (end == std::string_view::npos) return {std::exchange(rest, {}), false};
  const Line line{rest.substr(0, end), true};
  rest.remove_prefix(rest.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  return line;
}

// RFC 822 field names: printable ASCII without a colon or a space.
bool is_field_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void fold(std::string& value, std::string_view more) {
  if (!value.empty() && !more.empty()) value += ' ';
  value += more;
}

// PEP 508's names: letters, digits, and - _ . between them.
bool is_package_name(std::string_view name) {
  const auto inner = [](char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(), inner);
}

bool is_version_text(std::string_view text) {
  constexpr std::size_t longest = 200;
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

const std::string* MetadataHeaders::first(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (key == name) return &value;
  }
  return nullptr;
}

MetadataHeaders parse_metadata_headers(std::string_view text, bool whole) {
  MetadataHeaders headers;
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  while (!text.empty()) {
    const Line line = next_line(text);
    if (!line.ended && !whole) return headers;
    const bool folded = !headers.fields.empty() && line.text.find_first_of(" \t") == 0;
    const std::size_t colon = line.text.find(':');
    const bool is_field =
        colon != std::string_view::npos && is_field_name(line.text.substr(0, colon));
    if (folded) {
      fold(headers.fields.back().second, trimmed(line.text));
    } else if (is_field) {
      headers.fields.emplace_back(to_lower(line.text.substr(0, colon)),
                                  trimmed(line.text.substr(colon + 1)));
    } else {
      headers.complete = true;
      return headers;
    }
  }
  headers.complete = whole;
  return headers;
}

Result<PackageMetadata> package_metadata(const MetadataHeaders& headers) {
  const std::string* name = headers.first("name");
  const std::string* version = headers.first("version");
  if (name == nullptr || name->empty()) return Error{Code::invalid, "has no Name"};
  if (!is_package_name(*name)) {
    return Error{Code::invalid, "has the Name " + in_quotes(*name) + ", which no package can have"};
  }
  if (version == nullptr || version->empty()) return Error{Code::invalid, "has no Version"};
  if (!is_version_text(*version)) {
    return Error{Code::invalid, "has the Version " + in_quotes(*version) + ", which is none"};
  }
  return PackageMetadata{*name, *version};
}

Result<MetadataHeaders> read_metadata_headers(int at, const std::string& path) {
  constexpr std::size_t step = 4096;
  const posix::Fd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) {
    const int why = errno;
    const Code code = why == ENOENT ? Code::not_found : posix::io_error("", why).code;
    return Error{code, posix::errno_text(why)};
  }
  std::string text;
  while (text.size() < max_metadata_bytes) {
    const std::size_t had = text.size();
    text.resize(had + step);
    const ssize_t got = ::read(fd.get(), text.data() + had, step);
    const int why = errno;
    text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && why == EINTR) continue;
    if (got < 0) return Error{posix::io_error("", why).code, posix::errno_text(why)};
    MetadataHeaders headers = parse_metadata_headers(text, got == 0);
    // One field more shows that the line before it was not folded.
    const auto is_known = [&](std::string_view name) {
      return headers.first(name) != nullptr && headers.fields.back().first != name;
    };
    if (headers.complete || (is_known("name") && is_known("version"))) return headers;
  }
  return parse_metadata_headers(text);
}

}  // namespace gpl::host
