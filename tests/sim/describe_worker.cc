#include <variant>

#include "sim/sim_worker.h"

namespace gpl::sim {

namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }
std::string name_of(const Fence& fence) { return "attempt " + number(fence.attempt.value); }
std::string session(SessionId id) { return "session ~" + number(id.value % 1'000'000); }
std::string leader(const Leadership& leadership) { return "term " + number(leadership.term); }

struct Describe {
  std::string operator()(const LiveAttempt& live) const {
    return name_of(live.fence) + (live.started_at ? " runs" : " is to run");
  }
  std::string operator()(const EndedAttempt& ended) const {
    return name_of(ended.fence) + " ended: " + std::string(gpl::name_of(ended.outcome)) +
           (ended.outlived_lease ? ", outlived its lease" : "");
  }
  std::string operator()(const to_leader::Hello& m) const {
    std::string text = "hello " + session(m.session) + " of " + m.keeper;
    for (const auto& live : m.live) text += "; " + (*this)(live);
    for (const auto& ended : m.ended) text += "; " + (*this)(ended);
    return text;
  }
  std::string operator()(const to_leader::Renew& m) const {
    return "renew? " + session(m.session) + " " + leader(m.leadership) + " asked at " +
           std::to_string(m.asked_at.since_boot_ms) + " ms, told " + number(m.told);
  }
  std::string operator()(const to_leader::Told& m) const {
    return "tells " + number(m.number) + " in " + session(m.session) + ": " +
           std::visit(*this, m.attempt);
  }
  std::string operator()(const to_worker::Welcome& m) const {
    return "welcome " + session(m.session) + " " + leader(m.leadership);
  }
  std::string operator()(const to_worker::Granted& m) const {
    return "granted " + session(m.session) + " " + leader(m.leadership) + " asked at " +
           std::to_string(m.asked_at.since_boot_ms) + " ms, unconfirmed for " +
           std::to_string(m.unconfirmed.count_ms) + " ms, ordered " + number(m.ordered);
  }
  std::string operator()(const to_worker::Start& m) const {
    return "start " + name_of(m.fence) + " of task " + number(m.task.value) + " of job " +
           number(m.job.value);
  }
  std::string operator()(const to_worker::End& m) const { return "end " + name_of(m.fence); }
  std::string operator()(const to_worker::Acknowledge& m) const {
    return "forget " + name_of(m.fence);
  }
  std::string operator()(const to_worker::Order& m) const {
    return "order " + number(m.number) + " in " + session(m.session) + ": " +
           std::visit(*this, m.what);
  }
  std::string operator()(const to_worker::Reopen& m) const {
    return "reopen " + session(m.session) + " " + leader(m.leadership);
  }
};

}  // namespace

std::string describe(const WorkerToLeader& message) { return std::visit(Describe{}, message); }
std::string describe(const LeaderToWorker& message) { return std::visit(Describe{}, message); }

}  // namespace gpl::sim
