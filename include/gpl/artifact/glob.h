#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

namespace gpl::artifact {

/// A glob as gitignore(5) has it, byte for byte as git's wildmatch decides with WM_PATHNAME: `*`
/// and `?` stop at '/',
/// `**` between slashes (or at either end) crosses it, `[...]` with ranges, `!` or `^`, and POSIX
/// classes of ASCII; a backslash takes the next byte literally. A pattern that cannot be read (an
/// open bracket, an unknown class, a lone backslash at the end) matches nothing.
class Glob {
 public:
  /// With `fold_case` as git does for core.ignoreCase: ASCII letters only; an escaped capital then
  /// matches nothing.
  explicit Glob(std::string_view pattern, bool fold_case = false);

  /// Time is at most the product of both lengths, whatever the pattern.
  bool matches(std::string_view text) const;

 private:
  using ByteSet = std::bitset<256>;
  enum class Kind : std::uint8_t {
    byte,
    any,      ///< `?`
    set,      ///< `[...]`
    star,     ///< `*`: any bytes but '/'
    path,     ///< `**`: any bytes
    folders,  ///< `**` and its '/': nothing, or anything that ends in '/'
  };
  struct Token {
    Kind kind;
    unsigned char byte;
    std::uint32_t set;
  };

  void read_stars(std::string_view pattern, std::size_t& at);
  bool read_set(std::string_view pattern, std::size_t& at);
  bool takes(const Token& token, char byte) const;
  bool matches_from(std::string_view text, std::size_t first_token, std::size_t first_byte) const;

  std::vector<Token> tokens_;
  std::vector<ByteSet> sets_;
  bool fold_case_;
  bool readable_ = true;
};

}  // namespace gpl::artifact
