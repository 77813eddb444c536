#include "gpl/host/path_file.h"

#include <doctest/doctest.h>

namespace gpl::host {
namespace {

using Lines = std::vector<std::string>;

TEST_CASE("a path file gives its folders and runs no code") {
  CHECK(pth_folders("# comment\n/src/vllm\n\nimport os; os.abort()\nimport\tsys\n../lib  \n") ==
        Lines{"/src/vllm", "../lib"});
  CHECK(pth_folders("\xEF\xBB\xBF/src\r\n/more") == Lines{"/src", "/more"});
  CHECK(pth_folders("importlib_folder\n") == Lines{"importlib_folder"});
  CHECK(pth_folders(std::string_view("/a\0b\n", 5)).empty());
}

TEST_CASE("the lines of a path file that are followed are bounded") {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "/a\n";
  CHECK(pth_folders(text).size() == max_path_file_lines);
}

TEST_CASE("an egg link names its source in the first line") {
  CHECK(egg_link_folder("/src/torch\n../") == "/src/torch");
  CHECK(egg_link_folder("/src/torch\r\n.") == "/src/torch");
  CHECK(egg_link_folder("").empty());
}

}  // namespace
}  // namespace gpl::host
