#include "gpl/host/python_literals.h"

#include <optional>
#include <vector>

#include "gpl/core/ascii.h"

namespace gpl::host {
namespace {

struct Token {
  enum class Kind { name, text, sign, line_end };
  Kind kind = Kind::line_end;
  std::string_view text;       // of a string: between its quotes
  bool begins_line = false;    // nothing, not even a space, stands before it
  bool is_plain_text = false;  // of a string: no prefix and no backslash in it
};

// Splits Python source into what the readers here tell apart. Bytes that begin no name, string or
// line are signs of one byte.
class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) {
    if (source_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    line_begin_ = at_;
  }

  std::optional<Token> next() {
    skip_blanks();
    if (at_ >= source_.size()) return std::nullopt;
    const std::size_t begin = at_;
    Token token;
    token.begins_line = begin == line_begin_;
    const char c = source_[at_];
    if (c == '\n' || c == '\r') {
      line_begin_ = ++at_;
      token.kind = Token::Kind::line_end;
    } else if (c == '\'' || c == '"') {
      read_string(token);
    } else if (is_name(c)) {
      while (at_ < source_.size() && is_name(source_[at_])) ++at_;
      token.kind = Token::Kind::name;
      token.text = source_.substr(begin, at_ - begin);
    } else {
      token.kind = Token::Kind::sign;
      token.text = source_.substr(at_++, 1);
    }
    return token;
  }

 private:
  static bool is_name(char c) { return is_alphanumeric(c) || c == '_' || c == '.'; }

  void skip_blanks() {
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '#') {
        while (at_ < source_.size() && source_[at_] != '\n' && source_[at_] != '\r') ++at_;
      } else if (c == '\\' && at_ + 1 < source_.size() && source_[at_ + 1] == '\n') {
        at_ += 2;
      } else if (c == ' ' || c == '\t' || c == '\f') {
        ++at_;
      } else {
        return;
      }
    }
  }

  void read_string(Token& token) {
    const std::string_view rest = source_.substr(at_);
    const std::string_view one = rest.substr(0, 1);
    const bool is_long = rest.size() >= 3 && rest[1] == rest[0] && rest[2] == rest[0];
    const std::string_view quote = is_long ? rest.substr(0, 3) : one;
    const bool has_prefix = at_ > 0 && is_name(source_[at_ - 1]);
    at_ += quote.size();
    const std::size_t begin = at_;
    token.kind = Token::Kind::text;
    token.is_plain_text = !is_long && !has_prefix;
    while (at_ < source_.size() && !source_.substr(at_).starts_with(quote)) {
      const char c = source_[at_];
      if (!is_long && (c == '\n' || c == '\r')) break;  // never closed: the line is broken
      if (c == '\\') token.is_plain_text = false;
      at_ += c == '\\' && at_ + 1 < source_.size() ? 2U : 1U;
    }
    token.text = source_.substr(begin, at_ - begin);
    if (source_.substr(at_).starts_with(quote)) {
      at_ += quote.size();
    } else {
      token.is_plain_text = false;
    }
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
};

std::vector<Token> tokens_of(std::string_view source) {
  std::vector<Token> tokens;
  Scanner scanner(source);
  while (std::optional<Token> token = scanner.next()) tokens.push_back(*token);
  return tokens;
}

bool is_sign(const std::vector<Token>& tokens, std::size_t at, char sign) {
  return at < tokens.size() && tokens[at].kind == Token::Kind::sign && tokens[at].text[0] == sign;
}

bool ends_line(const std::vector<Token>& tokens, std::size_t at) {
  return at >= tokens.size() || tokens[at].kind == Token::Kind::line_end;
}

std::optional<PythonLiteral> literal(const std::vector<Token>& tokens, std::size_t at) {
  using Kind = PythonLiteral::Kind;
  if (at >= tokens.size()) return std::nullopt;
  const Token& token = tokens[at];
  if (token.kind == Token::Kind::text && token.is_plain_text) {
    return PythonLiteral{Kind::text, false, std::string(token.text)};
  }
  if (token.kind != Token::Kind::name) return std::nullopt;
  if (token.text == "None") return PythonLiteral{};
  if (token.text == "True") return PythonLiteral{Kind::boolean, true, ""};
  if (token.text == "False") return PythonLiteral{Kind::boolean, false, ""};
  return std::nullopt;
}

// The index of the assigning = of the line that goes on at `at`, past an annotation; nothing when
// the line is no assignment.
std::optional<std::size_t> assignment(const std::vector<Token>& tokens, std::size_t at) {
  const bool annotated = is_sign(tokens, at, ':');
  for (; annotated && !ends_line(tokens, at) && !is_sign(tokens, at, '='); ++at) {
  }
  if (!is_sign(tokens, at, '=') || is_sign(tokens, at + 1, '=')) return std::nullopt;
  return at;
}

}  // namespace

PythonLiterals assigned_literals(std::string_view source) {
  PythonLiterals literals;
  const std::vector<Token> tokens = tokens_of(source);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at].kind != Token::Kind::name || !tokens[at].begins_line) continue;
    const std::optional<std::size_t> sign = assignment(tokens, at + 1);
    if (!sign) continue;
    const std::string name(tokens[at].text);
    const std::optional<PythonLiteral> value = literal(tokens, *sign + 1);
    if (value && ends_line(tokens, *sign + 2)) {
      literals[name] = *value;
    } else {
      literals.erase(name);
    }
  }
  return literals;
}

PythonLiterals listed_literals(std::string_view source) {
  PythonLiterals literals;
  const std::vector<Token> tokens = tokens_of(source);
  for (std::size_t at = 0; at + 2 < tokens.size(); ++at) {
    if (tokens[at].kind != Token::Kind::text) continue;
    const bool in_pair = at > 0 && is_sign(tokens, at - 1, '(') && is_sign(tokens, at + 1, ',') &&
                         is_sign(tokens, at + 3, ')');
    if (!in_pair && !is_sign(tokens, at + 1, ':')) continue;
    if (const std::optional<PythonLiteral> value = literal(tokens, at + 2)) {
      literals[std::string(tokens[at].text)] = *value;
    }
  }
  return literals;
}

}  // namespace gpl::host
