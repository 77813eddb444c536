#include "gpl/peer/job_secrets.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "gpl/host/record.h"

using namespace gpl;
using namespace gpl::peer;

namespace {

struct State {
  State() {
    char path[] = "/tmp/gpl-secrets-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    folder = path;
  }
  ~State() { std::filesystem::remove_all(folder); }
  /// The bytes of the one file there is.
  std::string file() const {
    const auto entry = *std::filesystem::directory_iterator(folder + "/secrets");
    std::ifstream in(entry.path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_file(const std::string& bytes) const {
    const auto entry = *std::filesystem::directory_iterator(folder + "/secrets");
    std::ofstream(entry.path(), std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string folder;
  auth::KeyPair own = auth::draw_key_pair();
};

const std::vector<wire::Secret> token{{"TOKEN", "hush"}};

}  // namespace

TEST_CASE("secrets are kept by request, readable by their owner alone, until they are removed") {
  const State state;
  const JobSecrets secrets(state.folder, state.own);
  const RequestId request{7, 0xabcdef};
  const std::vector<wire::Secret> values{{"TOKEN", "hush=\n"}, {"EMPTY", ""}};
  REQUIRE(secrets.keep(request, values).ok());
  CHECK(secrets.find(request).value() == values);
  CHECK(secrets.has(request));
  CHECK(secrets.list() == std::vector<RequestId>{request});
  for (const auto& entry : std::filesystem::directory_iterator(state.folder + "/secrets"))
    CHECK((entry.status().permissions() & std::filesystem::perms::mask) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  secrets.remove(request);
  CHECK(secrets.find(request).error().code == Code::not_found);
  CHECK_FALSE(secrets.has(request));
  CHECK(secrets.list().empty());
}

TEST_CASE("secrets that were kept just now are not among those of some age") {
  const State state;
  const JobSecrets secrets(state.folder, state.own);
  REQUIRE(secrets.keep({1, 2}, token).ok());
  CHECK(secrets.list(seconds(3600)).empty());
  for (const auto& entry : std::filesystem::directory_iterator(state.folder + "/secrets"))
    std::filesystem::last_write_time(
        entry.path(), std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  CHECK(secrets.list(seconds(3600)) == std::vector<RequestId>{{1, 2}});
}

TEST_CASE("a job without secrets leaves nothing on disk") {
  const State state;
  const JobSecrets secrets(state.folder, state.own);
  REQUIRE(secrets.keep({1, 2}, {}).ok());
  CHECK_FALSE(std::filesystem::exists(state.folder + "/secrets"));
}

TEST_CASE("neither a value nor a name of a secret is to be read on disk, nor by another key") {
  const State state;
  REQUIRE(JobSecrets(state.folder, state.own).keep({1, 2}, token).ok());
  CHECK(state.file().starts_with("gpl sealed secrets 1\n"));
  CHECK(state.file().find("hush") == std::string::npos);
  CHECK(state.file().find("TOKEN") == std::string::npos);
  const JobSecrets other(state.folder, auth::draw_key_pair());
  CHECK(other.find({1, 2}).error().code == Code::invalid);
}

TEST_CASE("secrets that an earlier gpl kept as they are are read, and sealed by that") {
  const State state;
  const JobSecrets secrets(state.folder, state.own);
  REQUIRE(secrets.keep({1, 2}, token).ok());
  host::Record plain;
  plain.add("TOKEN", "hush");
  state.write_file(plain.encode());
  CHECK(secrets.find({1, 2}).value() == token);
  CHECK(state.file().find("hush") == std::string::npos);
  CHECK(secrets.find({1, 2}).value() == token);
}

TEST_CASE("secrets that were damaged, or sealed by a later gpl, are not taken for others") {
  const State state;
  const JobSecrets secrets(state.folder, state.own);
  REQUIRE(secrets.keep({1, 2}, token).ok());
  std::string bytes = state.file();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  state.write_file(bytes);
  CHECK(secrets.find({1, 2}).error().code == Code::invalid);
  state.write_file("gpl sealed secrets 2\nsomething");
  CHECK(secrets.find({1, 2}).error().code == Code::unsupported);
}
