#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpl/core/peer_view.h"
#include "gpl/core/time.h"

namespace gpl {

/// Who has what is missing of a peer's processors, or of its memory. Points into the PeerView that
/// it was made of.
class LoadUse {
 public:
  /// `missing` more must be free.
  static LoadUse of_cpus(const PeerView& peer, std::uint64_t missing);
  static LoadUse of_memory(const PeerView& peer, std::uint64_t missing_bytes);

  /// "job 12, job 13", the longest-running first; "": nobody is known.
  std::string holders() const;
  /// " (2 held by job 1 for 3m, 4 by job 2 for 1m, 1 by others)", or nothing.
  std::string described(Instant now) const;
  /// "job 1 and job 2 end", "enough of job 1 and job 2 end"; "": it is not known, or too many to be
  /// told.
  std::string awaited_ends() const;
  /// When time limits will have made enough free, if they do.
  std::optional<Instant> free_by() const;

 private:
  struct Share {
    const LoadHold* hold = nullptr;
    std::uint64_t amount = 0;
  };
  /// All shares of one holder.
  struct Holder {
    std::string name;
    std::uint64_t amount = 0;
    std::optional<Instant> since;
  };

  LoadUse(std::uint64_t missing, std::uint64_t held, bool is_memory)
      : missing_(missing), others_(held), is_memory_(is_memory) {}
  void add(const LoadHold& hold, std::uint64_t amount);
  std::string amount_words(std::uint64_t amount) const;
  /// Without any one of them the others are not enough.
  bool all_must_end() const;

  std::uint64_t missing_;
  std::uint64_t others_;  ///< held by who is not listed
  bool is_memory_;
  std::vector<Share> shares_;
  std::vector<Holder> holders_;
};

}  // namespace gpl
