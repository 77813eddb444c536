#include "sim/sim_client.h"

#include <algorithm>
#include <utility>

namespace gpl::sim {

namespace {

Micros draw(Prng& dice, Micros low, Micros high) {
  return static_cast<Micros>(
      dice.between(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(high)));
}

}  // namespace

SimClient::SimClient(World& world, Network& network, const Setup& setup, std::size_t number,
                     Ask ask)
    : world_(world),
      setup_(setup),
      number_(number),
      name_("c" + std::to_string(number + 1)),
      ask_(std::move(ask)),
      endpoint_(network.add_endpoint(name_)),
      dice_(world.dice("client", number)) {}

void SimClient::start() { think(); }

void SimClient::think() {
  if (done_submitting()) return;
  world_.after(setup_.scaled(draw(dice_, setup_.think_low, setup_.think_high)), [this] {
    if (!stopped_) ask(next_command());
  });
}

void SimClient::ask(Command command) {
  if (std::holds_alternative<command::Submit>(command)) world_.count(Figure::jobs_submitted);
  asked_ = std::move(command);
  ask_again(member_);
}

void SimClient::ask_again(std::optional<std::size_t> member) {
  member_ = member.value_or(dice_.below(setup_.voters + setup_.spares));
  const auto question = ++question_;
  world_.tell(name_, [&] {
    return "asks m" + std::to_string(member_ + 1) + " to " + std::string(gpl::name_of(*asked_));
  });
  ask_(number_, question, member_, *asked_);
  world_.after(setup_.scaled(draw(dice_, millis(200), millis(2500))), [this, question] {
    if (question == question_ && asked_ && !stopped_) ask_again(std::nullopt);
  });
}

void SimClient::redirected(std::uint64_t question, std::optional<std::size_t> leader) {
  if (question != question_ || !asked_ || stopped_) return;
  const auto next = ++question_;
  // Nobody leads yet, or the hint may be old: not too fast.
  world_.after(draw(dice_, millis(1), leader ? millis(20) : millis(300)), [this, next, leader] {
    if (next == question_ && !stopped_) ask_again(leader);
  });
}

void SimClient::answered(std::uint64_t question, const std::optional<Applied>& applied) {
  if (question != question_ || !asked_) return;
  if (applied) return done(*applied);
  if (!stopped_) ask_again(std::nullopt);
}

void SimClient::done(const Applied& applied) {
  const auto command = std::exchange(asked_, std::nullopt);
  if (const auto* submit = std::get_if<command::Submit>(&*command)) {
    // One that depends on a job may come after that was pruned.
    if (applied.refused && submit->job.after.empty()) {
      world_.violate(name_ + ": a submit was refused: " + applied.refused->message);
    } else if (applied.job) {
      jobs_.push_back(*applied.job);
    }
  }
  think();
}

Command SimClient::next_command() {
  // For people; the machine of a client has a clock of its own.
  const Instant at{1'767'225'600'000 + world_.now() / 1000};
  if (setup_.submits == 0 && !jobs_.empty() && dice_.one_in(3)) {
    const auto job = jobs_[dice_.below(jobs_.size())];
    switch (dice_.below(4)) {
      case 0:
        return command::Cancel{job, std::nullopt, at};
      case 1:
        return command::Hold{job, at};
      default:
        return command::Release{job, at};
    }
  }
  command::Submit submit;
  submit.request = {dice_.next(), dice_.next()};
  submit.submitter.client = name_;
  submit.job = setup_.submits > 0 ? draw_plain_job() : draw_job();
  submit.at = at;
  return submit;
}

JobDescription SimClient::draw_plain_job() {
  JobDescription job;
  job.spec.command = {"simulated", std::string(dice_.below(setup_.longest_argument), 'x')};
  job.requirement.cpus = 1;
  if (dice_.one_in(8)) job.shape = Array{{TaskId{0}, TaskId{dice_.between(1, 4)}}, std::nullopt};
  job.on_loss = dice_.one_in(2) ? OnLoss::retry : OnLoss::wait;
  return job;
}

JobDescription SimClient::draw_job() {
  JobDescription job;
  job.spec.command = {"simulated"};
  if (dice_.one_in(8))
    job.spec.command.push_back(std::string(dice_.below(setup_.longest_argument), 'x'));
  job.requirement.gpus = static_cast<int>(dice_.below(3));
  job.requirement.cpus = static_cast<int>(dice_.between(1, 2));
  if (dice_.one_in(4)) {
    Array array{{TaskId{0}, TaskId{dice_.between(1, 9)}}, std::nullopt};
    if (dice_.one_in(2)) array.limit = dice_.between(1, 4);
    job.shape = array;
  }
  job.on_loss = static_cast<OnLoss>(dice_.below(3));
  if (dice_.one_in(2)) job.on_loss = OnLoss::retry;
  job.lease = seconds(static_cast<std::int64_t>(dice_.between(1, 70)));
  job.retries = static_cast<std::uint32_t>(dice_.below(3));
  job.held = dice_.one_in(20);
  if (!jobs_.empty() && dice_.one_in(10))
    job.after.push_back({jobs_.back(), static_cast<After>(dice_.below(3))});
  return job;
}

}  // namespace gpl::sim
