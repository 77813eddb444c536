#include "gpl/host/nvidia_xml.h"

#include <charconv>

#include "gpl/core/ascii.h"
#include "gpl/host/nvidia_query.h"
#include "gpl/host/xml_scanner.h"

namespace gpl::host {
namespace {

// The tool's own documents are 6 deep.
constexpr std::size_t max_depth = 32;

std::optional<int> parse_instance(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional<int>(number) : std::nullopt;
}

// Where in the document the scanner is, and the cards so far.
class Reader {
 public:
  // False when the document cannot be followed any further.
  bool open(const XmlScanner& scanner) {
    if (path_ends_.size() >= max_depth) return false;
    path_ends_.push_back(path_.size());
    path_.append("/").append(scanner.name());
    text_.clear();
    if (path_ == "/nvidia_smi_log/gpu") {
      card_ = {};
      card_.pci = normalised_pci_address(scanner.attribute("id"));
    } else if (path_ == "/nvidia_smi_log/gpu/mig_devices/mig_device") {
      slice_ = {};
    }
    return true;
  }

  bool close(const XmlScanner& scanner) {
    if (path_ends_.empty()) return false;
    if (std::string_view(path_).substr(path_ends_.back() + 1) != scanner.name()) return false;
    take_value(trimmed(text_));
    text_.clear();
    path_.resize(path_ends_.back());
    path_ends_.pop_back();
    return true;
  }

  void add_text(const XmlScanner& scanner) { text_ += scanner.text(); }

  std::vector<NvidiaXmlCard> take_cards() { return std::move(cards_); }

 private:
  void take_value(std::string_view value) {
    constexpr std::string_view gpu = "/nvidia_smi_log/gpu";
    std::string_view where = path_;
    if (!where.starts_with(gpu)) return;
    where.remove_prefix(gpu.size());
    if (where.empty()) {
      cards_.push_back(std::move(card_));
    } else if (where == "/uuid") {
      card_.uuid = std::string(value);
    } else if (where == "/mig_devices/mig_device") {
      card_.slices.push_back(slice_);
    } else if (where == "/mig_devices/mig_device/gpu_instance_id") {
      slice_.gpu_instance = parse_instance(value);
    } else if (where == "/mig_devices/mig_device/fb_memory_usage/total") {
      slice_.memory_bytes = parse_mebibytes(value);
    }
  }

  std::string path_;
  std::vector<std::size_t> path_ends_;
  std::string text_;
  NvidiaXmlCard card_;
  NvidiaXmlSlice slice_;
  std::vector<NvidiaXmlCard> cards_;
};

}  // namespace

std::vector<NvidiaXmlCard> parse_nvidia_xml(std::string_view text) {
  XmlScanner scanner(text);
  Reader reader;
  for (bool more = true; more;) {
    switch (scanner.next()) {
      case XmlScanner::Token::opening:
        more = reader.open(scanner);
        break;
      case XmlScanner::Token::closing:
        more = reader.close(scanner);
        break;
      case XmlScanner::Token::text:
        reader.add_text(scanner);
        break;
      case XmlScanner::Token::end:
        more = false;
        break;
    }
  }
  return reader.take_cards();
}

}  // namespace gpl::host
