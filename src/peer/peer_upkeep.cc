#include <utility>

#include "gpl/host/user.h"
#include "gpl/peer/health.h"
#include "gpl/peer/offer.h"
#include "gpl/peer/peer.h"
#include "gpl/posix/clock.h"

namespace gpl::peer {
namespace {

constexpr Duration probe_every = seconds(300);
constexpr Duration minute = seconds(60);
constexpr Duration space_every = seconds(2);
constexpr Duration hour = seconds(3600);
constexpr Duration history = seconds(std::int64_t{7} * 24 * 3600);
constexpr artifact::StoreLimits store_limits{std::uint64_t{10} << 30U,
                                             seconds(std::int64_t{30} * 24 * 3600)};

}  // namespace

void Peer::probe() {
  probe_ = parts_.loop.after(probe_every, [this] { probe(); });
  if (std::exchange(probing_, true)) return;
  auto offer = std::make_shared<PeerOffer>();
  parts_.pool->submit(
      ticket_,
      [offer, configuration = options_.configuration, lending = options_.lending] {
        *offer = probe_offer(configuration, lending);
      },
      [this, offer] { probed(std::move(*offer)); }, Pool::Length::lengthy);
}

void Peer::probed(PeerOffer offer) {
  probing_ = false;
  const bool first = !probed_.has_value();
  if (!first && same_for_placing(*probed_, offer)) return;
  probed_ = std::move(offer);
  if (first)
    if (const Status fine = check_limits(*probed_, options_.lending); !fine.ok())
      log(fine.error().message);
  tell_offer();
  if (first && state_ready_) tell_ready();
}

/// Tells the keeper, which opens a session with what is offered.
void Peer::tell_offer() {
  if (!probed_) return;
  offered_ = offer_now();
  parts_.keeper->send(wire::to_keeper::OfferChanged{*offered_});
}

/// While the disk is full nothing more is taken on, by whomever it would be placed.
void Peer::look_for_space() {
  space_ = parts_.loop.after(space_every, [this] { look_for_space(); });
  const auto full = short_of_space();
  if (full.has_value() == disk_full_) return;
  disk_full_ = full.has_value();
  log(full ? full->message : "there is space again in " + parts_.state_folder);
  tell_offer();
}

PeerOffer Peer::offer_now() const {
  PeerOffer offer =
      apply_limits(*probed_, options_.lending, local_minute_of_day(posix::wall_clock()),
                   is_draining(parts_.state_folder));
  if (disk_full_ && offer.closed.empty()) offer.closed = "its disk is full";
  if (parts_.leaving && offer.closed.empty()) offer.closed = "it leaves the cluster";
  return offer;
}

/// The owner's hours begin or end.
void Peer::each_minute() {
  minute_ = parts_.loop.after(minute, [this] { each_minute(); });
  if (!probed_ || !offered_) return;
  if (!(offer_now() == *offered_)) tell_offer();
}

/// Jobs are remembered for a week after their end, and as long as files of theirs are kept.
void Peer::each_hour() {
  hour_ = parts_.loop.after(hour, [this] { each_hour(); });
  const Instant now = posix::wall_clock();
  parts_.results->sweep(now);
  let_go_of_held();
  // A tree whose pin is not set anew yet could go.
  if (pins_restored_)
    parts_.pool->submit(
        [store = parts_.store.get(), now] { (void)store->collect(store_limits, now); },
        Pool::Length::lengthy);
  const ClusterState* state = parts_.consensus ? parts_.consensus->state() : nullptr;
  if (state == nullptr || !state_ready_) return;
  drop_old_secrets();
  if (!parts_.consensus->leads()) return;
  Instant before = now + Duration{-history.count_ms};
  state->for_each_job([&](const JobRecord& job) {
    if (job.has_ended() && *job.ended_at < before && parts_.results->usage(job.id).files > 0)
      before = *job.ended_at;
  });
  parts_.consensus->propose(Command{command::Prune{before, now}},
                            [](const Result<Applied>& pruned) { static_cast<void>(pruned); });
}

std::vector<wire::HealthRow> Peer::health() const {
  HealthFacts facts;
  facts.state = parts_.state_folder;
  facts.log = parts_.state_folder + "/peer/log";
  if (parts_.consensus->failure()) facts.log_fault = parts_.consensus->failure()->message;
  facts.version = GPL_VERSION;
  if (parts_.keeper->hello()) facts.keeper_version = parts_.keeper->hello()->version;
  if (probed_) facts.probed = *probed_;
  facts.lending = options_.lending;
  facts.user = host::current_user();
  facts.now = posix::wall_clock();
  return peer::health(facts);
}

}  // namespace gpl::peer
