#include "gpl/host/python_literals.h"

#include <doctest/doctest.h>

#include <string>

namespace gpl::host {
namespace {

std::string shown(const PythonLiterals& literals, const std::string& name) {
  const auto found = literals.find(name);
  if (found == literals.end()) return "absent";
  switch (found->second.kind) {
    case PythonLiteral::Kind::none:
      return "None";
    case PythonLiteral::Kind::boolean:
      return found->second.truth ? "True" : "False";
    case PythonLiteral::Kind::text:
      return "'" + found->second.text + "'";
  }
  return "";
}

std::string cuda_in(std::string_view source) { return shown(assigned_literals(source), "cuda"); }

TEST_CASE("plain and annotated assignments of strings, None and booleans are read") {
  CHECK(cuda_in("cuda = '11.7'\n") == "'11.7'");
  CHECK(cuda_in("cuda: Optional[str] = '12.1'\n") == "'12.1'");
  CHECK(cuda_in("cuda: Optional[str] = None\r\n") == "None");
  CHECK(cuda_in("cuda: 'str | None' = \"12.1\"  # the toolkit\n") == "'12.1'");
  CHECK(cuda_in("cuda=True") == "True");
}

TEST_CASE("torch's list of names is no assignment of them") {
  CHECK(cuda_in("__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n") == "absent");
}

TEST_CASE("what stands in comments, strings or deeper lines is no assignment") {
  CHECK(cuda_in("# cuda = '11'\n") == "absent");
  CHECK(cuda_in("'''\ncuda = '11'\n'''\ncuda = '12'\n") == "'12'");
  CHECK(cuda_in("\"\"\"\ncuda = '11'\n") == "absent");
  CHECK(cuda_in("if x:\n    cuda = '11'\n") == "absent");
  CHECK(cuda_in("cuda_version = '12.8'\n") == "absent");
  CHECK(cuda_in("torch.cuda = '12.8'\n") == "absent");
}

TEST_CASE("what would have to be computed is unknown, and makes the name unknown") {
  CHECK(cuda_in("cuda = get_cuda()\n") == "absent");
  CHECK(cuda_in("cuda = None if cpu else '12'\n") == "absent");
  CHECK(cuda_in("cuda = f'{major}'\n") == "absent");
  CHECK(cuda_in("cuda = '12' '.1'\n") == "absent");
  CHECK(cuda_in("cuda == '12'\n") == "absent");
  CHECK(cuda_in("cuda = '12'\ncuda = find()\n") == "absent");
  CHECK(cuda_in("cuda = '1\\x32'\n") == "absent");
}

TEST_CASE("the last assignment counts, and a broken line ends at its end") {
  CHECK(cuda_in("cuda = None\ncuda = '12'\n") == "'12'");
  CHECK(cuda_in("x = 'never closed\ncuda = '12'\n") == "'12'");
}

TEST_CASE("entries of dictionaries and of lists of pairs are read") {
  const std::string_view info =
      "import collections\nbuild_info = collections.OrderedDict([('cuda_compute_capabilities', "
      "['sm_60', 'compute_90']), ('cuda_version', '12.5.1'), ('is_cuda_build', True), "
      "('is_rocm_build', False)])\n";
  const PythonLiterals pairs = listed_literals(info);
  CHECK(shown(pairs, "is_cuda_build") == "True");
  CHECK(shown(pairs, "is_rocm_build") == "False");
  CHECK(shown(pairs, "cuda_version") == "'12.5.1'");
  CHECK(shown(pairs, "sm_60") == "absent");
  CHECK(shown(listed_literals("{\n 'is_cuda_build': True,\n}"), "is_cuda_build") == "True");
}

}  // namespace
}  // namespace gpl::host
