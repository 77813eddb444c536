#include "gpl/core/job_description.h"

#include <string>
#include <utility>

namespace gpl {
namespace {

/// A task is queued again only after it, and a peer is given up only then.
constexpr Duration longest_lease = seconds(86400);

Error refused(std::string message) { return Error{Code::invalid, std::move(message)}; }

struct Shapes {
  Status operator()(const Single&) const { return success(); }
  Status operator()(const Array& array) const {
    const auto& [first, last] = array.tasks;
    if (first > last)
      return refused("array: its last task, " + std::to_string(last.value) +
                     ", comes before its first, " + std::to_string(first.value));
    if (last.value > last_task)
      return refused("array: no task has a number above " + std::to_string(last_task));
    if (array.tasks.count() > most_tasks)
      return refused("array: " + std::to_string(array.tasks.count()) + " tasks, at most " +
                     std::to_string(most_tasks));
    if (array.limit == std::uint64_t{0})
      return refused("array: a limit of 0 tasks at a time would never begin");
    return success();
  }
  Status operator()(const Gang& gang) const {
    if (gang.nodes == 0) return refused("nodes: at least 1");
    return success();
  }
  Status operator()(const Service& service) const {
    if (service.replicas == 0) return refused("replicas: at least 1");
    return success();
  }
};

}  // namespace

TaskRange tasks_of(const JobShape& shape) {
  struct Tasks {
    TaskRange operator()(const Single&) const { return {TaskId{0}, TaskId{0}}; }
    TaskRange operator()(const Array& array) const { return array.tasks; }
    TaskRange operator()(const Gang&) const { return {TaskId{0}, TaskId{0}}; }
    TaskRange operator()(const Service& service) const {
      return {TaskId{0}, TaskId{service.replicas - std::uint64_t{1}}};
    }
  };
  return std::visit(Tasks{}, shape);
}

std::uint32_t feature_level_of(const JobShape& shape) {
  struct Levels {
    std::uint32_t operator()(const Single&) const { return 1; }
    std::uint32_t operator()(const Array&) const { return 1; }
    std::uint32_t operator()(const Gang&) const { return 2; }
    std::uint32_t operator()(const Service&) const { return 2; }
  };
  return std::visit(Levels{}, shape);
}

Status validate(const JobDescription& job) {
  Status spec = validate(job.spec);
  if (!spec.ok()) return spec;
  if (job.spec.time_limit > longest_duration)
    return refused("time limit: at most " + format_duration(longest_duration));
  Status requirement = validate(job.requirement);
  if (!requirement.ok()) return requirement;
  Status shape = std::visit(Shapes{}, job.shape);
  if (!shape.ok()) return shape;
  if (!job.tree.empty() && job.tree.size() != 32)
    return refused("tree: an id of " + std::to_string(job.tree.size()) + " bytes, not 32");
  if (job.on_loss == OnLoss::retry && (job.lease <= Duration{} || job.lease > longest_lease))
    return refused("lease: it must be more than zero and at most " +
                   format_duration(longest_lease));
  if (job.after.size() > most_dependencies)
    return refused("after: " + std::to_string(job.after.size()) + " jobs, at most " +
                   std::to_string(most_dependencies));
  return success();
}

}  // namespace gpl
