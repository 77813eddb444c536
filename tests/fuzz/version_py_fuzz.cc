// Python source read as text, and the line that a framework's probe prints: any bytes get an
// answer.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gpl/host/framework_probe.h"
#include "gpl/host/python_literals.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_literals(std::string_view source, const gpl::host::PythonLiterals& literals) {
  for (const auto& [name, literal] : literals) {
    require(source.find(name) != std::string_view::npos);
    require(source.find(literal.text) != std::string_view::npos);
    require(literal.kind == gpl::host::PythonLiteral::Kind::text || literal.text.empty());
  }
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const auto assigned = gpl::host::assigned_literals(source);
  check_literals(source, assigned);
  check_literals(source, gpl::host::listed_literals(source));

  // An assignment on a line of its own after it all is always found, unless a string is still open.
  const auto more = gpl::host::assigned_literals("cuda = '12.1'\n" + std::string(source));
  for (const auto& [name, literal] : assigned) {
    if (!source.starts_with("\xEF\xBB\xBF")) require(more.at(name) == literal);
  }

  for (const std::string& output :
       {std::string(source), "\ngpl-framework-probe " + std::string(source)}) {
    const auto answer = gpl::host::parse_framework_probe(output);
    if (!answer.ok()) continue;
    require(is_printable(answer.value().version) && is_printable(answer.value().error));
    for (const auto& device : answer.value().devices) require(is_printable(device.name));
  }
  return 0;
}
