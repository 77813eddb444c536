#pragma once

// A person's client: submits jobs, holds, releases and cancels some, asks another member when one
// does not answer.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/cluster_state.h"
#include "gpl/core/command.h"
#include "sim/network.h"
#include "sim/setup.h"

namespace gpl::sim {

class SimClient {
 public:
  /// Asks the member of this number; the answer comes as `answered` or `redirected`, or not at all.
  using Ask = std::function<void(std::size_t client, std::uint64_t question, std::size_t member,
                                 const Command& command)>;

  SimClient(World& world, Network& network, const Setup& setup, std::size_t number, Ask ask);

  Endpoint endpoint() const { return endpoint_; }
  void start();
  /// Asks nothing new, and does not ask again.
  void stop() { stopped_ = true; }
  /// All of Setup::submits are acknowledged.
  bool done_submitting() const { return setup_.submits > 0 && jobs_.size() >= setup_.submits; }

  /// Nothing: the member does not know what became of it.
  void answered(std::uint64_t question, const std::optional<Applied>& applied);
  void redirected(std::uint64_t question, std::optional<std::size_t> leader);

 private:
  void think();
  void ask(Command command);
  void ask_again(std::optional<std::size_t> member);
  void done(const Applied& applied);
  Command next_command();
  JobDescription draw_job();
  JobDescription draw_plain_job();

  World& world_;
  const Setup& setup_;
  std::size_t number_;
  std::string name_;
  Ask ask_;
  Endpoint endpoint_;
  Prng dice_;
  std::vector<JobId> jobs_;  ///< its own, acknowledged
  std::optional<Command> asked_;
  std::uint64_t question_ = 0;  ///< number of the present try
  std::size_t member_ = 0;      ///< that is thought to lead
  bool stopped_ = false;
};

}  // namespace gpl::sim
