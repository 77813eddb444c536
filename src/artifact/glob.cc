#include "gpl/artifact/glob.h"

#include <algorithm>
#include <optional>
#include <string>

#include "gpl/core/ascii.h"

namespace gpl::artifact {
namespace {

using ByteSet = std::bitset<256>;

bool is_graph(char c) { return c > ' ' && c < 0x7f; }

unsigned char as_byte(char c) { return static_cast<unsigned char>(c); }

/// Whether `c` is of the POSIX class, as git has it: its own ASCII tables, in which \v and \f are
/// no space. Nothing for a name that is no class.
std::optional<bool> in_class(std::string_view name, char c) {
  if (name == "alnum") return is_alphanumeric(c);
  if (name == "alpha") return is_upper(c) || is_lower(c);
  if (name == "blank") return c == ' ' || c == '\t';
  if (name == "cntrl") return as_byte(c) < ' ' || c == 0x7f;
  if (name == "digit") return is_digit(c);
  if (name == "graph") return is_graph(c);
  if (name == "lower") return is_lower(c);
  if (name == "print") return c == ' ' || is_graph(c);
  if (name == "punct") return is_graph(c) && !is_alphanumeric(c);
  if (name == "space") return c == ' ' || c == '\t' || c == '\n' || c == '\r';
  if (name == "upper") return is_upper(c);
  if (name == "xdigit") return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
  return std::nullopt;
}

bool add_class(ByteSet& set, std::string_view name, bool fold_case) {
  for (unsigned c = 0; c < 256; ++c) {
    const auto in = in_class(name, static_cast<char>(c));
    if (!in) return false;
    if (*in) set.set(c);
  }
  if (fold_case && name == "upper") return add_class(set, "lower", false);
  return true;
}

void add_range(ByteSet& set, unsigned from, unsigned to, bool fold_case) {
  for (unsigned c = from; c <= to; ++c) {
    set.set(c);
    if (fold_case) set.set(as_byte(to_lower(static_cast<char>(c))));
  }
}

}  // namespace

Glob::Glob(std::string_view pattern, bool fold_case) : fold_case_(fold_case) {
  for (std::size_t at = 0; at < pattern.size() && readable_;) {
    const char c = pattern[at];
    if (c == '*') {
      read_stars(pattern, at);
    } else if (c == '[') {
      readable_ = read_set(pattern, at);
    } else if (c == '?') {
      tokens_.push_back({Kind::any, 0, 0});
      ++at;
    } else if (c == '\\') {
      readable_ = at + 1 < pattern.size();
      if (!readable_) return;
      tokens_.push_back({Kind::byte, as_byte(pattern[at + 1]), 0});
      at += 2;
    } else {
      tokens_.push_back({Kind::byte, as_byte(fold_case ? to_lower(c) : c), 0});
      ++at;
    }
  }
}

void Glob::read_stars(std::string_view pattern, std::size_t& at) {
  const std::size_t begin = at;
  at = std::min(pattern.find_first_not_of('*', at), pattern.size());
  const std::string_view rest = pattern.substr(at);
  const bool bounded = (begin == 0 || pattern[begin - 1] == '/') &&
                       (rest.empty() || rest[0] == '/' || rest.substr(0, 2) == "\\/");
  if (at - begin < 2 || !bounded) {
    tokens_.push_back({Kind::star, 0, 0});
  } else if (!rest.empty() && rest[0] == '/') {
    tokens_.push_back({Kind::folders, 0, 0});
    ++at;
  } else {
    tokens_.push_back({Kind::path, 0, 0});
  }
}

/// Reads `[...]` from `at` on, and leaves `at` behind it. False when it cannot be read.
bool Glob::read_set(std::string_view pattern, std::size_t& at) {
  const auto byte_at = [&](std::size_t i) -> unsigned {
    return i < pattern.size() ? as_byte(pattern[i]) : 0;
  };
  ByteSet set;
  ++at;
  const bool negated = byte_at(at) == '!' || byte_at(at) == '^';
  if (negated) ++at;
  unsigned previous = 0;
  // A ']' that comes first stands for itself.
  for (bool first = true; first || byte_at(at) != ']'; first = false, ++at) {
    unsigned c = byte_at(at);
    if (c == 0) return false;
    if (c == '\\') {
      c = byte_at(++at);
      if (c == 0) return false;
      set.set(c);
    } else if (c == '-' && previous != 0 && byte_at(at + 1) != 0 && byte_at(at + 1) != ']') {
      c = byte_at(++at);
      if (c == '\\') c = byte_at(++at);
      if (c == 0) return false;
      add_range(set, previous, c, fold_case_);
      c = 0;
    } else if (c == '[' && byte_at(at + 1) == ':') {
      const std::size_t end = pattern.find(']', at + 2);
      if (end == std::string_view::npos) return false;
      if (end > at + 2 && pattern[end - 1] == ':') {
        if (!add_class(set, pattern.substr(at + 2, end - at - 3), fold_case_)) return false;
        at = end;
        c = 0;
      } else {
        set.set(c);
      }
    } else {
      set.set(c);
    }
    previous = c;
  }
  ++at;
  if (negated) set.flip();
  set.reset('/');
  tokens_.push_back({Kind::set, 0, static_cast<std::uint32_t>(sets_.size())});
  sets_.push_back(set);
  return true;
}

bool Glob::takes(const Token& token, char byte) const {
  const unsigned char c = as_byte(fold_case_ ? to_lower(byte) : byte);
  if (token.kind == Kind::byte) return token.byte == c;
  if (token.kind == Kind::any) return c != '/';
  return sets_[token.set].test(c);
}

bool Glob::matches(std::string_view text) const {
  if (!readable_) return false;
  std::size_t at = 0;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    if (token.kind == Kind::star || token.kind == Kind::path || token.kind == Kind::folders)
      return matches_from(text, i, at);
    if (at == text.size() || !takes(token, text[at])) return false;
    ++at;
  }
  return at == text.size();
}

/// Keeps the set of all places of the text that the tokens so far can end at: no backtracking, so
/// no pattern is slow.
bool Glob::matches_from(std::string_view text, std::size_t first_token,
                        std::size_t first_byte) const {
  const std::size_t size = text.size();
  std::string reached(size + 2, '\0');  // one more, so that i + 1 is always there
  reached[first_byte] = 1;
  std::size_t low = first_byte;
  for (std::size_t i = first_token; i < tokens_.size(); ++i) {
    switch (tokens_[i].kind) {
      case Kind::star:
        for (std::size_t at = low; at < size; ++at)
          if (reached[at] && text[at] != '/') reached[at + 1] = 1;
        break;
      case Kind::path:
        for (std::size_t at = low; at <= size; ++at) reached[at] = 1;
        break;
      case Kind::folders:
        for (std::size_t at = low; at < size; ++at)
          if (text[at] == '/') reached[at + 1] = 1;
        break;
      case Kind::byte:
      case Kind::any:
      case Kind::set: {
        for (std::size_t at = size; at > low; --at)
          reached[at] = reached[at - 1] && takes(tokens_[i], text[at - 1]);
        reached[low] = 0;
        low = reached.find('\1', low);
        if (low == std::string::npos) return false;
        break;
      }
    }
  }
  return reached[size] != 0;
}

}  // namespace gpl::artifact
