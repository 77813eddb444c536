#pragma once

#include <string>
#include <string_view>

namespace gpl::host {

/// Reads the tags and texts of an XML document one after the other, of any bytes, in one pass: as
/// much of XML 1.0 as tools write. Comments, processing instructions and DOCTYPE are passed over;
/// names are not checked against each other.
class XmlScanner {
 public:
  enum class Token { opening, closing, text, end };

  /// `document` must live as long as the scanner.
  explicit XmlScanner(std::string_view document) : rest_(document) {}

  /// Goes to the next token; a tag `<a/>` is an opening and a closing one.
  Token next();

  /// The name of a tag.
  std::string_view name() const { return name_; }
  /// The text, its entities replaced (those that are not known stay as they are).
  std::string text() const;
  /// An opening tag's attribute; "" none.
  std::string attribute(std::string_view name) const;

 private:
  Token take_markup();
  Token take_tag();
  bool skip_past(std::string_view mark);
  bool skip_declaration();

  std::string_view rest_;
  std::string_view name_;
  std::string_view body_;  // of a text; of a tag what follows its name
  bool verbatim_ = false;  // the text of a CDATA section
  bool closes_itself_ = false;
};

}  // namespace gpl::host
