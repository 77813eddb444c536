#include "gpl/host/xml_scanner.h"

#include <algorithm>
#include <array>
#include <utility>

#include "gpl/core/ascii.h"

namespace gpl::host {
namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> entities = {
    {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};

std::string unescaped(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const auto* entity = std::find_if(entities.begin(), entities.end(), [&](const auto& known) {
      return text.starts_with(known.first);
    });
    const bool known = entity != entities.end();
    plain += known ? entity->second : text.front();
    text.remove_prefix(known ? entity->first.size() : 1);
  }
  return plain;
}

// Where the tag ends whose inside `text` begins with: a > in a quoted value does not count.
std::size_t end_of_tag(std::string_view text) {
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != '\0') {
      if (text[i] == quote) quote = '\0';
    } else if (text[i] == '"' || text[i] == '\'') {
      quote = text[i];
    } else if (text[i] == '>') {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

XmlScanner::Token XmlScanner::next() {
  if (closes_itself_) {
    closes_itself_ = false;
    return Token::closing;
  }
  while (!rest_.empty()) {
    if (rest_.front() != '<') {
      const std::size_t end = std::min(rest_.find('<'), rest_.size());
      body_ = rest_.substr(0, end);
      verbatim_ = false;
      rest_.remove_prefix(end);
      return Token::text;
    }
    const Token token = take_markup();
    if (token != Token::end) return token;
  }
  return Token::end;
}

// Token::end when there is nothing to tell of it, or no end to it: then nothing is left.
XmlScanner::Token XmlScanner::take_markup() {
  constexpr std::string_view cdata = "<![CDATA[";
  bool closed = true;
  if (rest_.starts_with("<!--")) {
    rest_.remove_prefix(4);
    closed = skip_past("-->");
  } else if (rest_.starts_with("<?")) {
    closed = skip_past("?>");
  } else if (rest_.starts_with(cdata)) {
    rest_.remove_prefix(cdata.size());
    const std::size_t end = rest_.find("]]>");
    body_ = rest_.substr(0, end);
    verbatim_ = true;
    closed = skip_past("]]>");
    if (closed) return Token::text;
  } else if (rest_.starts_with("<!")) {
    closed = skip_declaration();
  } else {
    return take_tag();
  }
  if (!closed) rest_ = {};
  return Token::end;
}

bool XmlScanner::skip_past(std::string_view mark) {
  const std::size_t at = rest_.find(mark);
  if (at == std::string_view::npos) return false;
  rest_.remove_prefix(at + mark.size());
  return true;
}

// <!DOCTYPE a SYSTEM "a.dtd" [ ... ]>
bool XmlScanner::skip_declaration() {
  const std::size_t end = rest_.find('>');
  const bool has_subset = rest_.substr(0, end).find('[') != std::string_view::npos;
  if (has_subset && !skip_past("]")) return false;
  return skip_past(">");
}

XmlScanner::Token XmlScanner::take_tag() {
  const std::string_view inside = rest_.substr(1);
  const std::size_t end = end_of_tag(inside);
  if (end == std::string_view::npos) {
    rest_ = {};
    return Token::end;
  }
  std::string_view tag = inside.substr(0, end);
  rest_ = inside.substr(end + 1);
  const bool closing = tag.starts_with('/');
  if (closing) tag.remove_prefix(1);
  closes_itself_ = !closing && tag.ends_with('/');
  if (closes_itself_) tag.remove_suffix(1);
  const std::size_t name_end =
      static_cast<std::size_t>(std::find_if(tag.begin(), tag.end(), is_whitespace) - tag.begin());
  name_ = tag.substr(0, name_end);
  body_ = tag.substr(name_end);
  return closing ? Token::closing : Token::opening;
}

std::string XmlScanner::text() const { return verbatim_ ? std::string(body_) : unescaped(body_); }

std::string XmlScanner::attribute(std::string_view name) const {
  std::string_view rest = trimmed(body_);
  while (!rest.empty()) {
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return "";
    const std::string_view found = trimmed(rest.substr(0, equals));
    rest = trimmed(rest.substr(equals + 1));
    if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return "";
    const std::size_t close = rest.find(rest.front(), 1);
    if (close == std::string_view::npos) return "";
    if (found == name) return unescaped(rest.substr(1, close - 1));
    rest = trimmed(rest.substr(close + 1));
  }
  return "";
}

}  // namespace gpl::host
