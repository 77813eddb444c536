// mdns_tool [--announce INSTANCE PORT [KEY=VALUE...]]: announces a peer, and prints a line for each
// that it finds or that goes, after the milliseconds since its start:
//   ready INTERFACES
//   found INSTANCE PORT KEY=VALUE,... ADDRESS...
//   gone INSTANCE
//   note TEXT
// until SIGTERM or SIGINT, when it says goodbye, or until its input ends, when it does not. Its
// input may say `announce INSTANCE PORT [KEY=VALUE...]` and `look`.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "gpl/net/mdns.h"
#include "gpl/net/signals.h"

using namespace gpl;

namespace {

std::optional<net::MdnsService> service_of(const std::vector<std::string>& words) {
  if (words.size() < 2) return std::nullopt;
  net::MdnsService service{words[0], static_cast<std::uint16_t>(std::stoi(words[1])), {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    service.text[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  return service;
}

void print(Duration since, const std::string& text) {
  std::printf("%lld %s\n", static_cast<long long>(since.count_ms), text.c_str());
  std::fflush(stdout);
}

std::string to_line(const net::MdnsFound& found) {
  std::string line = "found " + found.service.instance + " " + std::to_string(found.service.port);
  std::string text;
  for (const auto& [key, value] : found.service.text)
    text += (text.empty() ? "" : ",") + key + "=" + value;
  line += " " + (text.empty() ? "-" : text);
  for (const net::PeerAddress& address : found.addresses) line += " " + address.host;
  return line;
}

/// False at its end.
bool obey(net::Mdns& mdns) {
  std::string input(4096, '\0');
  const ssize_t got = ::read(0, input.data(), input.size());
  if (got <= 0) return false;
  std::istringstream lines(input.substr(0, static_cast<std::size_t>(got)));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream all(line);
    std::vector<std::string> words;
    for (std::string word; all >> word;) words.push_back(word);
    if (words.empty()) continue;
    if (words[0] == "look") mdns.look();
    words.erase(words.begin());
    if (line.starts_with("announce")) mdns.announce(service_of(words).value());
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  net::MdnsOptions options;
  if (!words.empty() && words[0] == "--announce") {
    words.erase(words.begin());
    options.announce = service_of(words);
  }
  auto loop = net::Loop::create().value().release();
  const std::unique_ptr<net::Loop> owner(loop);
  const Moment start = loop->now();
  const auto say = [&](const std::string& text) { print(loop->now() - start, text); };
  auto signals = net::Signals::create(*loop, {SIGTERM, SIGINT}, [&](int) { loop->stop(); });
  auto opened = net::Mdns::open(*loop, options,
                                {[&](const net::MdnsFound& found) { say(to_line(found)); },
                                 [&](const std::string& instance) { say("gone " + instance); },
                                 [&](const std::string& text) { say("note " + text); }});
  if (!opened.ok() || !signals.ok()) {
    say("note " + (opened.ok() ? signals.error() : opened.error()).message);
    return 1;
  }
  const std::unique_ptr<net::Mdns> mdns = std::move(opened).value();
  say("ready " + std::to_string(mdns->interfaces()));
  auto input = loop->watch(0, [&] {
    if (!obey(*mdns)) std::_Exit(0);
  });
  loop->run();
  return 0;
}
