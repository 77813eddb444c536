#include "sim/cluster.h"

#include <utility>

#include "gpl/wire/codec.h"
#include "sim/describe.h"

namespace gpl::sim {

Cluster::Cluster(World& world, const Setup& setup)
    : world_(world),
      setup_(setup),
      network_(world, setup.network),
      consensus_(world),
      jobs_(world),
      processes_(world) {
  const std::size_t members = setup.voters + setup.spares;
  for (std::size_t i = 0; i < members; ++i) {
    machines_.push_back(std::make_unique<Machine>(world, network_, consensus_, setup,
                                                  "m" + std::to_string(i + 1), machine_told()));
    leaders_.push_back(std::make_unique<SimLeader>(
        world, *machines_[i], CoordinatorOptions{},
        [this](const Machine& from, PeerId to, const LeaderToWorker& message) {
          leader_says(from, to, message);
        }));
  }
  for (std::size_t i = 0; i < setup.workers; ++i)
    workers_.push_back(std::make_unique<SimWorker>(
        world, network_, processes_, setup, PeerId{i + 1}, members,
        [this](const SimWorker& from, std::size_t member, const WorkerToLeader& message) {
          worker_says(from, member, message);
        }));
  for (std::size_t i = 0; i < setup.clients; ++i)
    clients_.push_back(std::make_unique<SimClient>(
        world, network_, setup, i,
        [this](std::size_t client, std::uint64_t question, std::size_t member,
               const Command& command) { client_asks(client, question, member, command); }));
}

Machine::Told Cluster::machine_told() {
  return {.send = [this](Machine& from, raft::Message message) { carry(from, message); },
          .applied =
              [this](Machine& machine, const peer::AppliedEntry& entry) {
                jobs_.applied(entry, machine.replica().replica().state());
                check_leases(entry);
                leaders_[number_of(machine)]->applied(entry);
                if (on_applied) on_applied(machine, entry);
              },
          .restored = [](Machine&) {},
          .after_event = [this](Machine& machine) { after_event(machine); },
          .down = [this](Machine& machine) { leaders_[number_of(machine)]->down(); }};
}

void Cluster::check_leases(const peer::AppliedEntry& entry) {
  for (std::size_t i = 0; i < entry.commands.size(); ++i) {
    const auto* over = std::get_if<command::LeasesOver>(&entry.commands[i]);
    if (over == nullptr || entry.results[i].refused) continue;
    for (const auto& fence : over->attempts) processes_.lease_over({over->peer, fence});
  }
}

void Cluster::after_event(Machine& machine) {
  const auto number = number_of(machine);
  const auto& node = machine.replica().replica().node();
  if (node.role() == raft::Role::leader && elected_[number] != node.term()) {
    elected_[number] = node.term();
    if (on_elected) on_elected(number);
  }
  if (machine.leads() && led_[number] != node.term()) {
    led_[number] = node.term();
    jobs_.leads(machine.name(), node.term(), machine.replica().replica().state());
  }
  leaders_[number]->after_event();
}

std::size_t Cluster::number_of(const Machine& machine) const { return machine.endpoint(); }

void Cluster::start() {
  raft::Configuration founders;
  for (std::size_t i = 0; i < (setup_.grows_from_one ? 1 : setup_.voters); ++i)
    founders.voters.push_back(raft::NodeId{i + 1});
  for (std::size_t i = 0; i < founders.voters.size(); ++i) join(i, founders);
  for (auto& worker : workers_) worker->start();
  for (auto& client : clients_) client->start();
}

raft::NodeId Cluster::join(std::size_t number, const raft::Configuration& bootstrap) {
  const raft::NodeId id{next_id_++};
  world_.count(Figure::nodes);
  members_[id] = number;
  led_.erase(number);
  elected_.erase(number);
  machines_[number]->join(id, bootstrap);
  return id;
}

void Cluster::retire(std::size_t number) {
  members_.erase(machines_[number]->id());
  machines_[number]->retire();
}

std::size_t Cluster::machine_of(raft::NodeId id) const {
  const auto found = members_.find(id);
  return found == members_.end() ? size() : found->second;
}

std::size_t Cluster::leader() const { return latest(&Machine::leads); }
std::size_t Cluster::elected() const { return latest(&Machine::is_elected); }

std::size_t Cluster::latest(bool (Machine::*is_it)() const) const {
  std::size_t found = size();
  raft::Term term = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!((*machines_[i]).*is_it)()) continue;
    const auto its_term = machines_[i]->replica().replica().node().term();
    if (its_term > term) {
      term = its_term;
      found = i;
    }
  }
  return found;
}

// --- Messages.

/// As it is after a journey through the codec, in the runs that take that way.
template <class T>
T Cluster::travelled(const T& message) {
  if (!setup_.through_codec) return message;
  auto decoded = wire::decode<T>(wire::encode(message));
  if (decoded.ok()) return std::move(decoded).value();
  world_.violate("a message cannot be read: " + decoded.error().message);
  return message;
}

void Cluster::carry(const Machine& from, const raft::Message& message) {
  if (filter && !filter(message)) return;
  const auto to = machine_of(message.to);
  if (to == size()) return;
  network_.send(from.endpoint(), machines_[to]->endpoint(),
                [this, message = travelled(message)] { deliver(message); });
}

void Cluster::deliver(raft::Message message) {
  const auto to = machine_of(message.to);
  if (to != size()) machines_[to]->replica().receive(std::move(message));
}

/// A member that does not lead says who does, as far as it knows.
std::optional<std::size_t> Cluster::known_leader(std::size_t member) const {
  Machine& machine = *machines_[member];
  if (!machine.up()) return std::nullopt;
  const auto found = machine_of(machine.replica().replica().node().leader());
  if (found == size() || found == member) return std::nullopt;
  return found;
}

void Cluster::worker_says(const SimWorker& worker, std::size_t member,
                          const WorkerToLeader& message) {
  auto* from = workers_[worker.peer().value - 1].get();
  ask_member(worker.endpoint(), member, [this, from, member, message = travelled(message)] {
    if (machines_[member]->leads()) return leaders_[member]->receive(from->peer(), message);
    const auto hint = known_leader(member);
    if (!hint) return;
    network_.send(machines_[member]->endpoint(), from->endpoint(),
                  [from, hint] { from->redirected(*hint); });
  });
}

/// Whoever asks is heard by the process on the member's machine, when there is one.
void Cluster::ask_member(Endpoint from, std::size_t member, std::function<void()> heard) {
  network_.send(from, machines_[member]->endpoint(), [this, member, heard = std::move(heard)] {
    if (machines_[member]->is_member()) machines_[member]->replica().sees(heard);
  });
}

void Cluster::leader_says(const Machine& machine, PeerId to, const LeaderToWorker& message) {
  world_.tell(machine.name(),
              [&] { return "says to w" + std::to_string(to.value) + ": " + describe(message); });
  auto* worker = workers_[to.value - 1].get();
  Micros later = 0;
  const auto late = late_grants_.find(to);
  if (late != late_grants_.end() && std::holds_alternative<to_worker::Granted>(message)) {
    later = late->second.later;
    late->second.granted();
    late_grants_.erase(late);
  }
  network_.send(
      machine.endpoint(), worker->endpoint(),
      [worker, message = travelled(message)] { worker->receive(message); }, later);
}

void Cluster::delay_next_grant(PeerId peer, Micros later, std::function<void()> granted) {
  late_grants_[peer] = {later, std::move(granted)};
}

void Cluster::client_asks(std::size_t client, std::uint64_t question, std::size_t member,
                          const Command& command) {
  ask_member(clients_[client]->endpoint(), member, [this, client, question, member, command] {
    serve(client, question, member, command);
  });
}

void Cluster::serve(std::size_t client, std::uint64_t question, std::size_t member,
                    const Command& command) {
  Machine& machine = *machines_[member];
  const auto reply = [this, &machine, client](std::function<void(SimClient&)> what) {
    auto* to = clients_[client].get();
    network_.send(machine.endpoint(), to->endpoint(), [to, what = std::move(what)] { what(*to); });
  };
  const raft::Term term = machine.up() ? machine.replica().replica().node().term() : 0;
  const auto* submit = std::get_if<command::Submit>(&command);
  const auto request = submit == nullptr ? std::nullopt : std::optional(submit->request);
  const bool taken = leaders_[member]->propose(
      command, [this, reply, question, request, term](std::optional<Applied> applied) {
        // Acknowledged, whether the answer arrives or not.
        if (request && applied && applied->job) jobs_.acknowledged(*request, *applied->job, term);
        reply([question, applied = std::move(applied)](SimClient& c) {
          c.answered(question, applied);
        });
      });
  if (taken) return;
  const auto hint = known_leader(member);
  reply([question, hint](SimClient& c) { c.redirected(question, hint); });
}

// --- The end.

std::optional<std::string> Cluster::unsettled() const {
  const auto number = leader();
  if (number == size()) return "nobody leads";
  const auto& replica = machines_[number]->replica().replica();
  const auto& configuration = replica.node().configuration();
  for (const auto& machine : machines_) {
    if (!machine->is_member() || !configuration.contains(machine->id())) continue;
    if (!machine->up()) return machine->name() + " is down";
    const auto& other = machine->replica().replica();
    if (other.applied_index() != replica.applied_index())
      return machine->name() + " has applied " + std::to_string(other.applied_index()) + " of " +
             std::to_string(replica.applied_index());
  }
  if (workers_.empty()) return std::nullopt;
  std::optional<std::string> open;
  replica.state().for_each_job([&](const JobRecord& job) {
    if (!job.has_ended() && !open) open = "job " + std::to_string(job.id.value) + " has not ended";
  });
  return open ? open : processes_.unreported(replica.state());
}

void Cluster::check_settled() {
  const auto& replica = machines_[leader()]->replica().replica();
  jobs_.settled(replica.node().term(), replica.state(), !workers_.empty());
}

}  // namespace gpl::sim
