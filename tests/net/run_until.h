#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <utility>

#include "gpl/net/loop.h"

/// How long a test waits for what must come before it has failed.
inline constexpr gpl::Duration failure_stop = gpl::seconds(20);

inline std::unique_ptr<gpl::net::Loop> make_loop() {
  auto loop = gpl::net::Loop::create();
  REQUIRE(loop.ok());
  return std::move(loop).value();
}

/// Turns the loop until `holds()`.
template <class Condition>
void run_until(gpl::net::Loop& loop, Condition holds) {
  while (!holds()) REQUIRE(loop.run_one(failure_stop));
}

/// Turns the loop as long as something is ready.
inline void run_ready(gpl::net::Loop& loop) {
  while (loop.run_one(gpl::Duration{})) {
  }
}
