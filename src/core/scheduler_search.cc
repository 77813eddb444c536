#include "scheduler_search.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "gpl/core/overloaded.h"
#include "gpl/core/scheduler.h"

namespace gpl {
namespace {

// Equal for equal requirements; which differ mostly in these.
std::uint64_t number_of(const Requirement& requirement) {
  std::uint64_t number = 0xcbf29ce484222325u;  // FNV-1a, by whole numbers
  const auto add = [&](std::uint64_t value) { number = (number ^ value) * 0x100000001b3u; };
  const auto add_text = [&](std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(text.size());
  };
  add(static_cast<std::uint64_t>(requirement.gpus));
  add(requirement.kind ? static_cast<std::uint64_t>(*requirement.kind) + 1 : 0);
  add(requirement.gpu_memory_bytes.value_or(0));
  add(requirement.gpu_share ? 1 : 0);
  add(static_cast<std::uint64_t>(requirement.cpus.value_or(0)));
  add(requirement.memory_bytes.value_or(0));
  add(requirement.frameworks.size());
  add_text(requirement.gpu_model);
  add_text(requirement.environment);
  add_text(requirement.on);
  for (const Label& label : requirement.labels) add_text(label.value);
  return number;
}

}  // namespace

Fit Search::judge_in(const Requirement& asked, Room& room) {
  ++checks_;
  return judge(asked, room.view(), now_);
}

Wish& Search::wish_for(const Requirement& requirement) {
  std::vector<Wish>& alike = wishes_[number_of(requirement)];
  for (Wish& wish : alike) {
    if (wish.requirement == requirement) return wish;
  }
  Wish wish;
  wish.requirement = requirement;
  wish.asked = asked_in_cluster(requirement);
  wish.seen.resize(rooms_.size());
  alike.push_back(std::move(wish));
  return alike.back();
}

void Search::look(Wish& wish, std::size_t number) {
  Room& room = rooms_[number];
  Wish::Seen& seen = wish.seen[number];
  if (seen.changes == room.changes()) return;
  seen = {};
  seen.changes = room.changes();
  // What `judge` would say too.
  if (*wish.asked.cpus > room.free_cpus()) return;
  const Fit fit = judge_in(wish.asked, room);
  if (!fit.fits()) return;
  seen.allocation = allocation_of(wish.asked, *fit.placement, room.view());
  seen.rank = rank_of(room, room.view(), *seen.allocation);
}

std::optional<std::size_t> Search::best(Wish& wish, PeerId home,
                                        const std::function<bool(std::size_t)>& lets) {
  std::vector<std::size_t> fitting;
  if (!wish.fits_nowhere) {
    for (std::size_t room = 0; room < rooms_.size(); ++room) {
      look(wish, room);
      if (wish.seen[room].allocation) fitting.push_back(room);
    }
  }
  wish.fits_nowhere = fitting.empty();  // rooms only become smaller
  const auto order = [&](std::size_t room) {
    const auto& [memory, capability, unwanted, cpus, memory_left, devices, peer] =
        wish.seen[room].rank;
    return std::tuple(memory, capability, unwanted, cpus, peer != home, memory_left, devices, peer);
  };
  std::sort(fitting.begin(), fitting.end(),
            [&](std::size_t a, std::size_t b) { return order(a) < order(b); });
  const auto found = std::find_if(fitting.begin(), fitting.end(), lets);
  if (found == fitting.end()) return std::nullopt;
  return *found;
}

bool is_placed_by_task(const JobShape& shape) {
  return std::visit(
      Overloaded{[](const Single&) { return true; }, [](const Array&) { return true; },
                 [](const Gang&) { return false; }, [](const Service&) { return false; }},
      shape);
}

}  // namespace gpl
