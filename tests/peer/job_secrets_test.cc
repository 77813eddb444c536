#include "gpl/peer/job_secrets.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

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
  std::string folder;
};

}  // namespace

TEST_CASE("secrets are kept by request, readable by their owner alone, until they are removed") {
  const State state;
  const JobSecrets secrets(state.folder);
  const RequestId request{7, 0xabcdef};
  const std::vector<wire::Secret> values{{"TOKEN", "hush=\n"}, {"EMPTY", ""}};
  REQUIRE(secrets.keep(request, values).ok());
  CHECK(secrets.find(request).value() == values);
  CHECK(secrets.list() == std::vector<RequestId>{request});
  for (const auto& entry : std::filesystem::directory_iterator(state.folder + "/secrets"))
    CHECK((entry.status().permissions() & std::filesystem::perms::mask) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
  secrets.remove(request);
  CHECK_FALSE(secrets.find(request).ok());
  CHECK(secrets.list().empty());
}

TEST_CASE("a job without secrets leaves nothing on disk") {
  const State state;
  const JobSecrets secrets(state.folder);
  REQUIRE(secrets.keep({1, 2}, {}).ok());
  CHECK_FALSE(std::filesystem::exists(state.folder + "/secrets"));
}
