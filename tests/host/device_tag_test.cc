#include "gpl/host/device_tag.h"

#include <doctest/doctest.h>

#include <string>

namespace gpl::host {
namespace {

std::string shown(const std::optional<DeviceTag>& tag) {
  if (!tag) return "nothing";
  const std::string kind = tag->kind ? std::string(name_of(*tag->kind)) : "cpu";
  return tag->version.empty() ? kind : kind + " " + tag->version;
}
std::string local(std::string_view text) { return shown(device_tag_of_local_version(text)); }
std::string conda(std::string_view text) { return shown(device_tag_of_conda_build(text)); }

TEST_CASE("a local version names the devices that the build was made for") {
  CHECK(local("cu121") == "cuda 12.1");
  CHECK(local("cu92") == "cuda 9.2");
  CHECK(local("cu130") == "cuda 13.0");
  CHECK(local("cuda12.cudnn89") == "cuda 12");
  CHECK(local("cuda111") == "cuda 11.1");
  CHECK(local("rocm6.0") == "rocm 6.0");
  CHECK(local("rocm6.2.4") == "rocm 6.2.4");
  CHECK(local("rocm60") == "rocm 6.0");
  CHECK(local("rocmsdk20250901") == "rocm");
  CHECK(local("xpu") == "xpu");
  CHECK(local("cpu") == "cpu");
  CHECK(local("cpu.cxx11.abi") == "cpu");
  CHECK(local("07cecf4168.nv24.05") == "cuda");
  CHECK(local("CU121") == "cuda 12.1");
}

TEST_CASE("a commit in a local version says nothing of devices") {
  CHECK(local("gitunknown") == "nothing");
  CHECK(local("g890ca360") == "nothing");
  CHECK(local("cute") == "nothing");
  CHECK(local("cu12abc") == "nothing");
  CHECK(local("") == "nothing");
}

TEST_CASE("a conda build string names them too") {
  CHECK(conda("py3.11_cuda12.1_cudnn8.9.2_0") == "cuda 12.1");
  CHECK(conda("cuda118py311h4e5cc3e_301") == "cuda 11.8");
  CHECK(conda("cuda126_mkl_py312_h1_300") == "cuda 12.6");
  CHECK(conda("cpu_generic_py311h1234567_0") == "cpu");
  CHECK(conda("py3.11_cpu_0") == "cpu");
  CHECK(conda("py311h64a7726_0") == "nothing");
}

}  // namespace
}  // namespace gpl::host
