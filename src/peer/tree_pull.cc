#include "gpl/peer/tree_pull.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gpl/artifact/digest.h"
#include "gpl/artifact/manifest.h"
#include "gpl/net/timer.h"
#include "gpl/peer/tree_intake.h"
#include "gpl/wire/client_message.h"

namespace gpl::peer {
namespace {

/// Numbers above those of the sessions with clients.
constexpr std::uint64_t first_client = std::uint64_t{1} << 63U;
constexpr unsigned most_faults = 5;

artifact::Pin pin_of(const artifact::Digest& tree, std::uint64_t pin) {
  return {tree, "client-" + std::to_string(pin)};
}

}  // namespace

struct TreePulls::State : std::enable_shared_from_this<TreePulls::State> {
  struct Waiter {
    std::uint64_t pin = 0;
    Done done;
    std::shared_ptr<Status> pinned;
  };
  /// One tree that is being brought.
  struct Pull {
    std::uint64_t number = 0;  ///< no two have the same
    artifact::Digest id;
    std::vector<Waiter> waiters;
    std::deque<PeerId> holders;  ///< to be asked next
    std::optional<PeerId> holder;
    bool looked = false;  ///< for others
    std::unique_ptr<TreeIntake> intake;
    std::string manifest;                            ///< as much as has come
    bool manifest_given = false;                     ///< to the intake
    std::deque<ContentId> chunks;                    ///< to be asked for
    std::map<ContentId, FarSessions::Number> asked;  ///< chunks; "": a piece of the manifest
    bool high = false;                               ///< the intake has enough to do
    unsigned faults = 0;  ///< so often, what came was not what it was said to be
    Moment give_up_at;    ///< unless something comes
    net::Timer timer;     ///< for an answer, or the next look for holders
  };

  State(Around with, PullLimits most) : around(with), limits(most) {}

  /// F(State&, Pull&), if both are still there by then.
  template <class F>
  auto of(const Pull& pull, F f) {
    return [weak = weak_from_this(), tree = ContentId(pull.id.bytes()), number = pull.number,
            f = std::move(f)](auto&&... told) mutable {
      const auto state = weak.lock();
      if (!state) return;
      const auto entry = state->pulls.find(tree);
      if (entry == state->pulls.end() || entry->second->number != number) return;
      f(*state, *entry->second, std::forward<decltype(told)>(told)...);
    };
  }

  void wait_for(Pull& pull, const artifact::Digest& id, std::uint64_t pin, Done done);
  void check(Pull& pull);
  void ask_next_holder(Pull& pull);
  void look_for_holders(Pull& pull);
  void ask_holder(Pull& pull);
  void ask_manifest(Pull& pull);
  void take_piece(Pull& pull, wire::TreePiece piece);
  void check_manifest(Pull& pull);
  void commit(Pull& pull);
  void committed(Pull& pull, Result<TreeIntake::Answer> answer);
  void ask_chunks(Pull& pull);
  void ask(Pull& pull, const ContentId& chunk, wire::Question question);
  void take(Pull& pull, const ContentId& chunk, Result<wire::Answer> answer);
  void await_answer(Pull& pull);
  void end_questions(Pull& pull);
  void end(Pull& pull, Status how);
  void unpin(const ContentId& tree, std::uint64_t pin);

  Around around;
  PullLimits limits;
  std::map<ContentId, std::unique_ptr<Pull>> pulls;
  std::map<std::uint64_t, std::set<ContentId>> pinned;  ///< by whom
  std::uint64_t last_number = 0;
  Ticket ticket;
};

void TreePulls::State::wait_for(Pull& pull, const artifact::Digest& id, std::uint64_t pin,
                                Done done) {
  auto pinned_so = std::make_shared<Status>(success());
  around.pins.after_pins([&store = around.store, id, pin, pinned_so] {
    *pinned_so = store.pin(pin_of(id, pin), posix::Durability::none);
  });
  pull.waiters.push_back({pin, std::move(done), std::move(pinned_so)});
  pinned[pin].insert(ContentId(id.bytes()));
}

/// Once it is pinned, so that what is there stays.
void TreePulls::State::check(Pull& pull) {
  around.pins.then(of(pull, [](State& state, Pull& pinned_pull) {
    auto whole = std::make_shared<Result<bool>>(false);
    state.around.pool.submit(
        state.ticket,
        [&store = state.around.store, id = pinned_pull.id, whole] { *whole = store.is_whole(id); },
        state.of(pinned_pull,
                 [whole](State& then, Pull& checked) {
                   if (whole->ok() && whole->value()) return then.end(checked, success());
                   then.ask_next_holder(checked);
                 }),
        Pool::Length::lengthy);
  }));
}

void TreePulls::State::ask_next_holder(Pull& pull) {
  end_questions(pull);
  pull.holder.reset();
  if (!pull.holders.empty()) {
    pull.holder = pull.holders.front();
    pull.holders.pop_front();
    return ask_holder(pull);
  }
  if (!std::exchange(pull.looked, true)) return look_for_holders(pull);
  if (around.loop.now() >= pull.give_up_at)
    return end(pull, Error{Code::not_found, "its files (tree " + pull.id.hex().substr(0, 12) +
                                                ") are on no machine that can be reached now"});
  pull.timer = around.loop.after(limits.look_again, of(pull, [](State& state, Pull& looking) {
                                   state.look_for_holders(looking);
                                 }));
}

void TreePulls::State::look_for_holders(Pull& pull) {
  around.find_holders(ContentId(pull.id.bytes()),
                      of(pull, [](State& state, Pull& looking, std::vector<PeerId> found) {
                        if (looking.holder) return;  // one was named meanwhile
                        looking.holders.insert(looking.holders.end(), found.begin(), found.end());
                        state.ask_next_holder(looking);
                      }));
}

void TreePulls::State::ask_holder(Pull& pull) {
  if (!pull.intake)
    pull.intake = std::make_unique<TreeIntake>(around.pool, around.store, around.pins,
                                               first_client + pull.number,
                                               of(pull, [](State& state, Pull& filling, bool high) {
                                                 filling.high = high;
                                                 if (!high && filling.holder)
                                                   state.ask_chunks(filling);
                                               }));
  if (!pull.manifest_given) return ask_manifest(pull);
  if (pull.chunks.empty()) return commit(pull);
  ask_chunks(pull);
}

void TreePulls::State::ask_manifest(Pull& pull) {
  ask(pull, "", wire::FetchManifest{ContentId(pull.id.bytes()), pull.manifest.size()});
  await_answer(pull);
}

void TreePulls::State::take_piece(Pull& pull, wire::TreePiece piece) {
  if (piece.data.size() > artifact::max_manifest_bytes - pull.manifest.size() ||
      (piece.data.empty() && !piece.last)) {
    pull.manifest.clear();
    return ask_next_holder(pull);
  }
  pull.manifest += piece.data;
  piece.last ? check_manifest(pull) : ask_manifest(pull);
}

/// Whether it is the one that was asked for: else chunks would come that nobody wants.
void TreePulls::State::check_manifest(Pull& pull) {
  struct Work {
    std::string manifest;
    artifact::Digest found;
  };
  auto work = std::make_shared<Work>(Work{std::exchange(pull.manifest, {}), {}});
  around.pool.submit(
      ticket, [work] { work->found = artifact::digest_of(work->manifest); },
      of(pull,
         [work](State& state, Pull& checked) {
           if (work->found != checked.id) return state.ask_next_holder(checked);
           checked.intake->put_manifest(std::move(work->manifest));
           checked.manifest_given = true;
           state.commit(checked);
         }),
      Pool::Length::lengthy);
}

/// Tells what is missing, too.
void TreePulls::State::commit(Pull& pull) {
  pull.intake->commit(of(pull, [](State& state, Pull& filled, Result<TreeIntake::Answer> answer) {
    state.committed(filled, std::move(answer));
  }));
}

void TreePulls::State::committed(Pull& pull, Result<TreeIntake::Answer> answer) {
  if (answer.ok()) {
    auto* missing = std::get_if<wire::ChunksMissing>(&answer.value());
    if (missing == nullptr) return end(pull, success());
    pull.chunks = {missing->chunks.begin(), missing->chunks.end()};
    return pull.holder ? ask_chunks(pull) : ask_next_holder(pull);
  }
  if (answer.error().code != Code::invalid || ++pull.faults == most_faults)
    return end(pull, std::move(answer).error());
  // A chunk was not what it was said to be: the intake begins anew, with another holder.
  pull.manifest_given = false;
  pull.chunks.clear();
  ask_next_holder(pull);
}

void TreePulls::State::ask_chunks(Pull& pull) {
  while (!pull.high && !pull.chunks.empty() && pull.asked.size() < limits.outstanding) {
    const ContentId chunk = std::move(pull.chunks.front());
    pull.chunks.pop_front();
    ask(pull, chunk, wire::FetchChunk{chunk});
  }
  await_answer(pull);
}

void TreePulls::State::ask(Pull& pull, const ContentId& chunk, wire::Question question) {
  pull.asked[chunk] =
      around.far.ask(*pull.holder, std::move(question),
                     of(pull, [chunk](State& state, Pull& asking, Result<wire::Answer> answer) {
                       state.take(asking, chunk, std::move(answer));
                     }));
}

void TreePulls::State::take(Pull& pull, const ContentId& chunk, Result<wire::Answer> answer) {
  auto* piece = answer.ok() ? std::get_if<wire::TreePiece>(&answer.value()) : nullptr;
  auto* data = answer.ok() ? std::get_if<wire::ChunkIs>(&answer.value()) : nullptr;
  if (chunk.empty() ? piece == nullptr : data == nullptr) return ask_next_holder(pull);
  pull.asked.erase(chunk);
  pull.give_up_at = around.loop.now() + limits.look;
  if (piece != nullptr) {
    pull.timer.cancel();
    return take_piece(pull, std::move(*piece));
  }
  pull.intake->put(chunk, std::move(data->data));
  ask_chunks(pull);
  if (pull.asked.empty() && pull.chunks.empty()) commit(pull);
}

/// As long as something is asked for.
void TreePulls::State::await_answer(Pull& pull) {
  pull.timer.cancel();
  if (pull.asked.empty()) return;
  pull.timer = around.loop.after(
      limits.silence, of(pull, [](State& state, Pull& silent) { state.ask_next_holder(silent); }));
}

/// What was asked for is to be asked for again.
void TreePulls::State::end_questions(Pull& pull) {
  pull.timer.cancel();
  for (const auto& [chunk, number] : std::exchange(pull.asked, {})) {
    around.far.forget(number);
    if (!chunk.empty()) pull.chunks.push_front(chunk);
  }
}

/// Those who ask for the tree from now on ask anew.
void TreePulls::State::end(Pull& pull, Status how) {
  end_questions(pull);
  const ContentId tree(pull.id.bytes());
  auto waiters = std::make_shared<std::vector<Waiter>>(std::move(pull.waiters));
  pulls.erase(tree);
  // The pins of all of them are set by then.
  around.pins.then([weak = weak_from_this(), waiters, tree, how = std::move(how)] {
    for (Waiter& waiter : *waiters) {
      const auto state = weak.lock();
      if (!state) return;
      const auto pins = state->pinned.find(waiter.pin);
      if (pins == state->pinned.end()) continue;
      const Status status = how.ok() ? *waiter.pinned : how;
      if (!status.ok() && pins->second.erase(tree) > 0) state->unpin(tree, waiter.pin);
      waiter.done(status);
    }
  });
}

void TreePulls::State::unpin(const ContentId& tree, std::uint64_t pin) {
  const auto id = artifact::Digest::from_bytes(tree);
  around.pins.after_pins([&store = around.store, pin, id] { (void)store.unpin(pin_of(*id, pin)); });
}

TreePulls::TreePulls(Around around, PullLimits limits)
    : state_(std::make_shared<State>(std::move(around), limits)) {}

TreePulls::~TreePulls() {
  for (const auto& [tree, pull] : state_->pulls) state_->end_questions(*pull);
  state_->pulls.clear();
}

void TreePulls::bring(const ContentId& tree, std::optional<PeerId> from, std::uint64_t pin,
                      Done done) {
  const auto id = artifact::Digest::from_bytes(tree);
  if (!id) {
    state_->around.loop.post([done = std::move(done), bytes = tree.size()] {
      done(Error{Code::invalid, "a tree's id has 32 bytes, not " + std::to_string(bytes)});
    });
    return;
  }
  std::unique_ptr<State::Pull>& pull = state_->pulls[tree];
  const bool begins = !pull;
  if (begins) {
    pull = std::make_unique<State::Pull>();
    pull->number = ++state_->last_number;
    pull->id = *id;
    pull->give_up_at = state_->around.loop.now() + state_->limits.look;
  }
  if (from) pull->holders.push_front(*from);
  state_->wait_for(*pull, *id, pin, std::move(done));
  if (begins) state_->check(*pull);
}

void TreePulls::release(std::uint64_t pin) {
  const auto entry = state_->pinned.find(pin);
  if (entry == state_->pinned.end()) return;
  const std::set<ContentId> trees = std::move(entry->second);
  state_->pinned.erase(entry);
  for (const ContentId& tree : trees) {
    if (const auto found = state_->pulls.find(tree); found != state_->pulls.end()) {
      State::Pull& pull = *found->second;
      std::erase_if(pull.waiters, [&](const State::Waiter& waiter) { return waiter.pin == pin; });
      if (pull.waiters.empty()) {
        state_->end_questions(pull);
        state_->pulls.erase(found);
      }
    }
    state_->unpin(tree, pin);
  }
}

}  // namespace gpl::peer
