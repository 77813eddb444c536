#include "gpl/peer/client_session.h"

#include <utility>

#include "gpl/core/size.h"
#include "gpl/peer/admission.h"
#include "gpl/peer/known_jobs.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"

namespace gpl::peer {
namespace {

constexpr Duration hello_within = seconds(5);
constexpr std::size_t observer_frame_bytes = std::size_t{64} * 1024;  // its questions are short
constexpr std::size_t observer_queue_bytes = std::size_t{2} * 1024 * 1024;

}  // namespace

ClientSession::ClientSession(Parts& parts, std::uint64_t number, Caller caller,
                             std::function<void()> closed)
    : parts_(parts),
      number_(number),
      caller_(std::move(caller)),
      closed_(std::move(closed)),
      alive_(std::make_shared<char>()),
      relays_(*parts.far,
              [this](Question question, wire::Answer told) { answer(question, std::move(told)); }) {
}

ClientSession::~ClientSession() {
  if (waits_to_leave_) parts_.peer.set_leaving(false);
  for (const auto& [question, exec] : execs_) parts_.calls->drop_exec(exec.number);
  for (const auto& [attempt, taken] : inputs_) parts_.calls->drop_input(attempt);
  parts_.pulls->release(number_);
  for (auto& [question, follower] : attempt_followers_)
    if (follower->attached()) parts_.peer.linger(std::move(follower));
}

net::Connection::Told ClientSession::told() {
  return {[this](std::string_view payload) { take(payload); },
          [this](const net::Closing& closing) {
            static_cast<void>(closing);
            closed_();
          },
          [this](bool high) {
            if (!high) go_on_listing();
          }};
}

Status ClientSession::adopted(Result<net::Connection> connection) {
  if (!connection.ok()) return std::move(connection).error();
  connection_.emplace(std::move(connection).value());
  return success();
}

Status ClientSession::adopt(posix::Fd socket) {
  return adopted(net::Connection::adopt(parts_.loop, std::move(socket), {}, told()));
}

/// Who has a key may still be up to no good, and holds a descriptor.
Status ClientSession::adopt(net::SecureSocket socket) {
  hello_is_due_ = true;
  net::ConnectionOptions options;
  if (caller_.rights == Caller::Rights::looking) options.queue_limit_bytes = observer_queue_bytes;
  return adopted(net::Connection::adopt(parts_.loop, std::move(socket), options, told()));
}

void ClientSession::resume() {
  connection_->resume();
  if (hello_is_due_ && !greeted_)
    hello_deadline_ = parts_.loop.after(hello_within, [this] { connection_->close(); });
}

void ClientSession::take(std::string_view payload) {
  auto message = wire::decode<wire::ClientMessage>(payload);
  if (!message.ok()) {
    refuse(0, message.error());
    return connection_->close_after_writing();
  }
  const bool is_hello = std::holds_alternative<wire::Hello>(message.value().body);
  if (greeted_ == is_hello) {
    refuse(message.value().question, Error{Code::invalid, "a hello comes first, and once"});
    return connection_->close_after_writing();
  }
  dispatch(message.value().question, std::move(message.value().body));
}

bool ClientSession::may_ask(const wire::Question& body) const {
  const bool is_of_peers = std::holds_alternative<wire::FollowAttempt>(body) ||
                           std::holds_alternative<wire::FetchManifest>(body) ||
                           std::holds_alternative<wire::FetchChunk>(body) ||
                           std::holds_alternative<wire::AskJobNotes>(body);
  if (is_of_peers) return caller_.is_peer;
  if (std::holds_alternative<wire::AskHealth>(body)) return has_every_right();
  if (caller_.rights != Caller::Rights::looking) return true;
  return std::holds_alternative<wire::Hello>(body) ||
         std::holds_alternative<wire::ListJobs>(body) ||
         std::holds_alternative<wire::AskCluster>(body) ||
         std::holds_alternative<wire::AskExplanation>(body);
}

void ClientSession::dispatch(Question question, wire::Question body) {
  if (!may_ask(body))
    return refuse(question, Error{Code::denied, caller_.rights == Caller::Rights::looking
                                                    ? "an observer's key shows status, and no more"
                                                    : "this is not for a client to ask"});
  std::visit([&](auto& asked) { ask(question, asked); }, body);
}

void ClientSession::ask(Question question, wire::Hello& asked) {
  answer(question, wire::Hello{wire::client_protocol, wire::client_protocol, GPL_VERSION});
  if (asked.oldest_protocol > wire::client_protocol ||
      asked.newest_protocol < wire::client_protocol)
    return connection_->close_after_writing();
  greeted_ = true;
  hello_deadline_.cancel();
  connection_->set_frame_limit(caller_.rights == Caller::Rights::looking ? observer_frame_bytes
                                                                         : wire::frame_limit_bytes);
}

void ClientSession::answer(Question question, wire::Answer answer) {
  std::string payload = wire::encode(wire::PeerMessage{question, std::move(answer)});
  if (payload.size() > wire::frame_limit_bytes)
    payload = wire::encode(wire::PeerMessage{
        question,
        refusal(Error{Code::too_large, "the answer is too long to be told (" +
                                           format_file_size(payload.size()) + "): ask for less"})});
  connection_->send(std::move(payload));
}

bool ClientSession::is_taken(Question question) {
  const bool taken = followers_.contains(question) || waiting_.contains(question) ||
                     results_.contains(question) || execs_.contains(question) ||
                     listings_.contains(question) || relays_.has(question) ||
                     routes_.contains(question) || gatherings_.contains(question) ||
                     attempt_followers_.contains(question);
  if (taken) refuse(question, Error{Code::invalid, "a question with this number is not done yet"});
  return taken;
}

bool ClientSession::keeper_answers(Question question) {
  const bool answers = parts_.keeper->connected();
  if (!answers)
    refuse(question, Error{Code::busy, "the keeper of the jobs here is being started: try again"});
  return answers;
}

void ClientSession::refuse(Question question, const Error& error) {
  answer(question, refusal(error));
}

const ClusterState* ClientSession::state_for(Question question) {
  const ClusterState* state = parts_.consensus->state();
  if (state == nullptr)
    refuse(question,
           parts_.consensus->failure().value_or(Error{Code::busy, "the peer is starting"}));
  return state;
}

const JobRecord* ClientSession::job_for(Question question, JobId id, bool to_change) {
  const ClusterState* state = state_for(question);
  if (state == nullptr) return nullptr;
  const JobRecord* job = state->find_job(id);
  const std::string name = "job " + std::to_string(id.value);
  if (job == nullptr && !is_forgotten(*state, id) && !parts_.consensus->leads()) {
    refuse(question, Error{Code::busy, "there is no " + name + " yet, as far as this peer knows"});
  } else if (job == nullptr) {
    refuse(question, Error{Code::not_found, "there is no " + name});
  } else if (to_change && !has_every_right() && !is_own(*job, submitter())) {
    refuse(question, Error{Code::denied, name + " is of somebody else"});
    return nullptr;
  }
  return job;
}

bool ClientSession::may_change(Question question, JobId job) {
  return caller_.is_peer || job_for(question, job, true) != nullptr;
}

std::string ClientSession::name_of(PeerId peer) const { return parts_.peer.name_of(peer); }

}  // namespace gpl::peer
