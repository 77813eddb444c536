#include "sodium_bytes.h"

#include <cassert>

namespace gpl::auth {

void need_sodium() {
  static const bool begun = sodium_init() >= 0;
  assert(begun && "the system gives no random numbers");
}

}  // namespace gpl::auth
