#include "sim/trace.h"

#include <cstdio>

namespace gpl::sim {

namespace {

const Trace* made_last = nullptr;

}  // namespace

Trace::Trace(Mode mode) : mode_(mode) { made_last = this; }

const Trace* Trace::latest() { return made_last; }

void Trace::add(Micros at, const std::string& who, const std::string& what) {
  if (!on()) return;
  char time[32];
  std::snprintf(time, sizeof time, "%5lld.%06lld", static_cast<long long>(at / 1'000'000),
                static_cast<long long>(at % 1'000'000));
  std::string line = std::string(time) + "  " + who;
  if (who.size() < 5) line.append(5 - who.size(), ' ');
  line += " " + what + "\n";
  if (mode_ == Mode::live) std::fputs(line.c_str(), stderr);
  lines_.push_back(std::move(line));
  if (lines_.size() > line_limit) lines_.pop_front();
}

std::string Trace::recent() const {
  std::string text;
  for (const auto& line : lines_) text += line;
  return text;
}

}  // namespace gpl::sim
