#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpl/core/result.h"

namespace gpl::host {

/// A file of TOML that a person writes is never larger: what is, is something else.
inline constexpr std::size_t max_toml_bytes = std::size_t{1} << 20;

/// The bytes of a TOML file, or of a pipe. Code::not_found when there is none, Code::too_large over
/// `max_toml_bytes`, else Code::io or Code::denied with the system's reason.
Result<std::string> read_toml_file(const std::filesystem::path& path);

/// One TOML file (TOML 1.0), read key by key. Every getter notes that its key is known and gives
/// nothing when the key is absent or of another type; the first thing wrong is kept, with file and
/// line, and `finish` gives it. So: call the getters, then `finish`, and use what they gave only
/// when that is ok.
class TomlTable {
 public:
  /// `file_name` is for messages. Code::invalid with file:line:column when it is not TOML,
  /// Code::too_large over `max_toml_bytes`. Text of any kind is safe to give.
  static Result<TomlTable> parse(std::string_view text, std::string file_name);

  TomlTable(TomlTable&&) noexcept;
  TomlTable& operator=(TomlTable&&) noexcept;
  ~TomlTable();

  /// `hint` says how to write what is meant, at the end of a message about a wrong type.
  std::optional<std::string> string(std::string_view key, std::string_view hint = {});
  std::optional<bool> boolean(std::string_view key, std::string_view hint = {});
  std::optional<std::int64_t> integer(std::string_view key, std::string_view hint = {});
  std::optional<std::vector<std::string>> strings(std::string_view key, std::string_view hint = {});
  /// A table whose values are all strings, in the order of the file.
  std::optional<std::vector<std::pair<std::string, std::string>>> string_table(
      std::string_view key, std::string_view hint = {});

  /// Whether the key is there and holds a table: for a key that may be written in two ways.
  bool holds_table(std::string_view key) const;

  /// Refuses each of these keys that is there with Code::unsupported: a later version has them.
  void refuse_later(const std::vector<std::string>& keys);

  /// Says that the key's value is wrong in meaning: `message` is told with file and line.
  void refuse(std::string_view key, Code code, std::string_view message);

  /// The first thing that was wrong, else the first key of the file that nobody asked for, with the
  /// nearest one that was.
  Status finish() const;

 private:
  struct Parsed;
  explicit TomlTable(std::unique_ptr<Parsed> parsed);
  std::unique_ptr<Parsed> parsed_;  // hides the TOML library, which takes seconds to compile
};

}  // namespace gpl::host
