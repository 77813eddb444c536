#include <doctest/doctest.h>

#include "gpl/wire/codec.h"

namespace gpl::wire {
namespace {

template <class T>
Error refusal(const std::string& bytes) {
  const Result<T> decoded = decode<T>(bytes);
  REQUIRE(!decoded.ok());
  return decoded.error();
}

TEST_CASE("what is encoded begins with its format") {
  CHECK(encode(Command(command::Hold{JobId{5}, {6}})) == "\x01\x92\x06\x92\x05\x06");
}

TEST_CASE("another format is refused as not supported") {
  const Error error = refusal<Command>("\x02\x92\x06\x92\x05\x06");
  CHECK(error.code == Code::unsupported);
  CHECK(error.message ==
        "command: format 2 at byte 0 is not known: this version of gpl reads format 1");
}

TEST_CASE("a fault is told with what, where and why") {
  CHECK(refusal<Command>("").message == "command: no bytes");
  CHECK(refusal<Command>("\x01\x92\x06\x92\x05\xc2").message ==
        "command: field 2 of hold: expected a number, found true or false at byte 5");
  CHECK(refusal<std::vector<Command>>("\x01\x91\x92\x06\x92\x05").code == Code::invalid);
  CHECK(
      refusal<raft::Message>(
          "\x01\x94\x01\x02\x03\x92\x04\x95\x01\x01\x01\x01\x91\x94\x01\x01\x03\xc4\x01")
          .message ==
      "raft message: field 4 of message, field 5 of append, field 3 of entry: there is no value 3 "
      "at byte 16");
}

TEST_CASE("an unknown kind of command is refused") {
  CHECK(refusal<Command>("\x01\x92\x10\x92\x05\x06").message ==
        "command: there is no alternative 16 at byte 2");
}

TEST_CASE("tasks out of order are refused") {
  const std::string bytes = "\x01\x92\x05\x93\x01\x92\x05\x04\x01";
  CHECK(refusal<Command>(bytes).message ==
        "command: field 2 of cancel: expected that the first task is not after the last at byte 5");
}

TEST_CASE("a configuration whose nodes are not sorted and apart is refused") {
  raft::InstallSnapshot install;
  install.mark.configuration = {{raft::NodeId{1}, raft::NodeId{2}}, {raft::NodeId{3}}};
  std::string bytes = encode(raft::Message{{}, {}, 0, install});
  const std::size_t nodes = bytes.find("\x92\x01\x02\x91\x03");
  REQUIRE(nodes != std::string::npos);
  for (const char* other :
       {"\x92\x02\x01\x91\x03", "\x92\x01\x01\x91\x03", "\x92\x01\x03\x91\x03"}) {
    bytes.replace(nodes, 5, other);
    CHECK(refusal<raft::Message>(bytes).message.ends_with(
        "expected that its nodes are sorted, and none is both voter and learner at byte " +
        std::to_string(nodes - 1)));
  }
}

}  // namespace
}  // namespace gpl::wire
