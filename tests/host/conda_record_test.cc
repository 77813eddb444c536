#include "gpl/host/conda_record.h"

#include <doctest/doctest.h>

#include "temporary_folder.h"

namespace gpl::host {
namespace {

TEST_CASE("a record's file name gives name, version and build") {
  CHECK(parse_conda_record("pytorch-2.1.2-py3.11_cuda12.1_cudnn8.9.2_0.json") ==
        CondaRecord{"pytorch", "2.1.2", "py3.11_cuda12.1_cudnn8.9.2_0"});
  CHECK(parse_conda_record("tensorflow-base-2.15.0-cpu_py311h1_2.json")->name == "tensorflow-base");
}

TEST_CASE("other file names are no records") {
  for (const char* name : {"history", "a.json", "a-1.json", "-1-0.json", "-.json", "--.json",
                           "a--0.json", "p\xE9-1-0.json", ".json"}) {
    CAPTURE(name);
    CHECK_FALSE(parse_conda_record(name).has_value());
  }
}

TEST_CASE("an environment that conda did not make has no records") {
  const TemporaryFolder folder;
  CHECK(conda_records(SystemRoot(folder.path()), "/env").empty());
  folder.write("env/conda-meta/numpy-1.26.4-py311h1_0.json", "not even JSON");
  CHECK(conda_records(SystemRoot(folder.path()), "/env").size() == 1);
}

}  // namespace
}  // namespace gpl::host
