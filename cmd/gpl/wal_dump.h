#pragma once

#include <functional>
#include <optional>
#include <string>

#include "gpl/core/result.h"
#include "gpl/raft/entry.h"
#include "gpl/store/damage.h"
#include "gpl/store/log_reader.h"

namespace gpl::cmd {

/// Prints each record of a log as a line, as the batches come.
class WalDump {
 public:
  struct Options {
    bool json = false;
    /// What a command entry says, for a person.
    std::function<std::string(const raft::Entry&)> describe;
  };
  /// Requires a `describe`.
  explicit WalDump(Options options) : options_(std::move(options)) {}

  /// The first line of a table.
  void begin();
  /// An error when nothing more can be printed: `exit_code` is set then.
  Status add(const store::Batch& batch);
  /// The last object of --json: how the log ends ("clean", "torn", "damaged", "newer",
  /// "unreadable"), where, and a sentence; "" is none.
  void end(const std::string& how, const std::optional<store::Place>& place,
           const std::string& message);

  int exit_code() const { return exit_code_; }

 private:
  void put(const std::string& text);

  Options options_;
  int exit_code_ = 0;
};

/// The length is told beside it: the first bytes in hex.
std::string hex_prefix(const raft::Entry& entry);
/// The commands of an entry by name; what no command can be read from: as `hex_prefix`.
std::string command_names(const raft::Entry& entry);

/// "1, 2, 3"; "-" for none.
std::string node_list(const std::vector<raft::NodeId>& ids);

}  // namespace gpl::cmd
