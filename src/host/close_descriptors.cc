#include "gpl/host/close_descriptors.h"

#include <linux/close_range.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace gpl::host {
namespace {

void close_range_of(unsigned first, unsigned last) {
  if (::close_range(first, last, 0) == 0 || errno != ENOSYS) return;
  // Before Linux 5.9: one by one, as far as descriptors can go.
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t end = std::min<rlim_t>({rlim_t{last} + 1, limit.rlim_cur, rlim_t{1} << 20});
  for (rlim_t fd = first; fd < end; ++fd) ::close(static_cast<int>(fd));
}

}  // namespace

void close_descriptors_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int fd : kept) {
    const auto number = static_cast<unsigned>(fd);
    if (number > first) close_range_of(first, number - 1);
    first = std::max(first, number + 1);
  }
  close_range_of(first, ~0U);
}

}  // namespace gpl::host
