#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpl/core/prng.h"
#include "gpl/core/time.h"
#include "mdns_records.h"

namespace gpl::net {

/// Announces one service on one link and answers what is asked about it (RFC 6762 sections 6, 8, 9
/// and 10): packets and the time in, packets out.
///
/// Its names are made of a key's fingerprint, so that a conflict is never an accident that another
/// name would mend: who loses is silent, and probes again ever more rarely until the other is gone.
class MdnsResponder {
 public:
  explicit MdnsResponder(Prng prng) : prng_(prng) {}

  /// Nothing: what was announced is no more. Requires a service that `records_of` takes.
  void announce(std::optional<MdnsService> service, Moment now);
  /// The link's addresses. Without any it waits for one.
  void set_addresses(std::vector<IpAddress> addresses, Moment now);

  /// Says again what is announced: others may have forgotten it while this machine slept.
  void repeat(Moment now);

  void query(const DnsMessage& query, const MdnsSource& from, Moment now);
  /// `own`: every address of this machine. Tells whether another machine holds our names.
  bool response(const DnsMessage& response, const MdnsSource& from, const std::set<IpAddress>& own,
                Moment now);
  /// Does what is due.
  void tick(Moment now);
  /// When `tick` has something to do next.
  std::optional<Moment> wake() const;
  /// Packets to be sent now.
  std::vector<MdnsPacket> take_packets();
  /// What there is to say at the end (RFC 6762 section 10.1).
  std::vector<std::string> goodbye() const;

  /// Whether questions are answered.
  bool announced() const { return phase_ == Phase::announcing || phase_ == Phase::settled; }

 private:
  enum class Phase {
    idle,        ///< nothing to announce, or nowhere
    probing,     ///< asks whether anybody has the names
    announcing,  ///< says it, more than once
    settled,     ///< answers
    yielding,    ///< another has the names
  };
  /// A record and what is to be done about it.
  struct Owned {
    DnsRecord record;
    std::optional<Moment> sent;         ///< to the group, last
    std::optional<Moment> due;          ///< to be sent to the group
    std::optional<MdnsSource> awaited;  ///< who may still say that it is known there
  };
  using Chosen = std::set<std::size_t>;  ///< indices of owned_

  void rebuild();
  void begin_probing(Moment at);
  void yield(Moment now);
  void begin_announcing(Moment now);
  void probe();
  void step(Moment now);
  bool loses_tie(const DnsMessage& probe) const;

  Chosen answers_to(const DnsQuestion& question) const;
  Chosen known_to(const std::vector<DnsRecord>& others) const;
  Chosen additional_to(const Chosen& answers) const;
  std::vector<DnsRecord> records(const Chosen& chosen) const;
  void answer_legacy(const DnsMessage& query, const MdnsSource& from);
  void answer_one(const Chosen& chosen, const MdnsSource& to);
  void put_off(const Chosen& chosen, Moment due, Duration rest,
               const std::optional<MdnsSource>& awaited);
  void send(const Chosen& answers, Moment now);

  Prng prng_;
  std::optional<MdnsService> service_;
  std::vector<IpAddress> addresses_;
  std::vector<Owned> owned_;
  std::vector<MdnsPacket> packets_;
  Phase phase_ = Phase::idle;
  unsigned steps_ = 0;  ///< done in this phase
  Moment next_step_;    ///< of probing, announcing, yielding
  unsigned yielded_ = 0;
};

}  // namespace gpl::net
