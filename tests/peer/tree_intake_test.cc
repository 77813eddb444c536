#include "gpl/peer/tree_intake.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>

#include <optional>
#include <string>
#include <vector>

#include "gpl/peer/tree_pins.h"
#include "parts.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

using Answer = TreeIntake::Answer;

struct IntakeParts : Parts {
  std::vector<bool> pressures;
  std::optional<TreePins> pins{std::in_place, *pool, store};
  std::optional<TreeIntake> intake{
      std::in_place, *pool, store, *pins, std::uint64_t{3}, [this](bool high) {
        pressures.push_back(high);
      }};

  Result<std::vector<ContentId>> ask(const std::vector<ContentId>& ids) {
    std::optional<Result<std::vector<ContentId>>> told;
    intake->ask(ids, [&](Result<std::vector<ContentId>> missing) { told = std::move(missing); });
    until([&] { return told.has_value(); });
    return std::move(*told);
  }
  Result<Answer> commit() {
    std::optional<Result<Answer>> told;
    intake->commit([&](Result<Answer> answer) { told = std::move(answer); });
    until([&] { return told.has_value(); });
    return std::move(*told);
  }
  ContentId kept() {
    Result<Answer> answer = commit();
    REQUIRE(answer.ok());
    REQUIRE(std::holds_alternative<wire::TreeKept>(answer.value()));
    return std::get<wire::TreeKept>(answer.value()).tree;
  }
  Code refused() {
    Result<Answer> answer = commit();
    REQUIRE_FALSE(answer.ok());
    return answer.error().code;
  }
  bool whole(const ContentId& tree) const {
    const auto whole = store.is_whole(*artifact::Digest::from_bytes(tree));
    REQUIRE(whole.ok());
    return whole.value();
  }
  std::vector<std::string> owners() const {
    const auto there = store.pins();
    REQUIRE(there.ok());
    std::vector<std::string> owners;
    for (const artifact::Pin& pin : there.value()) owners.push_back(pin.owner);
    return owners;
  }
  /// All that the pins were asked for so far has been done.
  void settle_pins() {
    bool settled = false;
    pins->pin(JobId{}, "", [&](const Status&) { settled = true; });
    until([&] { return settled; });
  }
  std::size_t intakes() const {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder / "store/intakes")) {
      if (each.is_directory()) ++count;
    }
    return count;
  }
};

const artifact::Manifest two_files{{tree_file("a", "alpha"), tree_file("b", "beta")}};

}  // namespace

TEST_CASE("a tree that was brought in is whole, and pinned for its client") {
  IntakeParts parts;
  const auto missing = parts.ask({id_of("alpha"), id_of("beta"), id_of("alpha")});
  REQUIRE(missing.ok());
  CHECK(missing.value() == std::vector<ContentId>{id_of("alpha"), id_of("beta")});
  parts.intake->put(id_of("alpha"), "alpha");
  parts.intake->put(id_of("beta"), "beta");
  const std::string manifest = encoded(two_files);
  parts.intake->put_manifest(manifest.substr(0, 10));
  parts.intake->put_manifest(manifest.substr(10));
  const ContentId tree = parts.kept();
  CHECK(tree == id_of(manifest));
  CHECK(parts.whole(tree));
  CHECK(parts.owners() == std::vector<std::string>{"client-3"});
  CHECK(parts.intakes() == 0);
  CHECK(parts.intake->queued_bytes() == 0);
}

TEST_CASE("trees without files can be brought in") {
  IntakeParts parts;
  parts.intake->put_manifest(encoded({}));
  CHECK(parts.whole(parts.kept()));
  parts.intake->put_manifest(encoded({{tree_folder("only"), tree_file("only/empty", "")}}));
  CHECK(parts.whole(parts.kept()));
}

TEST_CASE("a commit without all chunks tells which are missing, and can be repeated") {
  IntakeParts parts;
  parts.intake->put(id_of("alpha"), "alpha");
  parts.intake->put_manifest(encoded(two_files));
  const Result<Answer> answer = parts.commit();
  REQUIRE(answer.ok());
  REQUIRE(std::holds_alternative<wire::ChunksMissing>(answer.value()));
  CHECK(std::get<wire::ChunksMissing>(answer.value()).chunks ==
        std::vector<ContentId>{id_of("beta")});
  CHECK(parts.owners().empty());
  parts.intake->put(id_of("beta"), "beta");
  CHECK(parts.whole(parts.kept()));
}

TEST_CASE("chunks that are in the store already are not asked for") {
  IntakeParts parts;
  put_tree(parts.store, {{tree_file("x", "alpha")}}, {"alpha"});
  const auto missing = parts.ask({id_of("alpha"), id_of("beta")});
  REQUIRE(missing.ok());
  CHECK(missing.value() == std::vector<ContentId>{id_of("beta")});
}

TEST_CASE(
    "a chunk that is not what its id says is refused by the commit, and the next tree is taken") {
  IntakeParts parts;
  parts.intake->put(id_of("alpha"), "alpha");
  parts.intake->put(id_of("beta"), "BETA");
  parts.intake->put(id_of("gamma"), "gamma");
  parts.intake->put_manifest(encoded(two_files));
  CHECK(parts.refused() == Code::invalid);
  CHECK(parts.owners().empty());
  CHECK(parts.intakes() == 0);
  CHECK_FALSE(parts.store.chunk(artifact::digest_of("alpha")).ok());

  parts.intake->put(id_of("alpha"), "alpha");
  parts.intake->put(id_of("beta"), "beta");
  parts.intake->put_manifest(encoded(two_files));
  CHECK(parts.whole(parts.kept()));
}

TEST_CASE("chunks of no or too many bytes, and ids that are none, are refused") {
  IntakeParts parts;
  parts.intake->put_manifest(encoded({}));
  SUBCASE("empty") { parts.intake->put(id_of(""), ""); }
  SUBCASE("too large") {
    const std::string large(artifact::chunk_size_bytes + 1, 'x');
    parts.intake->put(id_of(large), large);
  }
  SUBCASE("no id") { parts.intake->put("short", "data"); }
  CHECK(parts.refused() == Code::invalid);
}

TEST_CASE("a question about what is no id is refused") {
  IntakeParts parts;
  const auto missing = parts.ask({"short"});
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().code == Code::invalid);
}

TEST_CASE("what is no manifest is refused") {
  IntakeParts parts;
  CHECK(parts.refused() == Code::invalid);
  parts.intake->put_manifest("rubbish");
  CHECK(parts.refused() == Code::invalid);
  std::string outside = encoded({{tree_file("aa_x", "")}});
  outside.replace(outside.find("aa_x"), 4, "../x");
  parts.intake->put_manifest(outside);
  CHECK(parts.refused() == Code::invalid);
}

TEST_CASE("a client that sends faster than the disk takes is told to wait, and to go on") {
  IntakeParts parts;
  const std::string mebibytes(artifact::chunk_size_bytes, 'x');
  std::vector<std::string> chunks;
  for (char i = 0; i < 8; ++i) {
    chunks.push_back(mebibytes);
    chunks.back()[0] = i;
  }
  for (const std::string& chunk : chunks) parts.intake->put(id_of(chunk), chunk);
  CHECK(parts.pressures == std::vector<bool>{true});
  CHECK(parts.intake->queued_bytes() == 8 * artifact::chunk_size_bytes);
  parts.until([&] { return parts.pressures.size() == 2; });
  CHECK_FALSE(parts.pressures[1]);
  CHECK(parts.intake->queued_bytes() <= TreeIntake::low_water_bytes);
  parts.until([&] { return parts.intake->queued_bytes() == 0; });
  CHECK(parts.pressures.size() == 2);
}

TEST_CASE("a client's pins go when it does, and what it has not committed") {
  IntakeParts parts;
  parts.intake->put_manifest(encoded({}));
  (void)parts.kept();
  parts.intake->put(id_of("alpha"), "alpha");
  REQUIRE(parts.ask({id_of("beta")}).ok());
  CHECK(parts.intakes() == 1);
  parts.intake.reset();
  parts.settle_pins();
  CHECK(parts.owners().empty());
  parts.pins.reset();
  parts.pool.reset();
  CHECK(parts.intakes() == 0);
}

TEST_CASE("a client that goes while its tree is committed leaves no pin") {
  IntakeParts parts;
  // As a collection has it: the commit waits for it.
  const posix::Fd lock(::open((parts.folder / "store/lock").c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(lock.get(), LOCK_EX) == 0);
  parts.intake->put_manifest(encoded({}));
  parts.intake->commit([](const Result<Answer>&) { FAIL("told"); });
  parts.intake.reset();
  parts.settle_pins();
  REQUIRE(::flock(lock.get(), LOCK_UN) == 0);
  parts.pins.reset();
  parts.pool.reset();
  CHECK(parts.owners().empty());
  CHECK(parts.intakes() == 0);
  CHECK(parts.whole(id_of(encoded({}))));  // so far it came
}

TEST_CASE("a release lets go of the trees that were kept, and the client may go on") {
  IntakeParts parts;
  parts.intake->put_manifest(encoded({}));
  (void)parts.kept();
  parts.intake->release();
  parts.settle_pins();
  CHECK(parts.owners().empty());
  parts.intake->put_manifest(encoded({{tree_folder("d")}}));
  (void)parts.kept();
  CHECK(parts.owners() == std::vector<std::string>{"client-3"});
}

TEST_CASE("a tree stays pinned from its client's hands to its job's") {
  IntakeParts parts;
  parts.intake->put_manifest(encoded({}));
  const ContentId tree = parts.kept();
  parts.pins->pin(JobId{8}, tree);
  parts.intake.reset();
  parts.settle_pins();
  CHECK(parts.owners() == std::vector<std::string>{"job-8"});
}
