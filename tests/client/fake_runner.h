#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpl/host/runner.h"

/// A Runner that records what it is asked, a line each ("signal 2", "end 10000"), and gives the
/// events of a script.
class FakeRunner : public gpl::host::Runner {
 public:
  gpl::Status start(const gpl::host::Launch& launch) override {
    calls_.push_back("start " + launch.command.argv.front());
    return gpl::success();
  }
  void signal(int signal_number) override {
    calls_.push_back("signal " + std::to_string(signal_number));
  }
  void end(std::int64_t grace_ms) override { calls_.push_back("end " + std::to_string(grace_ms)); }
  int descriptor() const override { return -1; }
  int wait_ms() const override { return script_.empty() ? -1 : 0; }
  std::vector<gpl::host::RunnerEvent> take_events() override { return std::exchange(script_, {}); }

  /// To be given by the next take_events.
  void will_give(gpl::host::RunnerEvent event) { script_.push_back(std::move(event)); }
  /// What was asked since the last call.
  std::vector<std::string> take_calls() { return std::exchange(calls_, {}); }

 private:
  std::vector<std::string> calls_;
  std::vector<gpl::host::RunnerEvent> script_;
};
