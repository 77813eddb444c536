#include "gpl/core/package_requirement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gpl/core/ascii.h"

namespace gpl {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_name_punctuation(char c) { return c == '-' || c == '_' || c == '.'; }
bool belongs_to_name(char c) { return is_alphanumeric(c) || is_name_punctuation(c); }

/// Walks over the text of a requirement and knows the column.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  std::size_t column() const { return at_ + 1; }
  std::string_view rest() const { return text_.substr(at_); }
  bool at_end() const { return at_ == text_.size(); }
  bool next_is(char c) const { return !at_end() && text_[at_] == c; }

  void skip_blanks() { take_while(is_blank); }

  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }

  bool take_text(std::string_view text) {
    if (!rest().starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  template <class Belongs>
  std::string_view take_while(Belongs belongs) {
    const std::size_t begin = at_;
    while (!at_end() && belongs(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  /// PEP 508's identifier: letters and digits, with - _ . between them. Nothing when there is none.
  std::optional<std::string_view> take_identifier() {
    const std::size_t begin = at_;
    const std::string_view name = take_while(belongs_to_name);
    if (!name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back())) return name;
    at_ = begin;
    return std::nullopt;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Error at_column(Code code, std::size_t column, const std::string& what) {
  return Error{code, what + ", at column " + std::to_string(column)};
}

/// [EXTRA, ...], the brackets included, or nothing.
Result<std::vector<std::string>> read_extras(Cursor& cursor) {
  std::vector<std::string> extras;
  if (!cursor.take('[')) return extras;
  cursor.skip_blanks();
  bool wants_name = !cursor.next_is(']');
  while (wants_name) {
    const auto name = cursor.take_identifier();
    if (!name) {
      return at_column(Code::invalid, cursor.column(),
                       in_quotes(cursor.rest()) + " is not the name of an extra");
    }
    extras.push_back(normalised_package_name(*name));
    cursor.skip_blanks();
    wants_name = cursor.take(',');
    cursor.skip_blanks();
  }
  if (!cursor.take(']')) {
    return at_column(Code::invalid, cursor.column(), "a ] is missing after the extras");
  }
  std::sort(extras.begin(), extras.end());
  extras.erase(std::unique(extras.begin(), extras.end()), extras.end());
  return extras;
}

/// A specifier set as PEP 508 has it: unlike a bare set, no empty clause before the last comma.
Result<SpecifierSet> read_clauses(std::string_view text, std::size_t column) {
  bool clause_ended = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ',' && clause_ended) {
      return at_column(Code::invalid, column + i, "a version clause is missing before the comma");
    }
    if (text[i] == ',' || !is_whitespace(text[i])) clause_ended = text[i] == ',';
  }
  return SpecifierSet::parse(text, column);
}

/// The version clauses, in parentheses or not, up to a marker or the end.
Result<SpecifierSet> read_specifiers(Cursor& cursor) {
  const bool in_parentheses = cursor.take('(');
  const std::size_t column = cursor.column();
  const std::string_view text =
      cursor.take_while([&](char c) { return c != ';' && !(in_parentheses && c == ')'); });
  if (in_parentheses && !cursor.take(')')) {
    return at_column(Code::invalid, cursor.column(), "a ) is missing after the version clauses");
  }
  Result<SpecifierSet> set = read_clauses(text, column);
  cursor.skip_blanks();
  if (set.ok() && !cursor.at_end() && !cursor.next_is(';')) {
    return at_column(Code::invalid, cursor.column(),
                     in_quotes(cursor.rest()) + " must not follow the version clauses");
  }
  return set;
}

bool take_marker_operand(Cursor& cursor) {
  static constexpr std::array<std::string_view, 12> variables = {
      "python_version",
      "python_full_version",
      "os_name",
      "sys_platform",
      "platform_release",
      "platform_system",
      "platform_version",
      "platform_machine",
      "platform_python_implementation",
      "extra",
      "implementation_name",
      "implementation_version",
  };
  cursor.skip_blanks();
  for (const char quote : {'\'', '"'}) {
    if (!cursor.take(quote)) continue;
    cursor.take_while([&](char c) { return c != quote; });
    return cursor.take(quote);
  }
  const std::string_view word =
      cursor.take_while([](char c) { return is_alphanumeric(c) || c == '_'; });
  return std::find(variables.begin(), variables.end(), word) != variables.end();
}

bool take_marker_comparison(Cursor& cursor) {
  cursor.skip_blanks();
  for (const std::string_view op : {"===", "==", "!=", "~=", "<=", ">=", "<", ">", "in"}) {
    if (cursor.take_text(op)) return true;
  }
  if (!cursor.take_text("not")) return false;
  cursor.skip_blanks();
  return cursor.take_text("in");
}

/// Whether this is an environment marker of PEP 508, so that it is refused for what it is, and what
/// only stands behind a semicolon is not taken for one.
bool is_marker(std::string_view text) {
  Cursor cursor(text);
  std::size_t open = 0;
  while (true) {
    cursor.skip_blanks();
    for (; cursor.take('('); cursor.skip_blanks()) ++open;
    if (!take_marker_operand(cursor) || !take_marker_comparison(cursor) ||
        !take_marker_operand(cursor)) {
      return false;
    }
    cursor.skip_blanks();
    for (; open > 0 && cursor.take(')'); cursor.skip_blanks()) --open;
    if (cursor.at_end()) return open == 0;
    if (!cursor.take_text("and") && !cursor.take_text("or")) return false;
  }
}

/// Whether the text begins as a URL does: a scheme and a colon (RFC 3986, section 3.1).
bool has_scheme(std::string_view text) {
  Cursor cursor(text);
  const std::string_view scheme = cursor.take_while(
      [](char c) { return is_alphanumeric(c) || c == '+' || c == '-' || c == '.'; });
  return !scheme.empty() && cursor.next_is(':');
}

Error refuse_url(const Cursor& cursor, std::string_view name) {
  const std::string_view url = trimmed(cursor.rest().substr(1));
  if (!has_scheme(url)) {
    return at_column(Code::invalid, cursor.column(),
                     "a URL must follow '@', but " + in_quotes(url) + " is none (PEP 508)");
  }
  return at_column(
      Code::unsupported, cursor.column(),
      in_quotes(url) + " is a URL, and only what is installed can be asked for: write " +
          std::string(name) + " and a version, such as " + std::string(name) + ">=1.0");
}

Error refuse_marker(const Cursor& cursor) {
  const std::string_view marker = trimmed(cursor.rest().substr(1));
  if (is_marker(marker)) {
    return at_column(Code::unsupported, cursor.column(),
                     in_quotes(marker) +
                         " is an environment marker, which does not apply to a machine yet to be "
                         "chosen: leave it out");
  }
  return at_column(
      Code::invalid, cursor.column(),
      "';' begins an environment marker, but " + in_quotes(marker) + " is none (PEP 508)");
}

}  // namespace

std::string normalised_package_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (!is_name_punctuation(c)) {
      out += to_lower(c);
    } else if (out.empty() || out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

Result<PackageRequirement> PackageRequirement::parse(std::string_view text) {
  while (!text.empty() && is_whitespace(text.back())) text.remove_suffix(1);
  Cursor cursor(text);
  cursor.skip_blanks();
  if (cursor.at_end()) return Error{Code::invalid, "no package is named"};
  const auto line_break = std::find_if(text.begin(), text.end(),
                                       [](char c) { return is_whitespace(c) && !is_blank(c); });
  if (line_break != text.end()) {
    return at_column(Code::invalid, static_cast<std::size_t>(line_break - text.begin()) + 1,
                     "a requirement is one line, and this one has a line break");
  }
  const auto name = cursor.take_identifier();
  if (!name) {
    return at_column(Code::invalid, cursor.column(),
                     in_quotes(cursor.rest()) +
                         " does not begin with a package name (letters and digits, with - _ . "
                         "between them)");
  }
  PackageRequirement requirement;
  requirement.written_name = *name;
  requirement.name = normalised_package_name(*name);
  cursor.skip_blanks();
  auto extras = read_extras(cursor);
  if (!extras) return std::move(extras).error();
  requirement.extras = std::move(extras).value();
  cursor.skip_blanks();
  if (cursor.next_is('@')) return refuse_url(cursor, *name);
  auto specifiers = read_specifiers(cursor);
  if (!specifiers) return std::move(specifiers).error();
  requirement.specifiers = std::move(specifiers).value();
  if (cursor.next_is(';')) return refuse_marker(cursor);
  return requirement;
}

std::string PackageRequirement::to_string() const {
  std::string out = name;
  for (std::size_t i = 0; i < extras.size(); ++i) out += (i == 0 ? "[" : ",") + extras[i];
  if (!extras.empty()) out += ']';
  return out + specifiers.to_string();
}

}  // namespace gpl
