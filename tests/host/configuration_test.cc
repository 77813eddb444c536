#include "gpl/host/configuration.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using gpl::Code;
using gpl::host::Configuration;
using gpl::host::matches;
using gpl::host::parse_lent_devices;
using gpl::host::read_configuration;

namespace {

namespace fs = std::filesystem;

/// A gpl.toml of this test alone, gone with it.
class File {
 public:
  explicit File(const std::string& text)
      : folder_(fs::temp_directory_path() /
                ("gpl_configuration_test." + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
    std::ofstream(path()) << text;
  }
  ~File() { fs::remove_all(folder_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  fs::path path() const { return folder_ / "gpl.toml"; }

 private:
  fs::path folder_;
};

gpl::Error refusal_of(const std::string& text) {
  const File file(text);
  const auto read = read_configuration(file.path());
  REQUIRE_MESSAGE(!read.ok(), text);
  const std::string folder = file.path().parent_path().string() + "/";
  const std::string& message = read.error().message;
  REQUIRE(message.rfind(folder, 0) == 0);
  return {read.error().code, message.substr(folder.size())};
}

/// Whether the glob matches, by the definition: slow and plain.
bool matches_by_definition(const std::string& glob, const std::string& name) {
  if (glob.empty()) return name.empty();
  if (glob[0] == '*') {
    for (std::size_t i = 0; i <= name.size(); ++i)
      if (matches_by_definition(glob.substr(1), name.substr(i))) return true;
    return false;
  }
  if (name.empty() || (glob[0] != '?' && glob[0] != name[0])) return false;
  return matches_by_definition(glob.substr(1), name.substr(1));
}

}  // namespace

TEST_CASE("a missing file is the default configuration") {
  const auto read = read_configuration("/nonexistent/gpl.toml");
  REQUIRE(read.ok());
  CHECK(read.value() == Configuration{});
}

TEST_CASE("an empty file is the default configuration") {
  const File file("");
  const auto read = read_configuration(file.path());
  REQUIRE(read.ok());
  CHECK(read.value() == Configuration{});
}

TEST_CASE("forward_env is read") {
  const File file("forward_env = [\"HF_*\", \"WANDB_?ODE\"]\n");
  const auto read = read_configuration(file.path());
  REQUIRE(read.ok());
  CHECK(read.value().forward_env == std::vector<std::string>{"HF_*", "WANDB_?ODE"});
}

TEST_CASE("a file that cannot be read is an error") {
  const auto read = read_configuration("/");
  REQUIRE(!read.ok());
  CHECK(read.error().code == Code::io);
  CHECK(read.error().message == "cannot read /: Is a directory");
}

TEST_CASE("an unknown key is an error that names the line and the nearest key") {
  CHECK(refusal_of("\n\nforwad_env = []\n") ==
        gpl::Error{Code::invalid,
                   "gpl.toml:3: unknown key 'forwad_env'; did you mean 'forward_env'?"});
}

TEST_CASE("how the cluster is found is read") {
  const File file("peers = ['lab1', '[fe80::1%eth0]:7000']\nlisten = '[::]:7457'\nmdns = false\n");
  const auto read = read_configuration(file.path());
  REQUIRE(read.ok());
  CHECK(read.value().meeting ==
        gpl::host::Meeting{{"lab1", "[fe80::1%eth0]:7000"}, "[::]:7457", false});
}

TEST_CASE("a machine looks on the local network unless told otherwise") {
  const File file("peers = []\n");
  const auto read = read_configuration(file.path());
  REQUIRE(read.ok());
  CHECK(read.value().meeting == gpl::host::Meeting{{}, "", true});
}

TEST_CASE("what names no peer and no address is refused") {
  CHECK(
      refusal_of("\npeers = ['lab1', '']\n") ==
      gpl::Error{Code::invalid, "gpl.toml:2: 'peers' has '': write HOST or HOST:PORT, one a word"});
  CHECK(refusal_of("peers = ['lab1,lab2']\n").message ==
        "gpl.toml:1: 'peers' has 'lab1,lab2': write HOST or HOST:PORT, one a word");
  CHECK(refusal_of("peers = 'lab1'\n").message ==
        "gpl.toml:1: 'peers' must be a list of strings, but is a string; write [\"lab1\", "
        "\"10.0.0.7:7457\"]");
  CHECK(refusal_of("listen = ' '\n").message == "gpl.toml:1: 'listen' is empty: write ADDR:PORT");
  CHECK(refusal_of("mdns = 'no'\n").message ==
        "gpl.toml:1: 'mdns' must be true or false, but is a string; write true or false");
}

TEST_CASE("a wrong forward_env is refused") {
  CHECK(refusal_of("forward_env = 'HF_*'\n").message ==
        "gpl.toml:1: 'forward_env' must be a list of strings, but is a string; write [\"NAME\", "
        "\"PREFIX_*\"]");
  CHECK(refusal_of("forward_env = ['A', 'B=1']\n").message ==
        "gpl.toml:1: 'forward_env' has 'B=1', which no variable's name can match");
  CHECK(refusal_of("forward_env = ['']\n").message ==
        "gpl.toml:1: 'forward_env' has '', which no variable's name can match");
}

TEST_CASE("what the machine lends is read") {
  const File file(
      "devices = ['cuda:0', 'rocm']\ncpus = 6\nmemory = '24Gi'\nhours = '20:00-08:00'\n"
      "labels = {site = 'attic', rack = '7'}\n");
  const auto read = read_configuration(file.path());
  REQUIRE(read.ok());
  gpl::host::Lending expected;
  expected.devices = {"cuda:0", "rocm"};
  expected.cpus = 6;
  expected.memory_bytes = std::uint64_t{24} << 30;
  expected.hours.times = {{20 * 60, 8 * 60}};
  expected.labels = {{"rack", "7"}, {"site", "attic"}};
  CHECK(read.value().lending == expected);
}

TEST_CASE("an empty list of devices lends none") {
  const File file("devices = []\n");
  const auto read = read_configuration(file.path());
  REQUIRE(read.ok());
  REQUIRE(read.value().lending.devices);
  CHECK(read.value().lending.devices->empty());
}

TEST_CASE("wrong limits are refused") {
  CHECK(refusal_of("devices = ['gpu0']\n").message ==
        "gpl.toml:1: 'devices': 'gpu0' is no device: write ids or kinds such as cuda:0,rocm (kinds "
        "are cuda, rocm, mps and xpu), or all, or none");
  CHECK(refusal_of("devices = ['']\n").message.rfind("gpl.toml:1: 'devices': '' is no", 0) == 0);
  CHECK(refusal_of("devices = 'all'\n").message ==
        "gpl.toml:1: 'devices' must be a list of strings, but is a string; write [\"cuda:0\", "
        "\"rocm\"], or [] for none");
  CHECK(refusal_of("cpus = -1\n").message == "gpl.toml:1: 'cpus' is -1: from 0 on");
  CHECK(refusal_of("cpus = 3000000000\n").message ==
        "gpl.toml:1: 'cpus' is 3000000000: no machine has so many");
  CHECK(refusal_of("memory = '24g'\n").message.rfind("gpl.toml:1: 'memory': '24g' is not", 0) == 0);
  CHECK(refusal_of("memory = '0'\n").message ==
        "gpl.toml:1: 'memory' is 0, which no job can run in");
  CHECK(
      refusal_of("\nhours = '20-8'\n").message ==
      "gpl.toml:2: 'hours': '20-8' is not a list of hours: expected ':' and minutes, at column 3; "
      "write 20:00-08:00, and several with commas between");
  CHECK(refusal_of("labels = {'a=b' = 'c'}\n").message ==
        "gpl.toml:1: 'labels' has the key 'a=b', which --label K=V cannot ask for");
  CHECK(refusal_of("labels = {a = '" + std::string(4096, 'x') + "'}\n").code == Code::too_large);
}

TEST_CASE("devices are named by id or kind, each once") {
  const auto words = [](const std::string& text) {
    const auto devices = parse_lent_devices(text);
    REQUIRE(devices.ok());
    REQUIRE(devices.value());
    return *devices.value();
  };
  CHECK(words("cuda:0, rocm,cuda:0,xpu:12") ==
        std::vector<std::string>{"cuda:0", "rocm", "xpu:12"});
  CHECK(words(" none ").empty());
  const auto all = parse_lent_devices(" all ");
  REQUIRE(all.ok());
  CHECK(!all.value());
  for (const std::string wrong : {"", "cuda:", "cuda:x", "cuda:00", "cuda:-1", "CUDA", "any", "0",
                                  "cuda,", "cuda,all", "cuda:0:1", "cuda:12345"}) {
    CAPTURE(wrong);
    const auto devices = parse_lent_devices(wrong);
    REQUIRE(!devices.ok());
    CHECK(devices.error().code == Code::invalid);
  }
}

TEST_CASE("a glob matches a whole name") {
  CHECK(matches("HF_*", "HF_TOKEN"));
  CHECK(matches("HF_*", "HF_"));
  CHECK(matches("*", ""));
  CHECK(matches("*_KEY", "A_KEY_KEY"));
  CHECK(matches("A*B*C", "AxBxBxC"));
  CHECK(matches("A?C", "ABC"));
  CHECK(matches("[x]", "[x]"));
  CHECK(!matches("HF_*", "XHF_TOKEN"));
  CHECK(!matches("HF", "HF_TOKEN"));
  CHECK(!matches("A?C", "AC"));
  CHECK(!matches("hf_*", "HF_TOKEN"));
  CHECK(!matches("", "A"));
}

TEST_CASE("a glob of many stars is answered at once") {
  CHECK(!matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST_CASE("law: a glob matches just what its definition says") {
  CHECK(rc::check([] {
    const auto glob = *rc::gen::resize(
        8, rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab*?"))));
    const auto name =
        *rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab"))));
    RC_ASSERT(matches(glob, name) == matches_by_definition(glob, name));
  }));
}
