#include "gpl/host/host_facts.h"

#include <doctest/doctest.h>
#include <sched.h>

#include <string>

#include "../forked.h"
#include "../temporary_folder.h"
#include "gpl/host/machine.h"

using gpl::HostFacts;
using gpl::host::host_facts;
using gpl::host::parse_cpu_quota;
using gpl::host::parse_meminfo;
using gpl::host::SystemRoot;

namespace {

constexpr std::uint64_t gibi = std::uint64_t{1} << 30;

HostFacts facts(const TemporaryFolder& root) { return host_facts(SystemRoot(root.path())); }

}  // namespace

TEST_CASE("the machine's own facts are there") {
  const HostFacts own = host_facts(SystemRoot(""));
  CHECK(own.name == gpl::host::host_name());
  CHECK(own.os == "linux");
  CHECK_FALSE(own.arch.empty());
  CHECK_FALSE(own.kernel.empty());
  CHECK(own.cpus >= 1);
  CHECK(own.memory_bytes > 0);
}

TEST_CASE("processors outside the affinity mask are not counted") {
  CHECK(forked([] {
          cpu_set_t one;
          CPU_ZERO(&one);
          CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
          if (::sched_setaffinity(0, sizeof one, &one) != 0) return 1;
          return host_facts(SystemRoot("")).cpus == 1 ? 0 : 2;
        }) == 0);
}

TEST_CASE("memory is the machine's where no control group limits it") {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemTotal:       16777216 kB\nMemFree:         1 kB\n");
  root.write("proc/self/cgroup", "0::/user.slice/job\n");
  root.write("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  CHECK(facts(root).memory_bytes == 16 * gibi);
}

TEST_CASE("the tightest control group limits memory and processors, whichever it is") {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemTotal:       16777216 kB\n");
  root.write("proc/self/cgroup", "1:name=systemd:/x\n0::/user.slice/job\n");
  root.write("sys/fs/cgroup/user.slice/job/memory.max", "8589934592\n");
  root.write("sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
  root.write("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
  CHECK(facts(root).memory_bytes == 4 * gibi);
  CHECK(facts(root).cpus == 1);
}

TEST_CASE("in a container the group is the root of what is mounted") {
  const TemporaryFolder root;
  root.write("proc/meminfo", "MemTotal:       16777216 kB\n");
  root.write("sys/fs/cgroup/memory.max", "2147483648\n");
  for (const char* group : {"0::/\n", "0::/../../other\n", "", "garbage\n", "0::\n"}) {
    root.write("proc/self/cgroup", group);
    CHECK(facts(root).memory_bytes == 2 * gibi);
  }
}

TEST_CASE("a quota of a part of a processor is a whole one") {
  CHECK(parse_cpu_quota("150000 100000\n") == 2);
  CHECK(parse_cpu_quota("200000 100000") == 2);
  CHECK(parse_cpu_quota("1000 100000") == 1);
  for (const char* text : {"", "max 100000", "100000", "0 100000", "100000 0", "x y"}) {
    CHECK_FALSE(parse_cpu_quota(text));
  }
}

TEST_CASE("MemTotal is read in its unit, and from nothing else") {
  CHECK(parse_meminfo("MemFree: 1 kB\nMemTotal: 2 kB\n") == std::uint64_t{2048});
  for (const char* text : {"", "MemTotal: 2\n", "MemTotal: x kB\n", "MemTotal:kB\n",
                           "MemTotal: 18446744073709551615 kB\n"}) {
    CHECK_FALSE(parse_meminfo(text));
  }
}
