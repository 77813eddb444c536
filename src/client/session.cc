#include "gpl/client/session.h"

#include <algorithm>
#include <cassert>

#include "gpl/wire/codec.h"

namespace gpl::client {
namespace {

constexpr Duration first_backoff = milliseconds(20);
constexpr Duration longest_backoff = milliseconds(500);
constexpr Duration dial_limit = seconds(2);
constexpr Duration hello_limit = seconds(10);
constexpr Duration silence = seconds(1);  // of waiting that is not worth a word

Duration sum(Duration one, Duration other) { return milliseconds(one.count_ms + other.count_ms); }

std::string name(JobId job) { return "job " + std::to_string(job.value); }

bool is_last(const wire::Answer& answer) {
  return std::holds_alternative<wire::Done>(answer) ||
         std::holds_alternative<wire::Refused>(answer);
}

}  // namespace

Error refusal(const wire::Refused& refused) {
  Error error{refused.exit_code == 2 ? Code::invalid : Code::unsupported, refused.message};
  if (!refused.explanation) return error;
  const Explanation& why = *refused.explanation;
  if (!why.nearest.empty() && error.message.find(why.nearest) == std::string::npos) {
    error.message += "\nnearest: " + why.nearest;
  }
  if (why.verdict == Verdict::never && error.message.find("--allow-pending") == std::string::npos) {
    error.message += "\nto queue it until a machine joins that can: --allow-pending";
  }
  return error;
}

Session::Session(std::unique_ptr<net::Loop> loop, PeerPlace place, const Voice& voice)
    : loop_(std::move(loop)),
      place_(std::move(place)),
      places_(place_.sockets, place_.addresses),
      voice_(voice),
      backoff_(first_backoff) {
  assert(place_.addresses.empty() || place_.proof);
}

Result<std::unique_ptr<Session>> Session::connect(PeerPlace place, const Voice& voice) {
  Result<std::unique_ptr<net::Loop>> loop = net::Loop::create();
  if (!loop.ok()) return std::move(loop).error();
  std::unique_ptr<Session> session(new Session(std::move(loop).value(), std::move(place), voice));
  session->dial();
  Status connected = session->run_until([&] { return session->greeted_; });
  if (!connected.ok()) return std::move(connected).error();
  return session;
}

std::uint32_t Session::ask(wire::Question question, Told told, Anew anew) {
  const std::uint32_t number = next_question_++;
  send(number, question);
  outstanding_.insert_or_assign(number,
                                Outstanding{std::move(question), std::move(told), std::move(anew)});
  return number;
}

void Session::say(std::uint32_t question, wire::Question body) { send(question, body); }

void Session::forget(std::uint32_t question) { outstanding_.erase(question); }

Status Session::run_until(const std::function<bool()>& done) {
  constexpr Duration long_enough = seconds(3600);
  while (!done()) {
    if (lost_) return *lost_;
    (void)loop_->run_one(long_enough);
  }
  return success();
}

Result<wire::Answer> Session::ask_once(wire::Question question) {
  std::optional<wire::Answer> answer;
  const std::uint32_t number =
      ask(std::move(question), [&](wire::Answer&& told) { answer.emplace(std::move(told)); });
  Status waited = run_until([&] { return answer.has_value(); });
  forget(number);
  if (!waited.ok()) return std::move(waited).error();
  return std::move(*answer);
}

Error Session::unexpected(const wire::Answer& answer) {
  if (const auto* refused = std::get_if<wire::Refused>(&answer)) return refusal(*refused);
  return Error{Code::io, "the peer gave an answer of another kind (" +
                             std::to_string(answer.index()) + "): report this as a bug of gpl"};
}

Status Session::do_it(wire::Question question) {
  Result<wire::Done> done = ask_for<wire::Done>(std::move(question));
  return done.ok() ? success() : Status(std::move(done).error());
}

Status Session::flush(std::size_t at_most_bytes) {
  return run_until([&] { return !greeted_ || connection_->queued_bytes() <= at_most_bytes; });
}

void Session::send(std::uint32_t question, const wire::Question& body) {
  if (!greeted_) return;
  std::string payload = wire::encode(wire::ClientMessage{question, body});
  if (payload.size() <= wire::frame_limit_bytes) return connection_->send(std::move(payload));
  wire::Refused refused;
  refused.message = "this asks too much at once: " + std::to_string(payload.size()) +
                    " bytes, at most " + std::to_string(wire::frame_limit_bytes) +
                    "; put a long list of words into a file";
  loop_->post([this, question, refused] { deliver(question, wire::Answer(refused)); });
}

void Session::dial() {
  const std::optional<Places::Place> place = places_.next();
  if (!place) return try_later();
  dialed_at_ = loop_->now();
  if (const auto* socket = std::get_if<std::string>(&*place)) {
    dialer_ = net::Dialer::unix_socket(*loop_, *socket, dial_limit,
                                       [this](Result<posix::Fd> made) { dialed(std::move(made)); });
    return;
  }
  auth::Call call{place_.proof->key, place_.proof->key.role(), place_.proof->own,
                  auth::Purpose::client, auth::spoken_protocols};
  secure_dialer_.emplace(*loop_, std::get<net::PeerAddress>(*place), std::move(call), dial_limit,
                         [this](Result<net::SecureSocket> made) { dialed(std::move(made)); });
}

template <class Socket>
void Session::dialed(Result<Socket> socket) {
  if (!socket.ok()) {
    waited_ = sum(waited_, std::min(dial_limit, loop_->now() - dialed_at_));
    return try_next(std::move(socket).error());
  }
  net::Connection::Told told;
  told.frame = [this](std::string_view payload) { received(payload); };
  told.closed = [this](const net::Closing& closing) {
    if (greeted_) return disconnected();
    try_next(Error{Code::not_found, places_.name() + ": it took the connection and ended it (" +
                                        closing.message + ")"});
  };
  Result<net::Connection> connection =
      net::Connection::adopt(*loop_, std::move(socket).value(), {}, std::move(told));
  if (!connection.ok()) return give_up(std::move(connection).error());
  connection_.emplace(std::move(connection).value());
  hello_deadline_ = loop_->after(hello_limit, [this] {
    waited_ = sum(waited_, hello_limit);
    try_next(Error{Code::not_found, places_.name() + ": it takes connections and says nothing"});
  });
  connection_->send(wire::encode(wire::ClientMessage{
      0, wire::Hello{wire::client_protocol, wire::client_protocol, place_.version}}));
}

/// This place did not do: on to the round's next one.
void Session::try_next(Error why) {
  hello_deadline_.cancel();
  connection_.reset();
  if (lost_) return;
  places_.failed(std::move(why));
  dial();
}

/// Who answered will not have this client. At a socket that is the end: it is this machine's peer.
void Session::refused(Error why) {
  if (places_.at_socket()) return give_up(std::move(why));
  try_next(Error{why.code, places_.name() + ": " + why.message});
}

void Session::try_later() {
  const Duration patience = connections_ == 0 ? place_.patience : place_.patience_again;
  if (connections_ == 0 ? places_.refused() : places_.all_refused()) return give_up(places_.why());
  if (waited_ >= patience) return give_up(gone());
  waited_ = sum(waited_, backoff_);
  if (waited_ > silence) say_waiting();
  retry_ = loop_->after(backoff_, [this] { dial(); });
  backoff_ = std::min(longest_backoff, milliseconds(backoff_.count_ms * 2));
}

void Session::say_waiting() {
  if (std::exchange(said_waiting_, true)) return;
  if (connections_ == 0) {
    voice_.say(places_.at_socket() ? "waiting for this machine's peer, which does not answer (" +
                                         places_.name() + ")"
                                   : "waiting for a peer of the cluster: " + places_.why().message);
  } else if (job_) {
    voice_.say("the peer does not answer; " + name(*job_) + " goes on, waiting");
  } else {
    voice_.say("the peer does not answer; waiting for it");
  }
}

Error Session::gone() const {
  if (connections_ == 0) return places_.why();
  std::string words = "the peer has not answered for " + format_short(place_.patience_again);
  if (!places_.at_socket()) words += " (" + places_.why().message + ")";
  if (job_) {
    words += "; " + name(*job_) + " goes on if its machine does: gpl attach " +
             std::to_string(job_->value);
  }
  return Error{Code::not_found, words + "; gpl worker --detach starts the peer"};
}

/// Where else this session could go on, from who knows.
void Session::learn_peers() {
  const std::uint32_t number = next_question_;
  ask(wire::AskCluster{}, [this, number](wire::Answer&& answer) {
    forget(number);
    const auto* status = std::get_if<wire::ClusterStatus>(&answer);
    if (status == nullptr) return;
    std::vector<net::PeerAddress> addresses;
    for (const wire::PeerSummary& peer : status->peers) {
      // A link-local address holds on the link of the peer that told it.
      if (peer.address.empty() || peer.address.find('%') != std::string::npos) continue;
      Result<net::PeerAddress> address = net::parse_peer_address(peer.address);
      if (address.ok()) addresses.push_back(std::move(address).value());
    }
    places_.learn(addresses);
  });
}

void Session::received(std::string_view payload) {
  Result<wire::PeerMessage> message = wire::decode<wire::PeerMessage>(payload);
  if (!message.ok()) {
    return give_up(
        Error{Code::io, "the peer's words are not understood: " + message.error().message +
                            "; is it of another version of gpl?"});
  }
  if (greeted_) return deliver(message.value().question, std::move(message.value().body));
  greet(message.value().body);
}

void Session::greet(wire::Answer& answer) {
  if (const auto* no = std::get_if<wire::Refused>(&answer)) {
    return refused(Error{Code::denied, no->message});
  }
  const auto* hello = std::get_if<wire::Hello>(&answer);
  if (hello == nullptr) {
    return refused(Error{Code::io, "what listens at " + places_.name() + " is no peer of gpl"});
  }
  if (hello->oldest_protocol > wire::client_protocol ||
      hello->newest_protocol < wire::client_protocol) {
    return refused(
        Error{Code::unsupported, "the peer is gpl " + hello->version + ", which this gpl " +
                                     place_.version +
                                     " shares no protocol with: run both from one version"});
  }
  hello_deadline_.cancel();
  connection_->set_frame_limit(wire::frame_limit_bytes);
  greeted_ = true;
  ++connections_;
  waited_ = {};
  backoff_ = first_backoff;
  said_waiting_ = false;
  places_.settled();
  if (!places_.at_socket() && connections_ == 1) {
    learning_ = loop_->after(place_.before_learning, [this] { learn_peers(); });
  }
  for (auto& [number, asked] : outstanding_) {
    if (asked.anew) asked.question = asked.anew();
    send(number, asked.question);
  }
}

void Session::deliver(std::uint32_t question, wire::Answer&& answer) {
  const auto found = outstanding_.find(question);
  if (found == outstanding_.end()) return;
  // Taken out for the call: what is told may forget the question, or ask another one.
  const bool last = is_last(answer);
  Told told = std::move(found->second.told);
  if (last) outstanding_.erase(found);
  told(std::move(answer));
  if (last) return;
  const auto still = outstanding_.find(question);
  if (still != outstanding_.end()) still->second.told = std::move(told);
}

void Session::disconnected() {
  greeted_ = false;
  hello_deadline_.cancel();
  connection_.reset();
  if (lost_) return;
  try_later();
}

void Session::give_up(Error error) {
  if (!lost_) lost_ = std::move(error);
  greeted_ = false;
  retry_.cancel();
  hello_deadline_.cancel();
  if (connection_) connection_->close();
}

}  // namespace gpl::client
