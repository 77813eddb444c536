#include "gpl/core/job.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace gpl {
namespace {

Error refused(std::string message) { return Error{Code::invalid, std::move(message)}; }

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

bool holds_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

/// What is printed of a text with a NUL: what comes before it.
std::string before_nul(std::string_view text) { return in_quotes(text.substr(0, text.find('\0'))); }

Status validate_command(const std::vector<std::string>& command) {
  if (command.empty()) return refused("there is no command to run");
  if (command.front().empty()) return refused("the command's first word is empty");
  for (const std::string& word : command) {
    if (holds_nul(word)) return refused("command: a NUL byte follows " + before_nul(word));
  }
  return success();
}

Status validate_name(const std::string& name) {
  const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
  if (std::any_of(name.begin(), name.end(), is_control))
    return refused("name: a control character cannot be part of a job's name");
  return success();
}

Status validate_env(const std::vector<EnvironmentVariable>& env) {
  for (const EnvironmentVariable& variable : env) {
    if (variable.name.empty())
      return refused("env: a variable without a name (its value is " + before_nul(variable.value) +
                     ")");
    if (holds_nul(variable.name))
      return refused("env: a NUL byte in the name, after " + before_nul(variable.name));
    if (variable.name.find('=') != std::string::npos)
      return refused("env: " + in_quotes(variable.name) + " cannot be a name: it contains '='");
    if (holds_nul(variable.value))
      return refused("env: a NUL byte in the value of " + in_quotes(variable.name));
  }
  return success();
}

Status validate_stage(const JobSpec& spec) {
  if (spec.staging == StagingMode::none && !spec.stage.empty())
    return refused("stage: " + in_quotes(spec.stage.front()) +
                   " cannot be staged, since no-stage asks for nothing to be: drop one of the two");
  for (const std::string& path : spec.stage) {
    if (path.empty()) return refused("stage: an empty path");
    if (holds_nul(path)) return refused("stage: a NUL byte follows " + before_nul(path));
  }
  return success();
}

bool climbs(std::string_view path) {
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find('/', from), path.size());
    if (path.substr(from, end - from) == "..") return true;
    from = end + 1;
  }
  return false;
}

Status validate_outputs(const std::vector<std::string>& outputs) {
  for (const std::string& pattern : outputs) {
    if (pattern.empty()) return refused("out: an empty pattern");
    if (holds_nul(pattern)) return refused("out: a NUL byte follows " + before_nul(pattern));
    if (pattern.front() == '/')
      return refused("out: " + in_quotes(pattern) +
                     " is absolute: results are named relative to the job's directory");
    if (climbs(pattern))
      return refused("out: " + in_quotes(pattern) +
                     " leads out of the job's directory: drop the '..'");
  }
  return success();
}

}  // namespace

Status validate(const JobSpec& spec) {
  const Status checks[] = {validate_command(spec.command), validate_name(spec.name),
                           validate_env(spec.env), validate_stage(spec),
                           validate_outputs(spec.outputs)};
  for (const Status& check : checks) {
    if (!check.ok()) return check;
  }
  if (spec.time_limit && *spec.time_limit <= Duration{})
    return refused("time limit: it must be more than zero");
  return success();
}

}  // namespace gpl
