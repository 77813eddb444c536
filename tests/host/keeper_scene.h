#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpl/core/overloaded.h"
#include "gpl/host/keeper.h"
#include "gpl/host/keeper_journal.h"
#include "gpl/host/skipped_output.h"
#include "gpl/host/socket_path.h"
#include "gpl/posix/fd.h"
#include "gpl/posix/file.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"
#include "marked_processes.h"
#include "temporary_folder.h"

/// A keeper in a process of its own, and this test as its peer and as the leader.
class KeeperScene {
 public:
  using ToKeeper = gpl::wire::PeerToKeeper;
  using FromKeeper = gpl::wire::KeeperToPeer;

  explicit KeeperScene(const std::string& state = "") {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // to be handed the guards
    options.state_folder = state.empty() ? folder_.path() : state;
    options.version = "test";
    options.worker.grace = gpl::seconds(1);
    options.lock_folders = {folder_.path()};
  }
  KeeperScene(const KeeperScene&) = delete;
  ~KeeperScene() {
    kill_keeper();
    CHECK(eventually([&] {
      while (::waitpid(-1, nullptr, WNOHANG) > 0) {
      }
      return processes_with(mark).empty();
    }));
  }

  gpl::host::KeeperOptions options;
  const std::string mark = unique_mark();
  bool followed = false;                          ///< as Prepare is answered
  bool prepares = true;                           ///< whether it is
  std::vector<FromKeeper> said;                   ///< but for what is for the leader
  std::map<gpl::Fence, gpl::EndedAttempt> ended;  ///< as the leader was told
  std::map<gpl::Fence, bool> live;                ///< whether it has started

  const std::string& state() const { return options.state_folder; }
  std::string work_path(std::uint64_t number) const { return attempt_path(number) + "/work"; }
  std::string attempt_path(std::uint64_t number) const {
    return state() + "/attempts/1." + std::to_string(number);
  }

  pid_t start_keeper() {
    keeper_ = ::fork();
    if (keeper_ == 0) {
      ::setsid();
      ::_exit(gpl::host::run_keeper(options).ok() ? 0 : 1);
    }
    return keeper_;
  }
  void kill_keeper() {
    socket_.reset();
    if (keeper_ <= 0) return;
    ::kill(keeper_, SIGKILL);
    ::waitpid(keeper_, nullptr, 0);
    keeper_ = -1;
  }
  pid_t keeper() const { return keeper_; }
  /// -1 when it has not ended in time.
  int keeper_exit() {
    int status = 0;
    if (!eventually([&] { return ::waitpid(keeper_, &status, WNOHANG) == keeper_; })) return -1;
    keeper_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void connect() {
    connect_raw();
    send(gpl::wire::KeeperHello{1, 1, "test", ""});
    send(gpl::wire::to_keeper::OfferChanged{offer});
    REQUIRE(until([&] { return granted_; }));
  }
  void connect_raw() {
    const auto path = gpl::host::socket_path(state(), "keeper.sock");
    REQUIRE(path.ok());
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.value().c_str(), path.value().size() + 1);
    said.clear();
    session_.reset();
    granted_ = false;
    reader_ = gpl::wire::FrameReader(gpl::wire::frame_limit_bytes);
    REQUIRE(eventually([&] {
      socket_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
      return ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
                       sizeof address) == 0;
    }));
  }
  void disconnect() { socket_.reset(); }
  bool hung_up() {
    return until([&] { return closed_; });
  }
  void send_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  void send(const ToKeeper& message) {
    gpl::wire::FrameWriter writer;
    writer.add(gpl::wire::encode(message));
    std::array<std::string_view, 8> pieces;
    std::string bytes;
    const std::size_t count = writer.gather(pieces);
    for (std::size_t i = 0; i < count; ++i) bytes += pieces[i];
    send_bytes(bytes);
  }

  /// Takes what the keeper says until `condition` holds.
  template <class Condition>
  bool until(Condition condition, std::chrono::seconds limit = std::chrono::seconds(20)) {
    closed_ = false;
    return eventually(
        [&] {
          receive();
          return condition();
        },
        limit);
  }
  template <class T>
  const T* find(const gpl::Fence& attempt) const {
    for (auto each = said.rbegin(); each != said.rend(); ++each) {
      const T* found = std::get_if<T>(&*each);
      if (found != nullptr && found->attempt == attempt) return found;
    }
    return nullptr;
  }
  template <class T>
  std::size_t count() const {
    std::size_t count = 0;
    for (const FromKeeper& each : said)
      if (std::holds_alternative<T>(each)) ++count;
    return count;
  }

  static gpl::Fence fence(std::uint64_t number) { return {1, gpl::AttemptId{number}}; }
  gpl::to_worker::Start order_of(std::uint64_t number, const std::string& script) const {
    gpl::to_worker::Start order;
    order.fence = fence(number);
    order.slot = gpl::AttemptId{number};
    order.job = gpl::JobId{number};
    order.description.spec.command = {"/bin/sh", "-c", script};
    const std::size_t equals = mark.find('=');
    order.description.spec.env = {{mark.substr(0, equals), mark.substr(equals + 1)}};
    return order;
  }
  void order(const std::variant<gpl::to_worker::Start, gpl::to_worker::End,
                                gpl::to_worker::Acknowledge>& what) {
    REQUIRE(session_);
    send(gpl::wire::to_keeper::FromLeader{
        gpl::to_worker::Order{*session_, leadership, ++ordered_, what}});
  }
  void start(std::uint64_t number, const std::string& script) { order(order_of(number, script)); }
  bool runs(std::uint64_t number) {
    return until([&] { return find<gpl::wire::from_keeper::Running>(fence(number)) != nullptr; });
  }
  /// The outcome that the peer and the leader were told; Lost{"not told"}.
  gpl::Outcome outcome(std::uint64_t number,
                       std::chrono::seconds limit = std::chrono::seconds(20)) {
    const bool told = until(
        [&] {
          return find<gpl::wire::from_keeper::Ended>(fence(number)) != nullptr &&
                 ended.contains(fence(number));
        },
        limit);
    if (!told) return gpl::Lost{"not told"};
    CHECK(find<gpl::wire::from_keeper::Ended>(fence(number))->outcome ==
          ended.at(fence(number)).outcome);
    return ended.at(fence(number)).outcome;
  }
  std::string output(std::uint64_t number, const std::string& stream = "stdout") const {
    const auto bytes = gpl::posix::read_file_at(AT_FDCWD, attempt_path(number) + "/" + stream,
                                                std::size_t{1} << 30);
    return bytes.ok() ? bytes.value() : "";
  }
  /// What the keeper has written down of how it ended.
  std::optional<gpl::host::KeeperJournal::Exit> kept(std::uint64_t number) const {
    const std::string path = state() + "/attempts";
    const gpl::posix::Fd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto content = gpl::host::KeeperJournal::read(folder.get());
    if (!content.ok()) return std::nullopt;
    const auto found = content.value().exits.find(fence(number));
    if (found == content.value().exits.end()) return std::nullopt;
    return found->second;
  }
  bool acknowledged(std::uint64_t number) const {
    const auto exit = kept(number);
    return exit && exit->acknowledged;
  }
  gpl::host::SkippedOutput skipped(std::uint64_t number) const {
    const gpl::posix::Fd folder(
        ::open(attempt_path(number).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto skipped = gpl::host::read_skipped(folder.get());
    CHECK(skipped.ok());
    return skipped.ok() ? skipped.value() : gpl::host::SkippedOutput{};
  }

  gpl::PeerOffer offer;
  gpl::Leadership leadership{1, 1};
  gpl::wire::KeeperHello keeper_hello;

 private:
  void receive() {
    char chunk[65536];
    const ssize_t got = ::recv(socket_.get(), chunk, sizeof chunk, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno == ECONNRESET)) closed_ = true;
    if (got <= 0) return;
    reader_.feed({chunk, static_cast<std::size_t>(got)});
    while (true) {
      const auto frame = reader_.next();
      REQUIRE(frame.ok());
      if (!frame.value()) break;
      auto message = gpl::wire::decode<FromKeeper>(*frame.value());
      REQUIRE(message.ok());
      hear(std::move(message).value());
    }
    reader_.keep();
  }
  void hear(FromKeeper message) {
    if (const auto* hello = std::get_if<gpl::wire::KeeperHello>(&message)) {
      keeper_hello = *hello;
    } else if (const auto* leaders = std::get_if<gpl::wire::from_keeper::ToLeader>(&message)) {
      lead(leaders->message);
    } else {
      const auto* prepare = std::get_if<gpl::wire::from_keeper::Prepare>(&message);
      if (prepare != nullptr && prepares) {
        send(gpl::wire::to_keeper::Prepared{prepare->attempt, {}, followed});
      }
      said.push_back(std::move(message));
    }
  }
  void lead(const gpl::WorkerToLeader& message) {
    std::visit(
        gpl::Overloaded{[&](const gpl::to_leader::Hello& hello) {
                          session_ = hello.session;
                          ordered_ = 0;
                          live.clear();
                          for (const auto& each : hello.live) live[each.fence] = !!each.started_at;
                          for (const auto& each : hello.ended) ended[each.fence] = each;
                          answer(gpl::to_worker::Welcome{hello.session, leadership, ++opening_});
                        },
                        [&](const gpl::to_leader::Renew& renew) {
                          answer(gpl::to_worker::Granted{renew.session, leadership, renew.asked_at,
                                                         gpl::milliseconds(0), ordered_});
                          granted_ = true;
                        },
                        [&](const gpl::to_leader::Told& told) {
                          std::visit(gpl::Overloaded{[&](const gpl::LiveAttempt& each) {
                                                       live[each.fence] = !!each.started_at;
                                                     },
                                                     [&](const gpl::EndedAttempt& each) {
                                                       live.erase(each.fence);
                                                       ended[each.fence] = each;
                                                     }},
                                     told.attempt);
                        }},
        message);
  }
  void answer(const gpl::LeaderToWorker& message) {
    send(gpl::wire::to_keeper::FromLeader{message});
  }

  TemporaryFolder folder_;
  pid_t keeper_ = -1;
  gpl::posix::Fd socket_;
  gpl::wire::FrameReader reader_{gpl::wire::frame_limit_bytes};
  std::optional<gpl::SessionId> session_;
  bool granted_ = false;  ///< it obeys
  std::uint64_t opening_ = 0;
  std::uint64_t ordered_ = 0;
  bool closed_ = false;
};
