#include "gpl/peer/client_session.h"

#include <unistd.h>

#include <utility>

#include "gpl/core/size.h"
#include "gpl/peer/admission.h"
#include "gpl/wire/codec.h"
#include "gpl/wire/frame.h"

namespace gpl::peer {

ClientSession::ClientSession(Parts& parts, std::uint64_t number,
                             const net::Credentials& credentials, std::function<void()> closed)
    : parts_(parts),
      number_(number),
      credentials_(credentials),
      closed_(std::move(closed)),
      alive_(std::make_shared<char>()) {}

ClientSession::~ClientSession() {
  if (waits_to_leave_) parts_.leaving = false;
  for (const auto& [question, exec] : execs_) parts_.calls->drop_exec(exec.number);
  for (const auto& [attempt, taken] : inputs_) parts_.calls->drop_input(attempt);
}

Status ClientSession::adopt(posix::Fd socket) {
  net::ConnectionOptions options;
  options.frame_limit_bytes = wire::hello_limit_bytes;
  auto connection = net::Connection::adopt(parts_.loop, std::move(socket), options,
                                           {[this](std::string_view payload) { take(payload); },
                                            [this](const net::Closing& closing) {
                                              static_cast<void>(closing);
                                              closed_();
                                            },
                                            [this](bool high) {
                                              if (!high) go_on_listing();
                                            }});
  if (!connection.ok()) return std::move(connection).error();
  connection_.emplace(std::move(connection).value());
  return success();
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

void ClientSession::dispatch(Question question, wire::Question body) {
  std::visit([&](auto& asked) { ask(question, asked); }, body);
}

void ClientSession::ask(Question question, wire::Hello& asked) {
  answer(question, wire::Hello{wire::client_protocol, wire::client_protocol, GPL_VERSION});
  if (asked.oldest_protocol > wire::client_protocol ||
      asked.newest_protocol < wire::client_protocol)
    return connection_->close_after_writing();
  greeted_ = true;
  connection_->set_frame_limit(wire::frame_limit_bytes);
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
                     listings_.contains(question);
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
  if (job == nullptr) {
    refuse(question, Error{Code::not_found, "there is no " + name});
  } else if (to_change && !has_every_right() && !is_own(*job, submitter())) {
    refuse(question, Error{Code::denied, name + " is of somebody else"});
    return nullptr;
  }
  return job;
}

Submitter ClientSession::submitter() const { return {"", parts_.identity.peer, credentials_.uid}; }

/// The peer's owner and root.
bool ClientSession::has_every_right() const {
  return credentials_.uid == 0 || credentials_.uid == ::geteuid();
}

}  // namespace gpl::peer
