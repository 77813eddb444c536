#include "gpl/peer/far_sessions.h"

#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gpl/core/overloaded.h"
#include "gpl/net/timer.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"

namespace gpl::peer {
namespace {

constexpr Duration hello_limit = seconds(10);

/// What of a question says which of its answers is the last one.
struct Course {
  bool goes_on = false;  ///< by itself, until its end or until nobody wants it any more
  bool ends_with_job = false;
  bool attached = false;
};

Course course_of(const wire::Question& question) {
  Course course;
  if (const auto* submit = std::get_if<wire::SubmitJob>(&question)) {
    course.attached = course.goes_on = course.ends_with_job = submit->attached;
  } else if (std::holds_alternative<wire::Follow>(question)) {
    course.goes_on = course.ends_with_job = true;
  } else {
    course.goes_on = std::holds_alternative<wire::FollowAttempt>(question) ||
                     std::holds_alternative<wire::ExecInTask>(question) ||
                     std::holds_alternative<wire::WaitFor>(question);
  }
  return course;
}

bool is_last(const Course& course, const wire::Answer& answer) {
  return std::visit(Overloaded{[](const wire::Hello&) { return false; },
                               [](const wire::Output&) { return false; },
                               [](const wire::TaskEnded&) { return false; },
                               [](const wire::InputTaken&) { return false; },
                               [&](const wire::JobEnded&) { return course.ends_with_job; },
                               [&](const wire::Submitted&) { return !course.attached; },
                               [](const wire::JobList& list) { return list.last; },
                               [](const wire::Done&) { return true; },
                               [](const wire::Refused&) { return true; },
                               [](const wire::ChunksMissing&) { return true; },
                               [](const wire::TreeKept&) { return true; },
                               [](const wire::ClusterStatus&) { return true; },
                               [](const wire::Explained&) { return true; },
                               [](const wire::ExecEnded&) { return true; },
                               [](const wire::Results&) { return true; },
                               [](const wire::FilePiece&) { return true; },
                               [](const wire::Health&) { return true; },
                               [](const wire::AttemptOver&) { return true; },
                               [](const wire::TreePiece&) { return true; },
                               [](const wire::ChunkIs&) { return true; },
                               [](const wire::JobNotesAre&) { return true; }},
                    answer);
}

Error unreachable(const std::string& why) { return {Code::not_found, why}; }

}  // namespace

struct FarSessions::State : std::enable_shared_from_this<FarSessions::State> {
  /// One connection, from its dialling on.
  struct Far {
    std::uint64_t generation = 0;  ///< no two have the same
    std::optional<net::Connection> connection;
    bool greeted = false;
    std::deque<std::string> waiting;  ///< until it is
    std::size_t waiting_bytes = 0;
    std::uint32_t next_question = 1;
    std::map<std::uint32_t, Number> open;
    net::Timer timer;  ///< for its hello, then while it is idle
  };
  struct Asked {
    PeerId peer;
    std::uint64_t generation = 0;  ///< of its connection, which is gone while it is told so
    std::uint32_t question = 0;
    Course course;
    Told told;
  };

  State(net::Loop& on, Connect by, std::string own_version, Duration idle_limit)
      : loop(on), connect(std::move(by)), version(std::move(own_version)), idle(idle_limit) {}

  Far& far_with(PeerId peer);
  void dial(PeerId peer, std::uint64_t generation);
  void connected(PeerId peer, std::uint64_t generation, Result<net::Connection> made);
  Far* find(PeerId peer, std::uint64_t generation);
  void send(Far& far, std::string payload);
  void refuse(Number number, std::size_t bytes);
  void received(PeerId peer, std::uint64_t generation, std::string_view payload);
  std::optional<std::string> greet(Far& far, const wire::Answer& answer);
  void deliver(Far& far, std::uint32_t question, wire::Answer answer);
  void lose(PeerId peer, std::uint64_t generation, const Error& why);
  /// What was asked is over.
  void close(const Asked& over);

  net::Loop& loop;
  Connect connect;
  std::string version;
  Duration idle;
  std::map<PeerId, std::unique_ptr<Far>> fars;
  std::map<Number, Asked> asked;
  Number last_number = 0;
  std::uint64_t last_generation = 0;
};

FarSessions::State::Far& FarSessions::State::far_with(PeerId peer) {
  std::unique_ptr<Far>& far = fars[peer];
  if (far) return *far;
  far = std::make_unique<Far>();
  far->generation = ++last_generation;
  loop.post([weak = weak_from_this(), peer, generation = far->generation] {
    if (const auto state = weak.lock()) state->dial(peer, generation);
  });
  return *far;
}

FarSessions::State::Far* FarSessions::State::find(PeerId peer, std::uint64_t generation) {
  const auto entry = fars.find(peer);
  if (entry == fars.end() || entry->second->generation != generation) return nullptr;
  return entry->second.get();
}

void FarSessions::State::dial(PeerId peer, std::uint64_t generation) {
  if (find(peer, generation) == nullptr) return;
  net::Connection::Told told;
  told.frame = [weak = weak_from_this(), peer, generation](std::string_view payload) {
    if (const auto state = weak.lock()) state->received(peer, generation, payload);
  };
  told.closed = [weak = weak_from_this(), peer, generation](const net::Closing& closing) {
    if (const auto state = weak.lock())
      state->lose(peer, generation, unreachable("the connection is gone: " + closing.message));
  };
  connect(peer, {}, std::move(told),
          [weak = weak_from_this(), peer, generation](Result<net::Connection> made) {
            if (const auto state = weak.lock()) state->connected(peer, generation, std::move(made));
          });
}

void FarSessions::State::connected(PeerId peer, std::uint64_t generation,
                                   Result<net::Connection> made) {
  Far* far = find(peer, generation);
  if (far == nullptr) return;
  if (!made.ok()) return lose(peer, generation, unreachable(made.error().message));
  far->connection.emplace(std::move(made).value());
  far->connection->send(wire::encode(
      wire::ClientMessage{0, wire::Hello{wire::client_protocol, wire::client_protocol, version}}));
  far->timer = loop.after(hello_limit, [this, peer, generation] {
    lose(peer, generation, unreachable("it does not answer"));
  });
}

void FarSessions::State::send(Far& far, std::string payload) {
  if (far.greeted) return far.connection->send(std::move(payload));
  far.waiting_bytes += payload.size();
  far.waiting.push_back(std::move(payload));
}

/// The question has so many bytes, which is too much.
void FarSessions::State::refuse(Number number, std::size_t bytes) {
  const auto entry = asked.find(number);
  if (entry == asked.end()) return;
  const Asked refused = std::move(entry->second);
  asked.erase(entry);
  close(refused);
  refused.told(Error{Code::too_large, "this asks too much at once: " + std::to_string(bytes) +
                                          " bytes, at most " +
                                          std::to_string(wire::frame_limit_bytes)});
}

void FarSessions::State::received(PeerId peer, std::uint64_t generation, std::string_view payload) {
  Far* far = find(peer, generation);
  if (far == nullptr) return;
  Result<wire::PeerMessage> message = wire::decode<wire::PeerMessage>(payload);
  if (!message.ok())
    return lose(peer, generation,
                unreachable("its words are not understood (" + message.error().message +
                            "); is it of another version of gpl?"));
  if (far->greeted) return deliver(*far, message.value().question, std::move(message.value().body));
  if (const auto fault = greet(*far, message.value().body))
    lose(peer, generation, unreachable(*fault));
}

/// What is wrong, or nothing.
std::optional<std::string> FarSessions::State::greet(Far& far, const wire::Answer& answer) {
  if (const auto* refused = std::get_if<wire::Refused>(&answer)) return refused->message;
  const auto* hello = std::get_if<wire::Hello>(&answer);
  if (hello == nullptr) return "it gave no hello";
  if (hello->oldest_protocol > wire::client_protocol ||
      hello->newest_protocol < wire::client_protocol)
    return "it is gpl " + hello->version + ", which shares no protocol with gpl " + version +
           ": run both from one version";
  far.timer.cancel();
  far.connection->set_frame_limit(wire::frame_limit_bytes);
  far.greeted = true;
  for (std::string& payload : far.waiting) far.connection->send(std::move(payload));
  far.waiting.clear();
  far.waiting_bytes = 0;
  return std::nullopt;
}

void FarSessions::State::deliver(Far& far, std::uint32_t question, wire::Answer answer) {
  const auto open = far.open.find(question);
  if (open == far.open.end()) return;
  const Number number = open->second;
  const auto entry = asked.find(number);
  const bool last = is_last(entry->second.course, answer);
  // Taken out for the call: what is told may forget the question.
  Told told = std::move(entry->second.told);
  if (last) {
    close(entry->second);
    asked.erase(entry);
  }
  const auto self = shared_from_this();
  told(std::move(answer));
  if (last) return;
  if (const auto still = asked.find(number); still != asked.end())
    still->second.told = std::move(told);
}

/// Who is told may ask anew, or forget what is still to be told.
void FarSessions::State::lose(PeerId peer, std::uint64_t generation, const Error& why) {
  if (find(peer, generation) == nullptr) return;
  const auto self = shared_from_this();
  const Error error = why;
  const std::unique_ptr<Far> lost = std::move(fars.at(peer));
  fars.erase(peer);
  lost->timer.cancel();
  for (const auto& [question, number] : lost->open) {
    const auto entry = asked.find(number);
    if (entry == asked.end()) continue;
    const Told told = std::move(entry->second.told);
    asked.erase(entry);
    told(error);
  }
}

void FarSessions::State::close(const Asked& over) {
  Far* far = find(over.peer, over.generation);
  if (far == nullptr) return;
  far->open.erase(over.question);
  if (!far->open.empty() || !far->greeted) return;
  far->timer = loop.after(idle, [this, peer = over.peer, generation = over.generation] {
    if (find(peer, generation) != nullptr) fars.erase(peer);
  });
}

FarSessions::Connect FarSessions::connect_by(net::Loop& loop, Dial dial) {
  return [&loop, dial = std::move(dial)](PeerId peer, net::ConnectionOptions options,
                                         net::Connection::Told told, Made made) {
    dial(peer, [&loop, options, told = std::move(told),
                made = std::move(made)](Result<net::SecureSocket> socket) {
      if (!socket.ok()) return made(std::move(socket).error());
      made(net::Connection::adopt(loop, std::move(socket).value(), options, told));
    });
  };
}

FarSessions::FarSessions(net::Loop& loop, Connect connect, std::string version, Duration idle)
    : state_(std::make_shared<State>(loop, std::move(connect), std::move(version), idle)) {}

FarSessions::~FarSessions() {
  // One of its callbacks may be what ends it.
  state_->asked.clear();
  state_->fars.clear();
}

FarSessions::Number FarSessions::ask(PeerId peer, wire::Question question, Told told) {
  const Number number = ++state_->last_number;
  State::Far& far = state_->far_with(peer);
  const std::uint32_t as = far.next_question++;
  far.open.emplace(as, number);
  if (far.greeted) far.timer.cancel();
  state_->asked.emplace(
      number, State::Asked{peer, far.generation, as, course_of(question), std::move(told)});
  std::string payload = wire::encode(wire::ClientMessage{as, question});
  if (payload.size() <= wire::frame_limit_bytes) {
    state_->send(far, std::move(payload));
  } else {
    state_->loop.post([weak = std::weak_ptr<State>(state_), number, bytes = payload.size()] {
      if (const auto state = weak.lock()) state->refuse(number, bytes);
    });
  }
  return number;
}

void FarSessions::say(Number number, wire::Question body) {
  const auto entry = state_->asked.find(number);
  if (entry == state_->asked.end()) return;
  const State::Asked& asked = entry->second;
  if (auto* taken = std::get_if<wire::Taken>(&body)) taken->question = asked.question;
  if (auto* signal = std::get_if<wire::SignalExec>(&body)) signal->question = asked.question;
  State::Far* far = state_->find(asked.peer, asked.generation);
  if (far != nullptr) state_->send(*far, wire::encode(wire::ClientMessage{asked.question, body}));
}

void FarSessions::forget(Number number) {
  const auto entry = state_->asked.find(number);
  if (entry == state_->asked.end()) return;
  if (entry->second.course.goes_on) say(number, wire::SignalExec{0, 0});
  const State::Asked asked = std::move(entry->second);
  state_->asked.erase(entry);
  state_->close(asked);
}

void FarSessions::lost(PeerId peer) {
  const auto far = state_->fars.find(peer);
  if (far == state_->fars.end() || !far->second) return;
  state_->loop.post([weak = std::weak_ptr(state_), peer, generation = far->second->generation] {
    if (const auto state = weak.lock())
      state->lose(peer, generation, unreachable("its link is gone"));
  });
}

std::size_t FarSessions::queued_bytes(Number number) const {
  const auto entry = state_->asked.find(number);
  if (entry == state_->asked.end()) return 0;
  const State::Far* far = state_->find(entry->second.peer, entry->second.generation);
  if (far == nullptr) return 0;
  return far->waiting_bytes + (far->connection ? far->connection->queued_bytes() : 0);
}

}  // namespace gpl::peer
