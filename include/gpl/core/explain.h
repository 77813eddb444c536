#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpl/core/fit.h"
#include "gpl/core/peer_view.h"
#include "gpl/core/requirement.h"

namespace gpl {

enum class Verdict {
  fits,     ///< now
  waiting,  ///< once what is held is free, or a peer answers or reports
  never,    ///< on no known peer, even an empty one
  held,     ///< until it is released
  blocked,  ///< until jobs that it depends on have ended
};
std::string_view name_of(Verdict verdict);

/// One peer's answer.
struct PeerAnswer {
  enum class Fits { yes, soon, no };
  std::string peer;
  Fits fits = Fits::no;
  Fit fit;
  std::optional<Duration> report_age;  ///< nothing: it has not reported
  std::string environment = {};        ///< name of the placement's; "" none
  std::string why;                     ///< every reason, in one line; what it gives when it fits
};

std::string_view name_of(PeerAnswer::Fits fits);

/// Why a job runs or does not: the same object for `gpl run --explain` and a refusal.
struct Explanation {
  Verdict verdict = Verdict::never;
  std::string headline;  ///< the verdict in a sentence
  std::vector<PeerAnswer> peers;
  std::string nearest;  ///< "lab2 fits if jax >=0.4.30; it has 0.4.26"; "" nothing comes near
};

/// Judges every peer with `judge`, the function that places, and says what came out. Peers are
/// answered in the order given. What comes from outside (names, drivers' words) is made fit for a
/// terminal in the headline, `why` and `nearest`; in the reasons it is as it came.
Explanation explain(const Requirement& requirement, const std::vector<PeerView>& peers,
                    Instant now);

/// The explanation as people read it: the headline, a table, the nearest miss. Lines end with \n.
std::string to_text(const Explanation& explanation);

}  // namespace gpl
