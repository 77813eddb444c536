#include "sim/world.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace gpl::sim {

World::World(std::uint64_t seed, Trace::Mode mode) : seed_(seed), trace_(mode) {}

bool World::later(const Event& a, const Event& b) {
  return a.at != b.at ? a.at > b.at : a.order > b.order;
}

void World::after(Micros delay, Life life, Action action) {
  assert(delay >= 0);
  queue_.push_back({now_ + delay, next_order_++, life, std::move(action)});
  std::push_heap(queue_.begin(), queue_.end(), later);
}

bool World::step() {
  if (queue_.empty() || violation_) return false;
  std::pop_heap(queue_.begin(), queue_.end(), later);
  Event event = std::move(queue_.back());
  queue_.pop_back();
  now_ = event.at;
  if (!alive(event.life)) return true;
  count(Figure::events);
  event.action();
  return !violation_;
}

bool World::run_until(Micros end) {
  while (!violation_ && !queue_.empty() && queue_.front().at <= end) step();
  if (violation_) return false;
  now_ = std::max(now_, end);
  return true;
}

bool World::run_until(Micros end, const std::function<bool()>& condition) {
  while (!violation_) {
    if (condition()) return true;
    if (queue_.empty() || queue_.front().at > end) break;
    step();
  }
  if (!violation_) now_ = std::max(now_, end);
  return false;
}

Life World::begin_life() {
  alive_.push_back(true);
  return {alive_.size() - 1};
}

Prng World::dice(std::string_view purpose, std::uint64_t number) const {
  std::uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  Prng mixed(seed_ ^ hash);
  return Prng(mixed.next() + number * 0x9e3779b97f4a7c15u);
}

void World::violate(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

}  // namespace gpl::sim
