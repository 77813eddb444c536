#include "gpl/peer/holders.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/net/timer.h"

namespace gpl::peer {
namespace {

constexpr std::size_t half_bytes = 8;

void put(std::string& bytes, std::uint64_t number) {
  for (std::size_t i = 0; i < half_bytes; ++i)
    bytes += static_cast<char>(number >> (8 * i) & 0xffU);
}

std::uint64_t half_of(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = half_bytes; i-- > 0;)
    number = number << 8U | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

std::string holding_key(const RequestId& request) {
  std::string key;
  put(key, request.high);
  put(key, request.low);
  return key;
}

std::string holding_key(JobId job) { return std::to_string(job.value); }

std::optional<RequestId> request_of_key(const std::string& key) {
  if (key.size() != 2 * half_bytes) return std::nullopt;
  const std::string_view bytes = key;
  return RequestId{half_of(bytes.substr(0, half_bytes)), half_of(bytes.substr(half_bytes))};
}

std::optional<JobId> job_of_key(const std::string& key) {
  JobId job;
  const auto read = std::from_chars(key.data(), key.data() + key.size(), job.value);
  if (key.empty() || read.ec != std::errc() || read.ptr != key.data() + key.size())
    return std::nullopt;
  return job;
}

struct Holders::State : std::enable_shared_from_this<Holders::State> {
  struct Search {
    std::set<PeerId> awaited;
    std::optional<PeerId> preferred;
    std::vector<PeerId> found;
    std::function<void(std::vector<PeerId>)> told;
    net::Timer timer;
  };
  /// Something that is asked of one peer after the other, until one does it.
  struct Round {
    /// The question with this number.
    std::function<wire::LinkMessage(std::uint64_t)> question;
    std::deque<PeerId> candidates;  ///< that have not been asked
    PeerId asked;
    Moment give_up_at;  ///< whatever it does
    Duration silence;
    std::string why = "no other peer is linked";
    std::function<void(Result<std::vector<wire::Secret>>)> done;
    net::Timer timer;
  };

  State(Around with, HolderLimits most) : around(std::move(with)), limits(most) {}

  void search_is_over(std::uint64_t number);
  void begin(Round round);
  void ask_next(std::uint64_t number);
  void wait(std::uint64_t number, Round& round);
  void failed(std::uint64_t number, PeerId by, std::string why);
  void finish(std::uint64_t number, Result<std::vector<wire::Secret>> result);

  void take(PeerId from, const wire::DoYouHave& asked);
  void take(PeerId from, const wire::Has& has);
  void take(PeerId from, const wire::Hold& asked);
  void take(PeerId from, const wire::Held& held);
  void take(PeerId from, const wire::AskSecrets& asked);
  void take(PeerId from, const wire::SecretsAre& are);
  template <class Message>
  void take(PeerId from, const Message& message) {
    static_cast<void>(from);
    static_cast<void>(message);
  }
  /// What may be told after this is gone.
  auto sender(PeerId to) {
    return [weak = weak_from_this(), to](wire::LinkMessage message) {
      if (const auto state = weak.lock()) (void)state->around.send(to, std::move(message));
    };
  }

  Around around;
  HolderLimits limits;
  std::map<std::uint64_t, Search> searches;
  std::map<std::uint64_t, Round> rounds;
  std::uint64_t last = 0;  ///< number; of both
};

void Holders::State::search_is_over(std::uint64_t number) {
  auto node = searches.extract(number);
  if (node.empty()) return;
  Search& search = node.mapped();
  if (search.preferred) {
    const auto at = std::find(search.found.begin(), search.found.end(), *search.preferred);
    if (at != search.found.end()) std::rotate(search.found.begin(), at, at + 1);
  }
  search.told(std::move(search.found));
}

void Holders::State::begin(Round round) {
  const std::uint64_t number = ++last;
  rounds.emplace(number, std::move(round));
  around.loop.post([weak = weak_from_this(), number] {
    if (const auto state = weak.lock()) state->ask_next(number);
  });
}

void Holders::State::ask_next(std::uint64_t number) {
  const auto entry = rounds.find(number);
  if (entry == rounds.end()) return;
  Round& round = entry->second;
  while (!round.candidates.empty()) {
    round.asked = round.candidates.front();
    round.candidates.pop_front();
    if (!around.send(round.asked, round.question(number))) continue;
    round.give_up_at = around.loop.now() + limits.hold_most;
    return wait(number, round);
  }
  finish(number, Error{Code::not_found, round.why});
}

void Holders::State::wait(std::uint64_t number, Round& round) {
  const Moment until = std::min(around.loop.now() + round.silence, round.give_up_at);
  round.timer = around.loop.at(until, [this, number, peer = round.asked] {
    failed(number, peer, "the peer that was asked did not answer in time");
  });
}

void Holders::State::failed(std::uint64_t number, PeerId by, std::string why) {
  const auto entry = rounds.find(number);
  if (entry == rounds.end() || entry->second.asked != by) return;
  entry->second.why = std::move(why);
  ask_next(number);
}

void Holders::State::finish(std::uint64_t number, Result<std::vector<wire::Secret>> result) {
  auto node = rounds.extract(number);
  if (!node.empty()) node.mapped().done(std::move(result));
}

void Holders::State::take(PeerId from, const wire::DoYouHave& asked) {
  around.has(asked.what, asked.key, [send = sender(from), number = asked.number](bool yes) {
    send(wire::Has{number, yes});
  });
}

void Holders::State::take(PeerId from, const wire::Has& has) {
  const auto entry = searches.find(has.number);
  if (entry == searches.end() || entry->second.awaited.erase(from) == 0) return;
  Search& search = entry->second;
  if (has.yes) search.found.push_back(from);
  if (search.awaited.empty() || (has.yes && search.preferred == from)) search_is_over(has.number);
}

void Holders::State::take(PeerId from, const wire::Hold& asked) {
  around.hold(from, asked, [send = sender(from), number = asked.number](const Status& held) {
    // An empty reason would be none.
    std::string why = held.ok() ? "" : held.error().message;
    if (!held.ok() && why.empty()) why = "it could not";
    send(wire::Held{number, std::move(why)});
  });
}

void Holders::State::take(PeerId from, const wire::Held& held) {
  const auto entry = rounds.find(held.number);
  if (entry == rounds.end() || entry->second.asked != from) return;
  if (!held.failed.empty()) return failed(held.number, from, held.failed);
  finish(held.number, std::vector<wire::Secret>());
}

void Holders::State::take(PeerId from, const wire::AskSecrets& asked) {
  around.secrets(
      from, asked.request,
      [send = sender(from), number = asked.number](Result<std::vector<wire::Secret>> secrets) {
        if (!secrets.ok()) return send(wire::SecretsAre{number, false, {}});
        send(wire::SecretsAre{number, true, std::move(secrets).value()});
      });
}

void Holders::State::take(PeerId from, const wire::SecretsAre& are) {
  const auto entry = rounds.find(are.number);
  if (entry == rounds.end() || entry->second.asked != from) return;
  if (!are.found) return failed(are.number, from, "the peers that had them have them no more");
  finish(are.number, are.secrets);
}

Holders::Holders(Around around, HolderLimits limits)
    : state_(std::make_shared<State>(std::move(around), limits)) {}

Holders::~Holders() {
  // What is told may be what ends it.
  state_->searches.clear();
  state_->rounds.clear();
}

void Holders::find(wire::Holding what, std::string key, std::optional<PeerId> preferred,
                   std::function<void(std::vector<PeerId>)> told) {
  const std::uint64_t number = ++state_->last;
  State::Search& search = state_->searches[number];
  search.preferred = preferred;
  search.told = std::move(told);
  for (const PeerId peer : state_->around.up())
    if (state_->around.send(peer, wire::DoYouHave{number, what, key})) search.awaited.insert(peer);
  search.timer =
      state_->around.loop.after(search.awaited.empty() ? Duration{} : state_->limits.find,
                                [state = state_.get(), number] { state->search_is_over(number); });
}

void Holders::hold(const RequestId& request, const ContentId& tree,
                   std::vector<wire::Secret> secrets, std::vector<PeerId> candidates,
                   std::function<void(Status)> done) {
  State::Round round;
  round.question = [request, tree, secrets = std::move(secrets)](std::uint64_t number) {
    return wire::Hold{number, request, tree, secrets};
  };
  round.candidates = {candidates.begin(), candidates.end()};
  round.silence = state_->limits.hold;
  round.done = [done = std::move(done)](Result<std::vector<wire::Secret>> result) {
    done(result.ok() ? success() : Status(result.error()));
  };
  state_->begin(std::move(round));
}

void Holders::is_fetching(PeerId peer) {
  for (auto& [number, round] : state_->rounds)
    if (round.asked == peer) state_->wait(number, round);
}

void Holders::ask_secrets(const RequestId& request, std::vector<PeerId> from,
                          std::function<void(Result<std::vector<wire::Secret>>)> told) {
  State::Round round;
  round.question = [request](std::uint64_t number) { return wire::AskSecrets{number, request}; };
  round.candidates = {from.begin(), from.end()};
  round.silence = state_->limits.secrets;
  round.done = std::move(told);
  state_->begin(std::move(round));
}

void Holders::take(PeerId from, const wire::LinkMessage& message) {
  // What is told meanwhile may end this.
  const auto state = state_;
  std::visit([&](const auto& said) { state->take(from, said); }, message);
}

void Holders::link_lost(PeerId peer) {
  const auto state = state_;
  std::vector<std::uint64_t> searches;
  for (auto& [number, search] : state->searches)
    if (search.awaited.erase(peer) > 0 && search.awaited.empty()) searches.push_back(number);
  std::vector<std::uint64_t> rounds;
  for (const auto& [number, round] : state->rounds)
    if (round.asked == peer) rounds.push_back(number);
  for (const std::uint64_t number : searches) state->search_is_over(number);
  for (const std::uint64_t number : rounds)
    state->failed(number, peer, "the link with the peer that was asked broke");
}

}  // namespace gpl::peer
