#include "gpl/wire/worker_fields.h"
#include "top_level.h"

namespace gpl::wire {

template <>
constexpr std::string_view title<WorkerToLeader>() {
  return "message to the leader";
}
template <>
constexpr std::string_view title<LeaderToWorker>() {
  return "message to a worker";
}

template std::string encode(const WorkerToLeader&);
template Result<WorkerToLeader> decode(std::string_view);
template std::string encode(const LeaderToWorker&);
template Result<LeaderToWorker> decode(std::string_view);

}  // namespace gpl::wire
