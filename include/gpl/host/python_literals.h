#pragma once

#include <map>
#include <string>
#include <string_view>

namespace gpl::host {

/// A simple value written in Python source.
struct PythonLiteral {
  enum class Kind { none, boolean, text };
  Kind kind = Kind::none;
  bool truth = false;  ///< of a boolean
  std::string text;    ///< of a string
  friend bool operator==(const PythonLiteral&, const PythonLiteral&) = default;
};
using PythonLiterals = std::map<std::string, PythonLiteral>;

/// What a module assigns at the start of a line, with or without an annotation: `cuda = '12.1'`,
/// `hip: Optional[str] = None`. The last assignment of a name counts; one to anything but a whole
/// literal takes the name out. Comments and the inside of strings are no code. Nothing is executed.
PythonLiterals assigned_literals(std::string_view source);

/// The entries of dictionaries and lists of pairs, wherever they stand: `'is_cuda_build': True`,
/// `('cuda_version', '12.5.1')`. The last entry of a key counts.
PythonLiterals listed_literals(std::string_view source);

}  // namespace gpl::host
