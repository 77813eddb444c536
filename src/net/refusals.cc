#include "gpl/net/refusals.h"

#include <utility>

namespace gpl::net {
namespace {

constexpr std::size_t hosts_named = 8;

}  // namespace

Refusals::Refusals(Loop& loop, std::function<void(const std::string&)> note, Duration pause)
    : loop_(loop), note_(std::move(note)), pause_(pause) {}

void Refusals::add(const std::string& host, const std::string& why) {
  if (!note_) return;
  ++count_;
  why_ = why;
  if (hosts_.size() < hosts_named) {
    hosts_.insert(host);
  } else {
    more_hosts_ = more_hosts_ || !hosts_.contains(host);
  }
  if (!quiet_.pending()) tell();
}

void Refusals::tell() {
  std::string from;
  for (const std::string& host : hosts_) from += (from.empty() ? "" : ", ") + host;
  if (more_hosts_) from += " and others";
  const std::string note = count_ == 1 ? "refused a connection from " + from + ": " + why_
                                       : "refused " + std::to_string(count_) +
                                             " connections within " + format_short(pause_) +
                                             ", from " + from + "; the last: " + why_;
  count_ = 0;
  hosts_.clear();
  more_hosts_ = false;
  quiet_ = loop_.after(pause_, [this] {
    if (count_ > 0) tell();
  });
  note_(note);
}

}  // namespace gpl::net
