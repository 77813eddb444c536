#include "gpl/client/client_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "gpl/core/ascii.h"
#include "gpl/core/hex.h"
#include "gpl/host/key_file.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"

namespace gpl::client {
namespace {

constexpr const char* file_name = "client.key";
constexpr std::string_view form = "gpl-client-pair-1 ";  // and the secret half in hex
constexpr std::size_t most_bytes = 256;

std::string text_of(const auth::KeyPair& pair) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(form);
  for (const std::uint8_t byte : pair.secret) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text + '\n';
}

std::optional<std::uint8_t> hex_digit(char c) {
  if (is_digit(c)) return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<auth::KeyPair> pair_of(std::string_view text) {
  text = trimmed(text);
  auth::KeyBytes secret{};
  if (!text.starts_with(form) || text.size() != form.size() + 2 * secret.size()) {
    return std::nullopt;
  }
  text.remove_prefix(form.size());
  for (std::size_t i = 0; i < secret.size(); ++i) {
    const auto high = hex_digit(text[2 * i]);
    const auto low = hex_digit(text[2 * i + 1]);
    if (!high || !low) return std::nullopt;
    secret[i] = static_cast<std::uint8_t>(*high << 4U | *low);
  }
  return auth::key_pair_of(secret);
}

/// Makes the file whole or not at all: a reader never sees a part. Fine too when another process
/// has made it meanwhile.
bool keep(int folder, const auth::KeyPair& pair) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return false;
  const std::string made = std::string(file_name) + "." + hex(number);
  const posix::Fd file(
      ::openat(folder, made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return false;
  const bool written = posix::write_all(file.get(), text_of(pair)).ok() && ::fsync(file.get()) == 0;
  const bool linked = written && (::linkat(folder, made.c_str(), folder, file_name, 0) == 0 ||
                                  ::faccessat(folder, file_name, R_OK, 0) == 0);
  ::unlinkat(folder, made.c_str(), 0);
  return linked;
}

Error not_usable(const std::string& why) {
  return Error{Code::denied, why + "; --local runs it here without a cluster"};
}

}  // namespace

Result<auth::KeyPair> client_key_pair(const std::string& state_folder) {
  const auth::KeyPair drawn = auth::draw_key_pair();
  if (!posix::make_folders(state_folder, 0700).ok()) return drawn;
  const Result<posix::Fd> folder = posix::open_folder(state_folder);
  if (!folder.ok()) return drawn;
  const int at = folder.value().get();
  Result<std::string> text = posix::read_file_at(at, file_name, most_bytes);
  if (!text.ok() && text.error().code == Code::not_found && keep(at, drawn)) {
    text = posix::read_file_at(at, file_name, most_bytes);
  }
  if (!text.ok() && text.error().code != Code::too_large) return drawn;
  if (text.ok()) {
    if (const std::optional<auth::KeyPair> pair = pair_of(text.value())) return *pair;
  }
  return not_usable(state_folder + "/" + file_name +
                    " does not hold this user's pair of keys: move it away, and a new one is made");
}

Result<std::optional<Proof>> read_proof(const host::Folders& folders) {
  const Result<std::optional<std::string>> line = host::read_key_file(folders.configuration);
  if (!line.ok()) return not_usable(line.error().message);
  if (!line.value()) return std::optional<Proof>();
  Result<auth::Key> key = auth::Key::parse(*line.value());
  if (!key.ok()) {
    return not_usable(host::key_file_path(folders.configuration) + ": " + key.error().message +
                      "; gpl key set replaces it");
  }
  Result<auth::KeyPair> own = client_key_pair(folders.state);
  if (!own.ok()) return std::move(own).error();
  return std::optional(Proof{std::move(key).value(), own.value()});
}

}  // namespace gpl::client
