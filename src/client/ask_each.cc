#include "gpl/client/ask_each.h"

#include <map>

namespace gpl::client {
namespace {

constexpr std::size_t at_a_time = 256;

}  // namespace

Status ask_each(Session& session, const std::vector<wire::Question>& questions,
                const std::function<void(std::size_t, const wire::Answer&)>& told) {
  std::size_t next = 0;
  std::map<std::size_t, std::uint32_t> open;  // their numbers
  const auto answered = [&](std::size_t place, const wire::Answer& answer) {
    const auto asked = open.find(place);
    session.forget(asked->second);
    open.erase(asked);
    told(place, answer);
  };
  Status waited = success();
  while (waited.ok() && (next < questions.size() || !open.empty())) {
    for (; next < questions.size() && open.size() < at_a_time; ++next) {
      open[next] = session.ask(
          questions[next], [&answered, next](wire::Answer&& answer) { answered(next, answer); });
    }
    const bool all_asked = next == questions.size();
    waited = session.run_until(
        [&] { return open.empty() || (!all_asked && open.size() <= at_a_time / 2); });
  }
  for (const auto& [place, number] : open) session.forget(number);
  return waited;
}

}  // namespace gpl::client
