#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpl/core/device.h"
#include "gpl/host/device_findings.h"
#include "gpl/host/nvidia_list.h"
#include "gpl/host/nvidia_query.h"
#include "gpl/host/probe_process.h"

namespace gpl::host {

/// Asks nvidia-smi about the cards of a machine, as pure steps: run it with each list of words that
/// `next` gives, all at once, and hand the answers to `take` in that order, until `next` is empty.
///
/// A field that the tool does not know is left out and the rest asked again. Where one bad card
/// fails the whole query, each card is asked alone. MIG slices are joined from -L (UUID, profile)
/// and -q -x (GPU instance, memory). A tool that timed out is not run again.
class NvidiaProbe {
 public:
  using Words = std::vector<std::string>;

  std::vector<Words> next() const;
  void take(const std::vector<ProbeAnswer>& answers);

  /// The cards by index, once `next` is empty.
  DeviceFindings findings() const;

 private:
  enum class Stage {
    query,      ///< all cards
    list,       ///< -L: because the query failed, or for the MIG slices
    each,       ///< each card of `asked_` alone
    by_number,  ///< -i 0, -i 1, ...: -L failed as well
    slices,     ///< -q -x of each card of `cut_`
    done,
  };

  Words query_words() const;
  bool drop_unknown_field(const ProbeAnswer& answer);
  void take_query(const ProbeAnswer& answer);
  void take_list(const ProbeAnswer& answer);
  void take_each(const std::vector<ProbeAnswer>& answers);
  void take_by_number(const ProbeAnswer& answer);
  void take_slices(const std::vector<ProbeAnswer>& answers);
  void after_cards();
  void ask_listed_cards();
  void attach_listed_slices();
  void add_bad_card(int index, const std::string& message);
  void note_problem(const ProbeAnswer& answer, const std::vector<std::string>& notes);
  bool asks_alone_may_help(const ProbeAnswer& answer) const;

  Stage stage_ = Stage::query;
  std::vector<std::string> fields_ = nvidia_query_fields();
  std::vector<Accelerator> cards_;
  std::vector<ProbeProblem> problems_;
  std::string query_failure_;
  std::optional<NvidiaList> list_;
  std::vector<NvidiaListed> asked_;
  std::vector<std::size_t> cut_;  // places in cards_
  int number_ = 0;
  bool gave_up_ = false;  // the tool hangs, or cannot be run
};

}  // namespace gpl::host
