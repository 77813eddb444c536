#pragma once

#include <rapidcheck.h>

#include <cstddef>
#include <string>

namespace gpl::test {

inline std::string any_of(std::initializer_list<std::string> words) {
  return *rc::gen::elementOf(std::vector<std::string>(words));
}

/// Few distinct numbers, so that equal and neighbouring versions are common; one outgrows 64 bits.
inline std::string any_number() {
  return any_of({"0", "1", "2", "10", "01", "18446744073709551617"});
}

inline std::string any_separator() { return any_of({"", ".", "-", "_"}); }

inline std::string any_release(int least, int most) {
  std::string text = any_number();
  const int length = *rc::gen::inRange(least, most + 1);
  for (int i = 1; i < length; ++i) text += "." + any_number();
  return text;
}

/// EPOCH!RELEASE and suffixes in the spellings that PEP 440 normalises; no local part. To be called
/// within a rapidcheck property.
inline std::string any_public_version(int least_numbers = 1) {
  std::string text = any_of({"", "", "", "", "v", "1!"}) + any_release(least_numbers, 4);
  if (*rc::gen::inRange(0, 3) == 0) {
    text += any_separator() +
            any_of({"a", "b", "rc", "c", "alpha", "beta", "pre", "preview", "RC"}) +
            any_separator() + any_of({"", "0", "1", "2"});
  }
  if (*rc::gen::inRange(0, 3) == 0) {
    text += any_of({"-0", "-1", ".post1", "_rev-2", "r0", ".POST", ".post0"});
  }
  if (*rc::gen::inRange(0, 3) == 0) text += any_of({".dev0", "dev1", "-DEV_2", ".dev"});
  return text;
}

inline std::string any_local() {
  return any_of({"+cu121", "+cpu", "+CU121.1", "+1", "+01", "+1.a", "+a-b", "+0_9", "+10.cpu"});
}

inline std::string any_version() {
  return any_public_version() + (*rc::gen::inRange(0, 3) == 0 ? any_local() : "");
}

}  // namespace gpl::test
