#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gpl/core/id.h"
#include "gpl/core/job.h"
#include "gpl/core/requirement.h"
#include "gpl/core/result.h"
#include "gpl/core/task_range.h"
#include "gpl/core/time.h"

namespace gpl {

/// One task.
struct Single {
  friend bool operator==(const Single&, const Single&) = default;
};
/// A task for every number of a range; at most `limit` of them at a time.
struct Array {
  TaskRange tasks;
  std::optional<std::uint64_t> limit;
  friend bool operator==(const Array&, const Array&) = default;
};
/// One task on several peers at once, all or none.
struct Gang {
  std::uint32_t nodes = 1;
  std::string launcher;
  friend bool operator==(const Gang&, const Gang&) = default;
};
/// Tasks that are started again whenever they end.
struct Service {
  std::uint32_t replicas = 1;
  friend bool operator==(const Service&, const Service&) = default;
};
/// The shape of a job. Gangs and services are understood from feature level 2 on.
using JobShape = std::variant<Single, Array, Gang, Service>;

/// What becomes of an attempt whose peer is out of reach.
enum class OnLoss : std::uint8_t {
  wait = 0,   ///< it goes on; its fate is settled when the peer is back or given up
  retry = 1,  ///< it runs under a lease, and is started elsewhere once that is over
  fail = 2,   ///< the job ends
};

enum class After : std::uint8_t { ok = 0, any = 1, fail = 2 };
struct Dependency {
  JobId job;
  After after = After::ok;  ///< how that one must have ended
  friend bool operator==(const Dependency&, const Dependency&) = default;
};

/// Who submitted: the client key, or else a user of a peer.
struct Submitter {
  std::string client;  ///< id of the client key; "": (peer, uid)
  PeerId peer;
  std::uint32_t uid = 0;
  friend auto operator<=>(const Submitter&, const Submitter&) = default;
};

/// BLAKE2b-256 of content; empty: none.
using ContentId = std::string;

/// A job as the cluster knows it, from its submit on. Never changed afterwards.
struct JobDescription {
  JobSpec spec;
  Requirement requirement;
  JobShape shape;
  ContentId tree;  ///< the files that it runs on
  OnLoss on_loss = OnLoss::wait;
  Duration lease = seconds(180);  ///< with OnLoss::retry
  std::uint32_t retries = 0;      ///< after an outcome other than exit code 0
  std::int32_t priority = 0;      ///< higher first
  std::vector<Dependency> after;
  bool held = false;           ///< not placed before it is released
  bool allow_pending = false;  ///< not refused although no known peer could run it
  friend bool operator==(const JobDescription&, const JobDescription&) = default;
};

/// The numbers of its tasks. Requires a shape that `validate` takes.
TaskRange tasks_of(const JobShape& shape);

inline constexpr std::uint64_t most_tasks = std::uint64_t{1} << 32;       ///< of a job
inline constexpr std::uint64_t last_task = (std::uint64_t{1} << 63) - 1;  ///< highest number of one
inline constexpr std::size_t most_dependencies = 1024;

/// Whether the description makes sense by itself: Code::invalid names the field and the value.
Status validate(const JobDescription& description);
/// The feature level from which on the log may hold such a job.
std::uint32_t feature_level_of(const JobShape& shape);

}  // namespace gpl
