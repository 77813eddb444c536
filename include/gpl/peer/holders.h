#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/job_description.h"
#include "gpl/core/result.h"
#include "gpl/core/time.h"
#include "gpl/net/loop.h"
#include "gpl/wire/keeper_message.h"
#include "gpl/wire/link_message.h"

namespace gpl::peer {

/// DoYouHave's key for the secrets of a request, and for what is of a job; and what they say.
std::string holding_key(const RequestId& request);
std::string holding_key(JobId job);
std::optional<RequestId> request_of_key(const std::string& key);
std::optional<JobId> job_of_key(const std::string& key);

/// How long a question to other peers may take.
struct HolderLimits {
  Duration find = seconds(2);
  Duration hold = seconds(10);        ///< for one candidate that fetches nothing
  Duration hold_most = seconds(600);  ///< for one that fetches
  Duration secrets = seconds(10);     ///< for one peer
};

/// Which peers have what, and the making of second holders: both sides, over the links. What is
/// told comes from the loop, once, never from within a call.
class Holders {
 public:
  struct Around {
    net::Loop& loop;
    /// As of Mesh.
    std::function<bool(PeerId, wire::LinkMessage)> send;
    std::function<std::vector<PeerId>()> up;
    /// What another peer asks of this one; `told` is called once, at once or later.
    std::function<void(wire::Holding what, const std::string& key, std::function<void(bool)> told)>
        has;
    std::function<void(PeerId from, wire::Hold asked, std::function<void(Status)> told)> hold;
    std::function<void(PeerId from, const RequestId& request,
                       std::function<void(Result<std::vector<wire::Secret>>)> told)>
        secrets;
  };

  explicit Holders(Around around, HolderLimits limits = {});
  ~Holders();
  Holders(const Holders&) = delete;
  Holders& operator=(const Holders&) = delete;

  /// Asks all linked peers at once: those that have it, `preferred` first, then in the order of
  /// their answers. Told once all have answered, or `preferred` said yes, or limits.find is over.
  void find(wire::Holding what, std::string key, std::optional<PeerId> preferred,
            std::function<void(std::vector<PeerId>)> told);

  /// Makes the first of the candidates that can a second holder of the tree ("": none) and the
  /// secrets. Code::not_found when none could, with the last one's reason.
  void hold(const RequestId& request, const ContentId& tree, std::vector<wire::Secret> secrets,
            std::vector<PeerId> candidates, std::function<void(Status)> done);
  /// This peer fetches from here: who is to be a holder is not given up yet.
  void is_fetching(PeerId peer);

  /// The secrets of a job, from the first of these that has them. Code::not_found: none has.
  void ask_secrets(const RequestId& request, std::vector<PeerId> from,
                   std::function<void(Result<std::vector<wire::Secret>>)> told);

  /// DoYouHave, Has, Hold, Held, AskSecrets and SecretsAre; all others are passed over.
  void take(PeerId from, const wire::LinkMessage& message);
  void link_lost(PeerId peer);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace gpl::peer
