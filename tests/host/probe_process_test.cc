#include "gpl/host/probe_process.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>

#include "../temporary_folder.h"

using gpl::host::probe_output_max_bytes;
using gpl::host::ProbeAnswer;
using gpl::host::ProbeProcess;
using gpl::host::ProbeRequest;
using gpl::host::run_probes;
using Ending = gpl::host::ProbeAnswer::Ending;

namespace {

ProbeRequest shell(const std::string& script, std::int64_t deadline_ms = 20'000) {
  return {{{"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin"}, "/"}, deadline_ms};
}

ProbeAnswer run(const ProbeRequest& request) { return run_probes({request}).front(); }

std::int64_t ms_of(const std::function<void()>& what) {
  const auto began = std::chrono::steady_clock::now();
  what();
  const auto took = std::chrono::steady_clock::now() - began;
  return std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
}

/// Polls until the process of that number is gone, or a zombie that its new parent has yet to see.
bool ends(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string stat;
    std::getline(file, stat);
    if (stat.empty() || stat.find(") Z") != std::string::npos) return true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

}  // namespace

TEST_CASE("what a program prints comes back, each stream for itself, with its exit status") {
  const ProbeAnswer answer = run(shell("echo out; echo err >&2; exit 14"));
  CHECK(answer.ending == Ending::exited);
  CHECK(answer.number == 14);
  CHECK(answer.out == "out\n");
  CHECK(answer.err == "err\n");
}

TEST_CASE("a program reads end of file from its stdin") {
  CHECK(run(shell("cat; echo end")).out == "end\n");
}

TEST_CASE("a signal that ended a program is told") {
  const ProbeAnswer answer = run(shell("kill -SEGV $$"));
  CHECK(answer.ending == Ending::signalled);
  CHECK(answer.number == SIGSEGV);
}

TEST_CASE("a program that is not there, or not executable, is told by its errno value") {
  const TemporaryFolder folder;
  const std::string file = folder.write("tool", "#!/bin/sh\n", 0644);
  const ProbeAnswer absent = run({{{"/no/such/tool"}, {}, "/"}, 1000});
  CHECK(absent.ending == Ending::not_started);
  CHECK(absent.number == ENOENT);
  const ProbeAnswer plain = run({{{file}, {}, "/"}, 1000});
  CHECK(plain.ending == Ending::not_started);
  CHECK(plain.number == EACCES);
}

TEST_CASE("a program that hangs is ended at its deadline, with all that it started") {
  const ProbeAnswer answer = run(shell("sleep 3600 & echo $!; wait", 100));
  CHECK(answer.ending == Ending::timed_out);
  REQUIRE_FALSE(answer.out.empty());
  CHECK(ends(std::stoi(answer.out)));
}

TEST_CASE("a program that ignores SIGTERM is ended too") {
  CHECK(run(shell("trap '' TERM; while :; do sleep 1; done", 100)).ending == Ending::timed_out);
}

TEST_CASE("a child that holds stdout open does not delay the answer, and is ended") {
  ProbeAnswer answer;
  const std::int64_t took = ms_of([&] { answer = run(shell("sleep 3600 & echo $!")); });
  CHECK(answer.ending == Ending::exited);
  CHECK(took < 10'000);
  REQUIRE_FALSE(answer.out.empty());
  CHECK(ends(std::stoi(answer.out)));
}

TEST_CASE("output without end is stopped at the cap") {
  const ProbeAnswer answer = run(shell("yes"));
  CHECK(answer.ending == Ending::too_much_output);
  CHECK(answer.out.size() <= probe_output_max_bytes + 65536);
}

TEST_CASE("a megabyte of output arrives whole") {
  const ProbeAnswer answer = run(shell("head -c 1000000 /dev/zero"));
  CHECK(answer.ending == Ending::exited);
  CHECK(answer.out.size() == 1'000'000);
}

TEST_CASE("probes run at once, and answer in the order of the requests") {
  std::vector<ProbeAnswer> answers;
  const std::int64_t took = ms_of([&] {
    answers = run_probes({shell("sleep 1; echo a"), shell("sleep 1; echo b"), shell("echo c")});
  });
  REQUIRE(answers.size() == 3);
  CHECK(answers[0].out + answers[1].out + answers[2].out == "a\nb\nc\n");
  CHECK(took < 1900);
}

TEST_CASE("one that hangs does not take the answers of the others") {
  const std::vector<ProbeAnswer> answers = run_probes({shell("sleep 3600", 200), shell("echo b")});
  CHECK(answers[0].ending == Ending::timed_out);
  CHECK(answers[1].out == "b\n");
}

TEST_CASE("none asked, none answered") { CHECK(run_probes({}).empty()); }

TEST_CASE("a probe that is given up early ends its program") {
  pid_t child = 0;
  {
    ProbeProcess probe(shell("echo $$; exec sleep 3600"));
    while (probe.answer().out.empty()) {
      pollfd readable = {probe.descriptor(), POLLIN, 0};
      REQUIRE(::poll(&readable, 1, probe.wait_ms()) == 1);
      probe.step();
      REQUIRE_FALSE(probe.done());
    }
    child = std::stoi(probe.answer().out);
  }
  CHECK(ends(child));
}

TEST_CASE("no descriptor is left open") {
  const auto open_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = open_descriptors();
  run_probes({shell("true"), shell("sleep 3600", 50), {{{"/no/such/tool"}, {}, "/"}, 1000}});
  CHECK(open_descriptors() == before);
}
