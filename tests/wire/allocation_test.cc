#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

#include "all_fields.h"
#include "arbitrary.h"
#include "samples.h"

namespace {

/// Bytes that `new` has given and `delete` has not taken back, and the most that there ever were.
std::size_t live_bytes = 0;
std::size_t peak_bytes = 0;

void* counted(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  live_bytes += malloc_usable_size(memory);
  peak_bytes = std::max(peak_bytes, live_bytes);
  return memory;
}
void release(void* memory) {
  if (memory != nullptr) live_bytes -= malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }

namespace gpl::wire {
namespace {

/// The most memory that decoding these bytes takes at a time.
template <class T>
std::size_t decoding_takes(std::string_view bytes) {
  const std::size_t before = live_bytes;
  peak_bytes = before;
  static_cast<void>(decode<T>(bytes));
  return peak_bytes - before;
}

constexpr std::size_t factor = 256;     // as codec.h says
constexpr std::size_t overhead = 1024;  // messages

TEST_CASE_TEMPLATE("a claimed length takes no memory", T, GPL_TOP_LEVEL_TYPES,
                   GPL_CONVERSATION_TYPES) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Prng random(seed);
    const std::string bytes = encode(arbitrary<T>(random));
    const std::size_t cut = random.below(bytes.size()) + 1;
    for (const char* head : {"\xc6", "\xdd", "\xdf"}) {
      const std::string claim = bytes.substr(0, cut) + head + "\xff\xff\xff\xff";
      REQUIRE(decoding_takes<T>(claim) <= factor * claim.size() + overhead);
    }
  }
}

TEST_CASE("many small values take a bounded multiple of their bytes") {
  SUBCASE("commands") {
    const std::string bytes = encode(std::vector<Command>(10000, command::Hold{}));
    CHECK(decoding_takes<std::vector<Command>>(bytes) <= factor * bytes.size());
  }
  SUBCASE("jobs") {
    JobsPart part;
    part.jobs.resize(10000);
    for (JobRecord& job : part.jobs) job.description = std::make_shared<JobDescription>();
    const std::string bytes = encode(StatePart(part));
    CHECK(decoding_takes<StatePart>(bytes) <= factor * bytes.size());
  }
  SUBCASE("attempts") {
    const std::string bytes = encode(StatePart(AttemptsPart{std::vector<Attempt>(10000)}));
    CHECK(decoding_takes<StatePart>(bytes) <= factor * bytes.size());
  }
  SUBCASE("peers") {
    PeerRecord peer;
    peer.offer.accelerators.resize(50);
    peer.offer.environments.resize(50);
    peer.offer.labels.resize(50);
    for (int i = 0; i < 50; ++i) peer.offer.environments[0].frameworks[std::to_string(i)] = {};
    const std::string bytes = encode(StatePart(PeersPart{std::vector<PeerRecord>(200, peer)}));
    CHECK(decoding_takes<StatePart>(bytes) <= factor * bytes.size());
  }
  SUBCASE("what a client asks and is told") {
    ListJobs list;
    list.queries.resize(10000);
    const std::string asked = encode(ClientMessage{1, list});
    CHECK(decoding_takes<ClientMessage>(asked) <= factor * asked.size());
    for (Answer answer :
         {Answer(JobList{std::vector<JobSummary>(10000), true}),
          Answer(Results{std::vector<ResultFile>(10000), {}}),
          Answer(Health{std::vector<HealthRow>(10000)}),
          Answer(Explained{{Verdict::never, "", std::vector<PeerAnswer>(10000), ""}}),
          Answer(ChunksMissing{std::vector<ContentId>(10000)})}) {
      const std::string told = encode(PeerMessage{1, std::move(answer)});
      CHECK(decoding_takes<PeerMessage>(told) <= factor * told.size());
    }
    ClusterStatus cluster;
    cluster.peers.resize(10000);
    const std::string peers = encode(PeerMessage{1, cluster});
    CHECK(decoding_takes<PeerMessage>(peers) <= factor * peers.size());
  }
  SUBCASE("secrets") {
    const std::string bytes =
        encode(PeerToKeeper(to_keeper::Prepared{{}, std::vector<Secret>(10000), false}));
    CHECK(decoding_takes<PeerToKeeper>(bytes) <= factor * bytes.size());
  }
  SUBCASE("words and entries") {
    command::Submit submit;
    submit.job.spec.command.resize(60000);
    const std::string bytes = encode(Command(submit));
    CHECK(decoding_takes<Command>(bytes) <= factor * bytes.size());
    const std::string entries =
        encode(raft::Message{{}, {}, 0, raft::Append{0, 0, 0, 0, std::vector<raft::Entry>(60000)}});
    CHECK(decoding_takes<raft::Message>(entries) <= factor * entries.size());
  }
}

TEST_CASE("version specifiers take a bounded multiple of their bytes") {
  std::string clauses = "<10";
  for (int i = 11; i < 10000; ++i) clauses += ",<" + std::to_string(i);
  std::string release = "<1";
  for (int i = 0; i < 30000; ++i) release += ".1";
  for (const std::string& text : {clauses, release}) {
    command::Submit submit;
    submit.job.requirement.frameworks = {
        {"torch", std::nullopt, SpecifierSet::parse(text).value()}};
    const std::string bytes = encode(Command(submit));
    CHECK(decoding_takes<Command>(bytes) <= factor * bytes.size());
  }
}

}  // namespace
}  // namespace gpl::wire
