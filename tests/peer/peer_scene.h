#pragma once

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../net/run_until.h"
#include "../temporary_folder.h"
#include "fake_keeper.h"
#include "gpl/core/worker.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"
#include "gpl/posix/fd.h"
#include "gpl/wire/codec.h"

namespace gpl::peer::test {

/// A keeper whose jobs are played by the test: the sessions are a real Worker's, the attempts'
/// folders are real, and what a job writes and how it ends is said by calls.
class ActedKeeper {
 public:
  ActedKeeper(net::Loop& loop, std::string state_folder)
      : loop_(loop), state_(std::move(state_folder)), link(loop, state_) {
    RestoredWorker restored;
    restored.keeper = link.hello.instance;
    restored.first_session = {100};
    worker_.emplace(WorkerOptions{}, std::move(restored), now().now);
    (void)worker_->take_output();
    link.greeted = [this] { welcome(); };
    link.message = [this](const wire::PeerToKeeper& message) { take(message); };
  }

  struct Acted {
    to_worker::Start order;
    bool prepared = false;
    std::vector<wire::Secret> secrets;
    std::string out;
    std::string err;
    std::optional<Outcome> outcome;
    std::optional<Instant> started_at;
    std::optional<FailedToStart> refused;
  };

  const std::map<Fence, Acted>& attempts() const { return attempts_; }
  /// The newest attempt of this job that runs.
  std::optional<Fence> running(JobId job) const {
    std::optional<Fence> found;
    for (const auto& [fence, acted] : attempts_)
      if (acted.order.job == job && acted.prepared && !acted.outcome) found = fence;
    return found;
  }
  const Acted& at(const Fence& fence) const { return attempts_.at(fence); }
  std::string folder_of(const Fence& fence) const {
    return state_ + "/attempts/" + std::to_string(fence.epoch) + "." +
           std::to_string(fence.attempt.value);
  }

  void write(const Fence& fence, const std::string& out, const std::string& err = "") {
    Acted& acted = attempts_.at(fence);
    acted.out += out;
    acted.err += err;
    put(fence, "stdout", acted.out);
    put(fence, "stderr", acted.err);
    if (watched_.contains(fence)) say_growth(fence);
  }
  /// A file that the job makes.
  void make_file(const Fence& fence, const std::string& name, const std::string& bytes) const {
    put(fence, "work/" + name, bytes);
  }
  void end(const Fence& fence, Outcome outcome) {
    attempts_.at(fence).outcome = outcome;
    feed([&](Worker& worker) { worker.ended(now(), fence, outcome); });
    say_ended(fence);
    if (watched_.contains(fence)) say_growth(fence);
  }

  /// What there is has been told; else that is left out until `list` is called.
  bool lists = true;
  void list() { link.say(wire::from_keeper::Listed{}); }

 private:
  static Clocks now() { return {Moment{posix::boot_clock().since_epoch_ms}, posix::wall_clock()}; }
  void put(const Fence& fence, const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_of(fence) + "/" + name, std::ios::binary) << bytes;
  }

  template <class F>
  void feed(F event) {
    event(*worker_);
    for (WorkerOutput output = worker_->take_output(); !output.empty();
         output = worker_->take_output()) {
      for (to_worker::Start& order : output.start) begin(std::move(order));
      for (const EndProcesses& order : output.end) ending_.push_back(order.fence);
      for (WorkerToLeader& message : output.send)
        link.say(wire::from_keeper::ToLeader{std::move(message)});
    }
    timer_ = loop_.at(worker_->wake_at(), [this] { tick(); });
  }
  void tick() {
    feed([](Worker& worker) { worker.tick(now()); });
    for (const Fence& fence : std::exchange(ending_, {}))
      if (!attempts_.at(fence).outcome) end(fence, Signalled{15, false});
  }

  void welcome() {
    watched_.clear();
    prepared_ahead_.clear();
    for (const auto& [fence, acted] : attempts_) {
      const auto& [job, task] = std::pair(acted.order.job, acted.order.task);
      if (acted.outcome)
        say_ended(fence);
      else if (acted.prepared)
        link.say(wire::from_keeper::Running{fence, job, task, 77});
      else
        link.say(wire::from_keeper::Prepare{fence, job, task, acted.order.description.tree});
    }
    if (lists) list();
    if (offer_known_) feed([](Worker& worker) { worker.session_lost(now()); });
  }

  void begin(to_worker::Start order) {
    const Fence fence = order.fence;
    std::filesystem::create_directories(folder_of(fence) + "/work");
    put(fence, "stdout", "");
    put(fence, "stderr", "");
    const wire::from_keeper::Prepare prepare{fence, order.job, order.task, order.description.tree};
    attempts_[fence].order = std::move(order);
    // What needs nothing of the peer may have been told so before.
    if (const auto ahead = prepared_ahead_.extract(fence))
      take(ahead.mapped());
    else
      link.say(prepare);
  }

  void say_ended(const Fence& fence) {
    const Acted& acted = attempts_.at(fence);
    link.say(wire::from_keeper::Ended{fence, acted.order.job, acted.order.task, *acted.outcome,
                                      acted.started_at});
  }
  void say_growth(const Fence& fence) {
    const Acted& acted = attempts_.at(fence);
    link.say(wire::from_keeper::Grew{fence, acted.out.size(), acted.err.size(),
                                     acted.outcome.has_value()});
  }

  void take(const wire::PeerToKeeper& message) {
    if (const auto* from = std::get_if<wire::to_keeper::FromLeader>(&message)) {
      feed([&](Worker& worker) { worker.receive(now(), from->message); });
    } else if (std::holds_alternative<wire::to_keeper::SessionLost>(message)) {
      feed([](Worker& worker) { worker.session_lost(now()); });
    } else if (const auto* offer = std::get_if<wire::to_keeper::OfferChanged>(&message)) {
      if (std::exchange(offer_known_, true) && offer_ == offer->offer) return;
      offer_ = offer->offer;
      feed([&](Worker& worker) { worker.offer_changed(now(), offer->offer); });
    } else if (const auto* prepared = std::get_if<wire::to_keeper::Prepared>(&message)) {
      take(*prepared);
    } else if (const auto* refused = std::get_if<wire::to_keeper::NotPrepared>(&message)) {
      attempts_.at(refused->attempt).refused = refused->failure;
      end(refused->attempt, refused->failure);
    } else if (const auto* watch = std::get_if<wire::to_keeper::Watch>(&message)) {
      if (!watch->on) {
        watched_.erase(watch->attempt);
      } else if (attempts_.contains(watch->attempt)) {
        watched_.insert(watch->attempt);
        say_growth(watch->attempt);
      }
    } else if (const auto* discard = std::get_if<wire::to_keeper::Discard>(&message)) {
      std::filesystem::remove_all(folder_of(discard->attempt));
      attempts_.erase(discard->attempt);
    }
  }

  void take(const wire::to_keeper::Prepared& prepared) {
    if (!attempts_.contains(prepared.attempt)) {
      prepared_ahead_.insert_or_assign(prepared.attempt, prepared);
      return;
    }
    Acted& acted = attempts_.at(prepared.attempt);
    if (std::exchange(acted.prepared, true)) return;
    acted.secrets = prepared.secrets;
    acted.started_at = now().at;
    link.say(wire::from_keeper::Running{prepared.attempt, acted.order.job, acted.order.task, 77});
    feed([&](Worker& worker) { worker.started(now(), prepared.attempt); });
  }

  net::Loop& loop_;
  std::string state_;

 public:
  FakeKeeper link;

 private:
  std::optional<Worker> worker_;
  net::Timer timer_;
  std::map<Fence, Acted> attempts_;
  std::map<Fence, wire::to_keeper::Prepared> prepared_ahead_;
  std::set<Fence> watched_;
  std::vector<Fence> ending_;
  PeerOffer offer_;
  bool offer_known_ = false;
};

/// A client on the test's own loop: asks, and keeps what it is answered.
class TestClient {
 public:
  TestClient(net::Loop& loop, const std::string& path, bool greets = true)
      : TestClient(loop, connected(path), greets) {}
  TestClient(net::Loop& loop, posix::Fd socket, bool greets = true) : loop_(loop) {
    net::ConnectionOptions options;
    options.frame_limit_bytes = wire::frame_limit_bytes;
    auto made = net::Connection::adopt(loop, std::move(socket), options,
                                       {[this](std::string_view payload) { take(payload); },
                                        [this](const net::Closing&) { closed_ = true; },
                                        {}});
    REQUIRE(made.ok());
    connection_.emplace(std::move(made).value());
    if (greets) say(0, wire::Hello{wire::client_protocol, wire::client_protocol, "test"});
  }

  void say(std::uint32_t question, wire::Question body) {
    connection_->send(wire::encode(wire::ClientMessage{question, std::move(body)}));
  }
  void say_bytes(std::string payload) { connection_->send(std::move(payload)); }
  std::uint32_t ask(wire::Question body) {
    say(++last_, std::move(body));
    return last_;
  }
  bool closed() const { return closed_; }
  void hang_up() { connection_.reset(); }
  void close_after_writing() { connection_->close_after_writing(); }

  /// All of one kind that came for a question.
  template <class T>
  std::vector<T> told(std::uint32_t question) const {
    std::vector<T> some;
    for (const auto& [number, answer] : answers_)
      if (const T* one = std::get_if<T>(&answer); one != nullptr && number == question)
        some.push_back(*one);
    return some;
  }
  std::size_t count(std::uint32_t question) const {
    return static_cast<std::size_t>(
        std::count_if(answers_.begin(), answers_.end(),
                      [&](const auto& answer) { return answer.first == question; }));
  }
  /// Waits for the first answer of this kind; any other refusal fails the test.
  template <class T>
  T await(std::uint32_t question) {
    run_until(loop_, [&] { return closed_ || !told<T>(question).empty() || refused<T>(question); });
    const auto answers = told<T>(question);
    const auto refusals = told<wire::Refused>(question);
    REQUIRE_MESSAGE(!answers.empty(),
                    (refusals.empty() ? "the connection ended" : refusals.front().message));
    return answers.front();
  }
  template <class T>
  T ask_for(wire::Question body) {
    return await<T>(ask(std::move(body)));
  }
  /// What the job wrote, of one stream, without gap or repetition.
  std::string output(std::uint32_t question, wire::OutputStream stream = wire::OutputStream::out,
                     std::uint64_t from = 0) const {
    std::string bytes;
    for (const wire::Output& output : told<wire::Output>(question)) {
      if (output.at.stream != stream) continue;
      CHECK(output.at.offset == from + bytes.size());
      bytes += output.data;
    }
    return bytes;
  }

 private:
  static posix::Fd connected(const std::string& path) {
    posix::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::copy(path.begin(), path.end(), address.sun_path);
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) ==
            0);
    return socket;
  }
  template <class T>
  bool refused(std::uint32_t question) const {
    return !told<wire::Refused>(question).empty();
  }
  void take(std::string_view payload) {
    auto message = wire::decode<wire::PeerMessage>(payload);
    REQUIRE(message.ok());
    answers_.emplace_back(message.value().question, std::move(message.value().body));
  }

  net::Loop& loop_;
  std::optional<net::Connection> connection_;
  std::vector<std::pair<std::uint32_t, wire::Answer>> answers_;
  std::uint32_t last_ = 0;
  bool closed_ = false;
};

/// A real Peer of a folder, its keeper acted by the test.
struct PeerScene {
  TemporaryFolder folder;
  std::string state = folder / "state";
  std::unique_ptr<net::Loop> loop = make_loop();
  auth::Key key = auth::Key::draw();
  std::vector<std::string> troubles;
  std::optional<ActedKeeper> keeper;
  std::unique_ptr<Peer> peer;
  std::uint64_t requests = 0;

  PeerScene() {
    std::filesystem::create_directories(state);
    keeper.emplace(*loop, state);
    start();
  }
  ~PeerScene() { peer.reset(); }
  PeerScene(const PeerScene&) = delete;
  PeerScene& operator=(const PeerScene&) = delete;

  Result<std::unique_ptr<Peer>> try_open() {
    PeerOptions options;
    options.key = key;
    options.listen = net::PeerAddress{"127.0.0.1", 0};
    options.mdns = false;
    options.state_folder = state;
    options.program = "/bin/false";
    options.lending.cpus = 1;
    options.log = [this](PeerOptions::Matter matter, const std::string& line) {
      if (matter == PeerOptions::Matter::trouble) troubles.push_back(line);
    };
    return Peer::open(*loop, std::move(options));
  }
  /// Without waiting for what it lends.
  void open() {
    auto opened = try_open();
    REQUIRE_MESSAGE(opened.ok(), (opened.ok() ? "" : opened.error().message));
    peer = std::move(opened).value();
  }
  void start() {
    open();
    bool ready = false;
    peer->ready = [&] { ready = true; };
    until([&] { return ready; });
  }
  /// As after kill -9: whoever was connected is not any more, the keeper goes on.
  void stop() { peer.reset(); }

  template <class Condition>
  void until(Condition holds) {
    run_until(*loop, holds);
  }
  std::unique_ptr<TestClient> connect(bool greets = true) {
    return std::make_unique<TestClient>(*loop, state + "/peer.sock", greets);
  }
  wire::SubmitJob a_job(bool attached = false) {
    wire::SubmitJob asked;
    asked.request = {7, ++requests};
    asked.job.spec.command = {"true"};
    asked.attached = attached;
    return asked;
  }
  JobId submit(TestClient& client) { return client.ask_for<wire::Submitted>(a_job()).job; }
  /// Until it runs.
  Fence begin(JobId job) {
    until([&] { return keeper->running(job).has_value(); });
    return *keeper->running(job);
  }
};

}  // namespace gpl::peer::test
