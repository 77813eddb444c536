#include "gpl/core/nearest.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using gpl::nearest;

namespace {
const std::vector<std::string> options = {"name", "env", "stage", "time_limit", "forward_env"};
}

TEST_CASE("a slip finds the word that was meant") {
  CHECK(nearest("forwad_env", options) == "forward_env");  // left out
  CHECK(nearest("naame", options) == "name");              // inserted
  CHECK(nearest("stige", options) == "stage");             // replaced
  CHECK(nearest("tiem_limit", options) == "time_limit");   // swapped
  CHECK(nearest("time-limit", options) == "time_limit");
  CHECK(nearest("evn", options) == "env");
  CHECK(nearest("timelimits", options) == "time_limit");
}

TEST_CASE("a word that is like none finds none") {
  CHECK(nearest("verbose", options) == std::nullopt);
  CHECK(nearest("xyz", options) == std::nullopt);
  CHECK(nearest("e", options) == std::nullopt);
  CHECK(nearest("", options) == std::nullopt);
  CHECK(nearest("name", {}) == std::nullopt);
}

TEST_CASE("a swap of neighbours is one edit, so a short word bears it") {
  CHECK(nearest("nv", {"vn"}) == "vn");
}

TEST_CASE("of equally near words the first is taken, and a nearer one before it") {
  CHECK(nearest("bat", {"cat", "bad"}) == "cat");
  CHECK(nearest("stagee", {"stages", "stage", "stagee"}) == "stagee");
}

TEST_CASE("a word of hostile length is not compared") {
  CHECK(nearest(std::string(1'000'000, 'a'), {std::string(1'000'001, 'a')}) == std::nullopt);
}
