#include "wal_folder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "gpl/store/damage.h"
#include "gpl/store/segment.h"
#include "gpl/store/wal_recovery.h"
#include "output.h"

namespace gpl::cmd {
namespace {

/// Of the UTF-8 at the front of `text`, where it is a character that does more than to show itself;
/// else 0.
std::size_t control_bytes(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? std::uint32_t{static_cast<unsigned char>(text[i])} : 0U;
  };
  code = byte(0);
  if (code < 0x20 || code == 0x7f) return 1;
  if (code == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) {
    code = byte(1);
    return 2;
  }
  if (code != 0xe2 || (byte(1) & 0xc0U) != 0x80 || (byte(2) & 0xc0U) != 0x80) return 0;
  code = 0x2000 + ((byte(1) & 0x3fU) << 6U) + (byte(2) & 0x3fU);
  const bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                     code == 0x200e || code == 0x200f;
  return turns ? 3 : 0;
}

Error no_log(const std::string& path, bool has_snapshots) {
  const std::string what = path + " holds no log: no segment (wal-...) is in it";
  if (has_snapshots) {
    return {Code::not_found,
            what +
                ", only snapshots; with its segments gone it cannot be used. The way out: put "
                "the whole folder back from a copy that was made after the peer last ran; or, "
                "where other peers hold the log, move the folder away; see gpl-wal(5)"};
  }
  return {Code::not_found, what + "; name the folder \"log\" of a peer, or a copy of it"};
}

}  // namespace

Result<LogFolder> open_log(const std::string& path) {
  Result<std::unique_ptr<store::FolderDisk>> disk = store::FolderDisk::open_to_read(path);
  if (!disk) return std::move(disk).error();
  Result<std::vector<std::string>> names = disk.value()->list();
  if (!names) return std::move(names).error();
  if (!store::has_segments(names.value())) return no_log(path, store::has_snapshots(names.value()));
  return LogFolder{std::move(disk).value(), std::move(names).value()};
}

std::string advised(const Error& error, const LogFolder& folder) {
  std::uint64_t last = 0;
  for (const std::string& name : folder.names) {
    last = std::max(last, store::parse_segment_name(name).value_or(0));
  }
  const std::optional<store::Place> place = store::place_of(error);
  // What the peer writes to, or has removed between two looks.
  const bool may_be_moving =
      error.code == Code::not_found ||
      (error.code == Code::invalid && place && place->file == store::segment_name(last));
  return error.message +
         (may_be_moving ? "; if its peer is running, look again after it has stopped" : "");
}

std::string outcome_of(const Error& error) {
  if (error.code == Code::invalid) return "damaged";
  return error.code == Code::unsupported ? "newer" : "unreadable";
}

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t bytes = control_bytes(text, code);
    if (bytes > 0) {
      std::array<char, 8> shown{};
      std::snprintf(shown.data(), shown.size(), "\\u%04x", unsigned{code});
      out += shown.data();
    } else {
      out += text.front();
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

int fail_wal(const std::string& message) {
  complain("wal: " + escaped(message));
  return 1;
}

}  // namespace gpl::cmd
