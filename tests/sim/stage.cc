#include "sim/stage.h"

#include <cstdio>
#include <utility>

namespace gpl::sim {

Setup Stage::quiet(std::size_t voters, std::size_t spares,
                   const std::function<void(Setup&)>& change) {
  Setup setup;
  setup.voters = voters;
  setup.spares = spares;
  setup.clients = 0;
  setup.snapshot_after_entries = 100'000;
  setup.segment_bytes = 1024 * 1024;
  setup.append_limit_bytes = 256 * 1024;
  setup.piece_bytes = 256 * 1024;
  setup.network.delay_low = setup.network.delay_high = 100;
  setup.disk.write = 5;
  setup.disk.sync_low = setup.disk.sync_high = 100;
  setup.disk.slow_one_in = 0;
  if (change) change(setup);
  return setup;
}

Stage::Stage(std::size_t voters, std::uint64_t seed, Trace::Mode trace, std::size_t spares,
             const std::function<void(Setup&)>& change)
    : setup_(quiet(voters, spares, change)), world_(seed, trace), cluster_(world_, setup_) {
  cluster_.filter = [this](const raft::Message& message) {
    const bool asks_for_votes = std::holds_alternative<raft::PreVoteRequest>(message.body) ||
                                std::holds_alternative<raft::VoteRequest>(message.body);
    if (asks_for_votes && !candidates_.empty() && !candidates_.contains(number_of(message.from)))
      return false;
    return !(loses && loses(message));
  };
  cluster_.start();
}

bool Stage::wait(const std::string& what, Micros limit, const std::function<bool()>& so) {
  if (failure()) return false;
  if (world_.run_until(world_.now() + limit, so)) return true;
  return expect(false, what + ", and it was not so after " + in_ms(limit));
}

bool Stage::expect(bool so, const std::string& what) {
  if (!so && !failure_) failure_ = "at " + in_ms(now()) + ": expected: " + what;
  return so;
}

bool Stage::elect(std::size_t number) {
  const auto before = std::exchange(candidates_, {number});
  const bool leads = wait("m" + std::to_string(number) + " leads", secs(20),
                          [&] { return machine(number).leads(); });
  candidates_ = before;
  return leads;
}

std::optional<peer::Replica::Proposed> Stage::propose(std::size_t number,
                                                      std::optional<bool>* fate) {
  command::Submit submit;
  submit.request = {1, ++requests_};
  submit.submitter.client = "scenario";
  submit.job.spec.command = {"true"};
  submit.at = machine(number).clock().wall();
  auto place = machine(number).replica().event(
      [&](peer::Replica& r) { return r.propose({Command(submit)}); });
  if (!place.ok()) return std::nullopt;
  if (fate != nullptr)
    machine(number).desk().wait_for(
        place.value(), [fate](const peer::AppliedEntry* entry) { *fate = entry != nullptr; });
  return place.value();
}

bool Stage::agree(Micros limit) {
  return wait("all have applied the same", limit, [&] { return !cluster_.unsettled(); });
}

std::optional<std::string> Stage::failure() const {
  if (world_.violation()) return "VIOLATION: " + *world_.violation();
  return failure_;
}

std::string in_ms(Micros time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(time) / 1000);
  return text;
}

}  // namespace gpl::sim
