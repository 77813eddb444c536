#include "file_window.h"

#include <algorithm>

namespace gpl::store {
namespace {

constexpr std::size_t window_bytes = std::size_t{256} * 1024;

}  // namespace

Result<std::string_view> FileWindow::at(std::uint64_t offset, std::size_t length) {
  const bool inside = offset >= begin_ && offset - begin_ <= bytes_.size() &&
                      length <= bytes_.size() - (offset - begin_);
  if (!inside) {
    Result<std::string> read = disk_->read(name_, offset, std::max(length, window_bytes));
    if (!read) return std::move(read).error();
    begin_ = offset;
    bytes_ = std::move(read).value();
  }
  return std::string_view(bytes_).substr(offset - begin_, length);
}

}  // namespace gpl::store
