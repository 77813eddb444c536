#pragma once

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpl::test {

/// A file of cases: tab-separated with a line of column names, and \t \n \\ for what a field cannot
/// hold. Throws when the file or a column is not there: a test without its cases must not pass.
class CaseTable {
 public:
  explicit CaseTable(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) rows_.push_back(split(line));
    if (rows_.size() < 2) throw std::runtime_error("no cases in " + path);
  }

  /// The rows are counted from 0, the line of names left out.
  std::size_t size() const { return rows_.size() - 1; }

  const std::string& at(std::size_t row, const std::string& column) const {
    const std::vector<std::string>& names = rows_.front();
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == column) return rows_.at(row + 1).at(i);
    }
    throw std::runtime_error("no column " + column);
  }

 private:
  static std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> fields(1);
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\t') {
        fields.emplace_back();
      } else if (line[i] == '\\' && i + 1 < line.size()) {
        const char escaped = line[++i];
        fields.back() += escaped == 't' ? '\t' : escaped == 'n' ? '\n' : escaped;
      } else {
        fields.back() += line[i];
      }
    }
    return fields;
  }

  std::vector<std::vector<std::string>> rows_;
};

}  // namespace gpl::test
