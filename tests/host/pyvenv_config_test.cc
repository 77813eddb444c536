#include "gpl/host/pyvenv_config.h"

#include <doctest/doctest.h>

namespace gpl::host {
namespace {

TEST_CASE("venv, virtualenv and uv tell home, version and whether system packages count") {
  CHECK(parse_pyvenv_config("home = /usr/bin\ninclude-system-site-packages = false\n"
                            "version = 3.11.2\nexecutable = /usr/bin/python3.11\n") ==
        PyvenvConfig{"/usr/bin", "3.11.2", false});
  CHECK(parse_pyvenv_config("HOME=/opt/bin\r\nInclude-System-Site-Packages = True\r\n"
                            "version_info = 3.12.1.final.0\r\n") ==
        PyvenvConfig{"/opt/bin", "3.12.1", true});
  CHECK(parse_pyvenv_config("nonsense\n= \n") == PyvenvConfig{});
}

TEST_CASE("a version is two or three numbers") {
  CHECK(python_version_numbers("3.11.2") == "3.11.2");
  CHECK(python_version_numbers("3.13t") == "3.13");
  CHECK(python_version_numbers("3.12.0rc1") == "3.12.0");
  CHECK(python_version_numbers("3.11.2.final.0") == "3.11.2");
  CHECK(python_version_numbers("3.") == "");
  CHECK(python_version_numbers("3") == "");
  CHECK(python_version_numbers("x") == "");
}

}  // namespace
}  // namespace gpl::host
