#include "gpl/client/job_file.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "gpl/host/toml_table.h"

namespace gpl::client {
namespace {

using host::TomlTable;

/// Keys that name options of `gpl run` which this version does not have.
const std::vector<std::string>& later_keys() {
  static const std::vector<std::string> keys = {"array", "each_line", "nodes", "launcher"};
  return keys;
}

void read_env_list(TomlTable& table, const std::vector<std::string>& list, JobFile& job) {
  for (const std::string& entry : list) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) {
      job.spec.env.push_back({entry.substr(0, equals), entry.substr(equals + 1)});
    } else if (entry.empty() || entry.find('\0') != std::string::npos) {
      table.refuse("env", Code::invalid, "env: an element is neither NAME nor NAME=VALUE");
    } else {
      job.env_from_caller.push_back(entry);
    }
  }
}

void read_env(TomlTable& table, JobFile& job) {
  if (table.holds_table("env")) {
    const auto pairs = table.string_table("env", "put the value in quotes");
    if (!pairs) return;
    for (const auto& [name, value] : *pairs) job.spec.env.push_back({name, value});
  } else if (const auto list = table.strings(
                 "env", "write a table, { K = \"V\" }, or a list, [\"K=V\", \"K\"]")) {
    read_env_list(table, *list, job);
  }
}

void read_time_limit(TomlTable& table, JobSpec& spec) {
  const auto text = table.string("time_limit", "write \"90s\", \"10m\" or \"1h30m\"");
  if (!text) return;
  const Result<Duration> limit = parse_duration(*text);
  if (limit.ok()) {
    spec.time_limit = limit.value();
  } else {
    table.refuse("time_limit", limit.error().code, "time_limit: " + limit.error().message);
  }
}

/// A list where a single string is the likely slip.
std::vector<std::string> read_list(TomlTable& table, std::string_view key) {
  return table.strings(key, "write [\"...\"], also for one").value_or(std::vector<std::string>{});
}

std::optional<std::string> read_number(TomlTable& table, std::string_view key) {
  const std::optional<std::int64_t> number = table.integer(key);
  return number ? std::optional<std::string>(std::to_string(*number)) : std::nullopt;
}

RequirementText read_requirement(TomlTable& table) {
  RequirementText text;
  text.gpus = read_number(table, "gpus");
  text.gpu = table.string("gpu");
  text.gpu_memory = table.string("gpu_memory", "write \"16G\"");
  text.gpu_share = table.boolean("gpu_share").value_or(false);
  text.gpu_model = table.string("gpu_model");
  text.compute_capability = table.string("compute_capability", "write \"8.9\"");
  text.cpus = read_number(table, "cpus");
  text.memory = table.string("memory", "write \"16G\"");
  text.frameworks = read_list(table, "framework");
  text.environment = table.string("environment");
  text.on = table.string("on");
  text.labels = read_list(table, "label");
  return text;
}

/// A key whose value has a form of its own.
template <class T>
std::optional<T> read_as(TomlTable& table, std::string_view key, const std::string& text,
                         Result<T> (*parse)(std::string_view)) {
  Result<T> value = parse(text);
  if (value.ok()) return std::move(value).value();
  table.refuse(key, value.error().code, std::string(key) + ": " + value.error().message);
  return std::nullopt;
}

template <class T>
std::vector<T> read_list_as(TomlTable& table, std::string_view key,
                            Result<T> (*parse)(std::string_view)) {
  std::vector<T> values;
  for (const std::string& text : read_list(table, key)) {
    if (std::optional<T> value = read_as(table, key, text, parse)) {
      values.push_back(std::move(*value));
    }
  }
  return values;
}

JobTerms read_terms(TomlTable& table) {
  JobTerms terms;
  if (const auto text = read_number(table, "retries")) {
    terms.retries = read_as(table, "retries", *text, parse_retries);
  }
  if (const auto text = read_number(table, "priority")) {
    terms.priority = read_as(table, "priority", *text, parse_priority);
  }
  if (const auto text = table.string("on_loss", "write \"wait\", \"retry\" or \"fail\"")) {
    terms.on_loss = read_as(table, "on_loss", *text, parse_on_loss);
  }
  terms.after = read_list_as(table, "after", parse_after);
  terms.secrets = read_list_as(table, "secret", parse_secret);
  terms.data = read_list_as(table, "data", parse_data);
  terms.allow_pending = table.boolean("allow_pending").value_or(false);
  return terms;
}

}  // namespace

Result<JobFile> parse_job_file(std::string_view text, const std::string& file_name) {
  Result<TomlTable> parsed = TomlTable::parse(text, file_name);
  if (!parsed.ok()) return parsed.error();
  TomlTable& table = parsed.value();

  JobFile job;
  JobSpec& spec = job.spec;
  table.refuse_later(later_keys());
  if (auto command =
          table.strings("command",
                        "write a list of words, [\"python\", \"train.py\"], or for a shell "
                        "[\"sh\", \"-c\", \"...\"]"))
    spec.command = std::move(*command);
  spec.name = table.string("name").value_or("");
  read_env(table, job);
  spec.stage = read_list(table, "stage");
  if (table.boolean("no_stage").value_or(false)) spec.staging = StagingMode::none;
  spec.outputs = read_list(table, "out");
  spec.pass_stdin = table.boolean("stdin").value_or(false);
  read_time_limit(table, spec);
  job.requirement = read_requirement(table);
  job.terms = read_terms(table);

  if (Status status = table.finish(); !status.ok()) return status.error();
  if (Status status = validate(spec); !status.ok())
    return Error{status.error().code, file_name + ": " + status.error().message};
  if (Result<Requirement> asked = parse_requirement(job.requirement); !asked.ok())
    return Error{asked.error().code, file_name + ": " + asked.error().message};
  return job;
}

}  // namespace gpl::client
