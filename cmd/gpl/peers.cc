#include "commands.h"
#include "gpl/client/status_table.h"
#include "gpl/posix/clock.h"
#include "job_change.h"
#include "option_table.h"
#include "output.h"
#include "patience.h"
#include "session.h"
#include "status_json.h"
#include "terminal.h"

namespace gpl::cmd {
namespace {

using Kind = OptionRow::Kind;

constexpr OptionRow rows[] = {
    {"no-wait", Kind::flag, "",
     "Options:", "of drain: return at once, not when the last job there has ended"},
    {"json", Kind::flag, "", "Options:", "print one object"},
    {"quiet", Kind::flag, "", "Options:", "print just the peers' names; say nothing but errors"},
    {"help", Kind::flag, "", "Options:", "print this"},
    peers_row,
};

constexpr const char* help_head =
    R"(List the cluster's peers; let one end its jobs and take no new ones, or take them again.

  gpl peers
  gpl peers drain                   this machine: returns once nothing runs on it
  gpl peers resume lab2
  gpl peers forget old              an unreachable one is given up: what ran there is lost

Usage: gpl peers [OPTIONS] [drain|resume|forget [PEER]]

PEER is a name that gpl peers shows, or an id; without one, the peer of this machine. What
runs on a peer that drains goes on; nothing new is started there until it resumes.
)";

int usage_error(const std::string& message) {
  complain("peers: " + message);
  return 2;
}

int list_peers(client::Session& session, const ParsedOptions& options) {
  Result<wire::ClusterStatus> status = session.ask_for<wire::ClusterStatus>(wire::AskCluster{});
  if (!status.ok()) return complain_of_answer(status.error(), session);
  if (options.has("json")) return print(peers_json(status.value()));
  if (options.has("quiet")) {
    std::string names;
    for (const wire::PeerSummary& peer : status.value().peers)
      names += printable(peer.view.name) + "\n";
    return print(names);
  }
  const client::Screen screen{posix::wall_clock(), terminal_width()};
  const auto& peers = status.value().peers;
  return print(peers.size() > 1 ? client::links_text(peers, screen)
                                : client::peers_text(peers, screen));
}

int drain(client::Session& session, const std::string& peer, bool wait,
          const client::Voice& voice) {
  const Patience patience(session, voice,
                          "waiting for what runs there to end (Ctrl-C: it drains all the same)");
  Status done = session.do_it(wire::DrainPeer{peer, wait});
  return done.ok() ? 0 : complain_of_answer(done.error(), session);
}

int resume(client::Session& session, const std::string& peer) {
  Status done = session.do_it(wire::ResumePeer{peer});
  return done.ok() ? 0 : complain_of_answer(done.error(), session);
}

int forget(client::Session& session, const std::string& peer) {
  Status done = session.do_it(wire::ForgetPeer{peer});
  return done.ok() ? 0 : complain_of_answer(done.error(), session);
}

/// "" when the words make sense.
std::string fault_of(const ParsedOptions& options) {
  const std::vector<std::string>& words = options.rest;
  if (words.empty()) return options.has("no-wait") ? "--no-wait is of drain" : "";
  if (words.front() == "recover") return "'recover' comes with a later version of gpl";
  if (words.front() != "drain" && words.front() != "resume" && words.front() != "forget")
    return "'" + words.front() + "' is neither drain, resume nor forget";
  if (words.front() == "forget" && words.size() < 2) return "forget whom? gpl peers forget PEER";
  if (words.size() > 2) return "one peer at a time: " + shell_words(words);
  if (options.has("no-wait") && words.front() != "drain") return "--no-wait is of drain";
  return "";
}

}  // namespace

std::span<const OptionRow> peers_options() { return rows; }

int peers_command(const Invocation& invocation) {
  Result<ParsedOptions> parsed = parse_mixed_options(rows, invocation.args);
  if (!parsed.ok()) return usage_error(parsed.error().message);
  const ParsedOptions& options = parsed.value();
  if (options.has("help")) return print(help_head + describe_options(rows));
  if (const std::string fault = fault_of(options); !fault.empty()) return usage_error(fault);
  const client::Voice voice(options.has("quiet"));
  Result<std::unique_ptr<client::Session>> session = open_session(options, voice);
  if (!session.ok()) return complain_of(session.error(), 125);
  if (options.rest.empty()) return list_peers(*session.value(), options);
  const std::string peer = options.rest.size() > 1 ? options.rest.back() : "";
  if (options.rest.front() == "resume") return resume(*session.value(), peer);
  if (options.rest.front() == "forget") return forget(*session.value(), peer);
  return drain(*session.value(), peer, !options.has("no-wait"), voice);
}

}  // namespace gpl::cmd
