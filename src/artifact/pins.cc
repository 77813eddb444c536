#include "gpl/artifact/pins.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "gpl/core/ascii.h"
#include "gpl/posix/error.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/listing.h"

namespace gpl::artifact {
namespace {

constexpr std::size_t id_digits = 2 * Digest::size_bytes;
constexpr std::size_t max_owner_bytes = 100;

bool is_owner(std::string_view owner) {
  return !owner.empty() && owner.size() <= max_owner_bytes &&
         std::all_of(owner.begin(), owner.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

Error bad_owner(const Pin& pin) {
  return {Code::invalid, in_quotes(pin.owner) +
                             " cannot own a pin: it must be 1 to 100 of A-Z, "
                             "a-z, 0-9, '.', '_' and '-'"};
}

std::string name_of(const Pin& pin) { return pin.id.hex() + "." + pin.owner; }

std::optional<Pin> pin_of(const std::string& name) {
  if (name.size() <= id_digits + 1 || name[id_digits] != '.') return std::nullopt;
  const std::optional<Digest> id = Digest::from_hex(std::string_view(name).substr(0, id_digits));
  if (!id) return std::nullopt;
  return Pin{*id, name.substr(id_digits + 1)};
}

}  // namespace

Status add_pin(int folder, const Pin& pin) {
  if (!is_owner(pin.owner)) return bad_owner(pin);
  const posix::Fd fd(
      ::openat(folder, name_of(pin).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  return fd.valid() ? success() : Status(posix::io_error("cannot pin " + pin.id.hex()));
}

Status remove_pin(int folder, const Pin& pin) {
  if (!is_owner(pin.owner)) return bad_owner(pin);
  if (::unlinkat(folder, name_of(pin).c_str(), 0) == 0 || errno == ENOENT) return success();
  return posix::io_error("cannot unpin " + pin.id.hex());
}

Result<std::vector<Pin>> list_pins(int folder) {
  Result<std::vector<std::string>> names = posix::names_in(folder);
  if (!names.ok()) return std::move(names).error();
  std::vector<Pin> pins;
  for (const std::string& name : names.value()) {
    if (std::optional<Pin> pin = pin_of(name)) pins.push_back(std::move(*pin));
  }
  return pins;
}

}  // namespace gpl::artifact
