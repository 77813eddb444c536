#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "gpl/peer/follower.h"

namespace gpl::peer::test {

inline constexpr PeerId lab{11};
inline constexpr TaskId task0{0};

/// A cluster of one peer whose log is real, the attempts' files, and what a keeper would say.
struct FollowerScene {
  TemporaryFolder folder;
  std::unique_ptr<net::Loop> loop = make_loop();
  JobNews news{*loop};
  LocalAttempts attempts{[this](JobId job) { news.changed(job); }};
  std::vector<wire::PeerToKeeper> sent;
  OutputWatch watch{[this](const wire::PeerToKeeper& message) { sent.push_back(message); }};
  std::unique_ptr<Consensus> consensus;
  std::vector<wire::Answer> answers;
  bool over = false;
  std::unique_ptr<Follower> follower;

  FollowerScene() {
    Consensus::Told told;
    told.applied = [this](const AppliedEntry& entry) {
      for (const Applied& result : entry.results)
        for (const JobId job : result.ended) news.changed(job);
    };
    told.ready = [] {};
    told.leader_changed = [] {};
    told.to_worker = [](const LeaderToWorker&) {};
    told.note = [](const std::string&) {};
    told.closed = [](const Error&) {};
    ConsensusOptions options;
    options.folder = folder / "log";
    options.node = {1};
    options.found = true;
    options.segment_bytes = 256 * 1024;
    auto opened = Consensus::open(
        *loop, std::move(options), [](const ClusterState&, Instant) { return Placements{}; },
        no_others(), std::move(told));
    REQUIRE(opened.ok());
    consensus = std::move(opened).value();
    run_until(*loop, [&] { return consensus->leads() && consensus->state() != nullptr; });
    PeerOffer offer;
    offer.name = "lab";
    offer.host.cpus = 4;
    apply(command::PeerUp{lab, "keeper", offer, Instant{1}});
    attempts.take(wire::from_keeper::Listed{});
  }
  ~FollowerScene() { follower.reset(); }
  FollowerScene(const FollowerScene&) = delete;
  FollowerScene& operator=(const FollowerScene&) = delete;

  static Reach no_others() {
    return {[] { return std::vector<PeerId>{}; }, [](PeerId, const wire::LinkMessage&) {},
            [](PeerId) -> const wire::LinkHello* { return nullptr; }};
  }
  Applied apply(Command command) {
    std::optional<Result<Applied>> done;
    consensus->propose(std::move(command),
                       [&](Result<Applied> result) { done.emplace(std::move(result)); });
    run_until(*loop, [&] { return done.has_value(); });
    REQUIRE(done->ok());
    REQUIRE_FALSE(done->value().refused.has_value());
    return std::move(*done).value();
  }
  JobId submit(std::uint32_t retries = 0) {
    JobDescription job;
    job.spec.command = {"true"};
    job.retries = retries;
    return *apply(command::Submit{{0, 1}, {"", lab, 0}, job, {}, Instant{1}}).job;
  }
  Fence place(JobId job) {
    const Applied placed =
        apply(command::Place{job, {{task0, task0}, lab, Allocation{1, 0, {}, ""}}, Instant{1}});
    REQUIRE(placed.placed.size() == 1);
    const Fence fence{consensus->state()->epoch(), placed.placed[0]};
    write(fence, "", "");
    return fence;
  }
  /// It runs, as the keeper tells it.
  Fence run(JobId job) {
    const Fence fence = place(job);
    attempts.take(wire::from_keeper::Prepare{fence, job, task0, ""});
    attempts.take(wire::from_keeper::Running{fence, job, task0, 77});
    return fence;
  }
  static std::string name(const Fence& fence) {
    return std::to_string(fence.epoch) + "." + std::to_string(fence.attempt.value);
  }
  void write(const Fence& fence, const std::string& out, const std::string& err) const {
    folder.write(name(fence) + "/stdout", out);
    folder.write(name(fence) + "/stderr", err);
  }
  void grew(const Fence& fence, std::uint64_t out, std::uint64_t err = 0, bool ended = false) {
    attempts.take(wire::from_keeper::Grew{fence, out, err, ended});
    run_ready(*loop);
  }
  /// In the keeper's order: the leader hears of it, then the peer.
  void end(JobId job, const Fence& fence, Outcome outcome, std::uint64_t out,
           std::uint64_t err = 0) {
    apply(command::Start{fence, Instant{2}});
    apply(command::Report{fence, outcome, Instant{3}, false});
    attempts.take(wire::from_keeper::Ended{fence, job, task0, outcome, Instant{2}});
    grew(fence, out, err, true);
  }
  void follow(wire::Follow question) {
    follower = std::make_unique<Follower>(
        *loop,
        Follower::Around{*consensus, attempts, news, watch,
                         [this](const Fence& fence) { return folder / name(fence); },
                         [](PeerId peer) {
                           return peer == PeerId{} ? std::string("lab")
                                                   : "lab" + std::to_string(peer.value);
                         }},
        std::move(question),
        Follower::Told{[this](wire::Answer answer) { answers.push_back(std::move(answer)); },
                       [this] { over = true; }});
    follower->start();
    run_ready(*loop);
  }
  void follow(JobId job) {
    wire::Follow question;
    question.job = job;
    follow(std::move(question));
  }

  /// All of a stream that was given, which must be without gaps or repetition from `from` on.
  std::string given(wire::OutputStream stream, AttemptId attempt, std::uint64_t from = 0) const {
    std::string bytes;
    for (const wire::Answer& answer : answers) {
      const auto* output = std::get_if<wire::Output>(&answer);
      if (output == nullptr || output->at.stream != stream || output->at.attempt != attempt)
        continue;
      CHECK(output->at.offset == from + bytes.size() + output->skipped_bytes);
      bytes += output->data;
    }
    return bytes;
  }
  std::string out(const Fence& fence, std::uint64_t from = 0) const {
    return given(wire::OutputStream::out, fence.attempt, from);
  }
  template <class T>
  std::vector<T> told() const {
    std::vector<T> some;
    for (const wire::Answer& answer : answers)
      if (const T* one = std::get_if<T>(&answer)) some.push_back(*one);
    return some;
  }
};

}  // namespace gpl::peer::test
