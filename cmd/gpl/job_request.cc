#include "job_request.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "gpl/client/job_file.h"
#include "gpl/host/toml_table.h"
#include "output.h"

namespace gpl::cmd {
namespace {

// K takes the caller's value, and nothing when the caller has none: docker's and srun's habit.
void add_variable(JobSpec& spec, const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals != std::string::npos) {
    spec.env.push_back({given.substr(0, equals), given.substr(equals + 1)});
    return;
  }
  const char* value = std::getenv(given.c_str());
  if (value != nullptr || given.empty()) spec.env.push_back({given, value ? value : ""});
}

Result<client::JobFile> read_job_file(const std::string& path) {
  Result<std::string> text = host::read_toml_file(path);
  if (!text.ok()) return std::move(text).error();
  Result<client::JobFile> file = client::parse_job_file(text.value(), path);
  if (!file.ok()) return std::move(file).error();
  for (const std::string& name : file.value().env_from_caller) {
    add_variable(file.value().spec, name);
  }
  return file;
}

RequirementText requirement_text(const ParsedOptions& options) {
  const auto value = [&](std::string_view name) {
    return options.has(name) ? std::optional<std::string>(options.last(name)) : std::nullopt;
  };
  RequirementText text;
  text.gpus = value("gpus");
  text.gpu = value("gpu");
  text.gpu_memory = value("gpu-memory");
  text.gpu_share = options.has("gpu-share");
  text.gpu_model = value("gpu-model");
  text.compute_capability = value("compute-capability");
  text.cpus = value("cpus");
  text.memory = value("memory");
  text.frameworks = options.all("framework");
  text.environment = value("environment");
  text.on = value("on");
  text.labels = options.all("label");
  return text;
}

// Options on the command line count for more than the same ones in a job file.
Status apply(const ParsedOptions& options, JobSpec& spec) {
  if (options.has("name")) spec.name = options.last("name");
  for (const std::string& given : options.all("env")) add_variable(spec, given);
  for (const std::string& path : options.all("stage")) spec.stage.push_back(path);
  for (const std::string& pattern : options.all("out")) spec.outputs.push_back(pattern);
  if (options.has("no-stage")) spec.staging = StagingMode::none;
  if (options.has("stdin")) spec.pass_stdin = true;
  if (options.has("time-limit")) {
    Result<Duration> limit = parse_duration(options.last("time-limit"));
    if (!limit.ok()) return Error{Code::invalid, "--time-limit: " + limit.error().message};
    spec.time_limit = limit.value();
  }
  return success();
}

/// Reads every value of an option, the last one in the end, with the option's name in errors.
template <class T, class Put>
Status read_each(const ParsedOptions& options, const std::string& name,
                 Result<T> (*parse)(std::string_view), Put put) {
  for (const std::string& text : options.all(name)) {
    Result<T> value = parse(text);
    if (!value.ok()) {
      std::string why = "--" + name;
      if (value.error().message.starts_with(why)) return std::move(value).error();
      why += ": " + value.error().message;
      return Error{value.error().code, std::move(why)};
    }
    put(std::move(value).value());
  }
  return success();
}

Status read_terms(const ParsedOptions& options, client::JobTerms& terms) {
  const Status read[] = {
      read_each(options, "retries", client::parse_retries, [&](auto n) { terms.retries = n; }),
      read_each(options, "on-loss", client::parse_on_loss, [&](auto way) { terms.on_loss = way; }),
      read_each(options, "priority", client::parse_priority, [&](auto n) { terms.priority = n; }),
      read_each(options, "after", client::parse_after,
                [&](auto job) { terms.after.push_back(job); }),
      read_each(options, "secret", client::parse_secret,
                [&](auto name) { terms.secrets.push_back(std::move(name)); }),
      read_each(options, "data", client::parse_data,
                [&](auto wish) { terms.data.push_back(std::move(wish)); }),
  };
  for (const Status& status : read) {
    if (!status.ok()) return status;
  }
  terms.allow_pending = options.has("allow-pending");
  return success();
}

// Puts the variables here that the configuration forwards before those that were asked for. The
// embedded peer forwards them by itself.
void forward_variables(JobSpec& spec, const host::Configuration& configuration) {
  std::vector<EnvironmentVariable> forwarded;
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    const std::size_t equals = variable.find('=');
    if (equals == 0 || equals == variable.npos) continue;
    const std::string_view name = variable.substr(0, equals);
    const auto takes = [&](const std::string& glob) { return host::matches(glob, name); };
    if (std::any_of(configuration.forward_env.begin(), configuration.forward_env.end(), takes)) {
      forwarded.push_back({std::string(name), std::string(variable.substr(equals + 1))});
    }
  }
  spec.env.insert(spec.env.begin(), forwarded.begin(), forwarded.end());
}

/// The words of one command line, on their way to what they ask for.
class Parse {
 public:
  Parse(const std::string& command, std::span<const OptionRow> table,
        const std::vector<std::string>& args)
      : command_(command), table_(table), args_(args) {}

  // CLI11 never sees the command: it would take its words apart.
  Result<JobRequest> run() {
    const auto dashes = std::find(args_.begin(), args_.end(), "--");
    const bool has_command = dashes != args_.end();
    Result<ParsedOptions> options = parse_options(table_, {args_.begin(), dashes});
    if (!options.ok()) return named(options.error());
    JobRequest asked{std::move(options).value(), {}, {}, {}};
    if (asked.options.has("help")) return asked;
    RequirementText requirement;
    std::vector<std::string>& rest = asked.options.rest;
    if (!rest.empty() && rest.front().ends_with(".toml")) {
      options = parse_mixed_options(table_, {args_.begin(), dashes});
      if (!options.ok()) return named(options.error());
      asked.options = std::move(options).value();
      if (rest.size() > 1) return usage("one job file, please: " + shell_words(rest));
      if (has_command) return usage("either a job file or a command after --, not both");
      Result<client::JobFile> file = read_job_file(rest.front());
      if (!file.ok()) return std::move(file).error();
      asked.spec = std::move(file.value().spec);
      asked.terms = std::move(file.value().terms);
      requirement = std::move(file.value().requirement);
    } else if (!rest.empty() || !has_command) {
      return no_command(rest);
    } else {
      asked.spec.command.assign(dashes + 1, args_.end());
      if (asked.spec.command.empty()) return no_command({});
    }
    if (Status done = finish(asked, std::move(requirement)); !done.ok()) {
      return usage(done.error().message);
    }
    return asked;
  }

 private:
  static Status finish(JobRequest& asked, RequirementText requirement) {
    if (Status applied = apply(asked.options, asked.spec); !applied.ok()) return applied;
    client::JobTerms terms;
    if (Status read = read_terms(asked.options, terms); !read.ok()) return read;
    asked.terms = merge(std::move(asked.terms), std::move(terms));
    Result<Requirement> wanted =
        parse_requirement(merge(std::move(requirement), requirement_text(asked.options)));
    if (!wanted.ok()) return std::move(wanted).error();
    asked.requirement = std::move(wanted).value();
    return validate(asked.spec);
  }

  Error named(const Error& error) const {
    return Error{error.code, command_ + ": " + error.message};
  }
  Error usage(const std::string& what) const {
    return Error{Code::invalid, command_ + ": " + what + " (gpl " + command_ + " --help)"};
  }
  Error no_command(const std::vector<std::string>& rest) const {
    const std::string way = "gpl " + command_ + " -- ";
    if (rest.empty()) {
      return usage("no command; write it after --: " + way + "python train.py");
    }
    return usage("a command goes after --: " + way + shell_words(rest));
  }

  const std::string& command_;
  std::span<const OptionRow> table_;
  const std::vector<std::string>& args_;
};

}  // namespace

Result<JobRequest> parse_job_request(const std::string& command, std::span<const OptionRow> table,
                                     const std::vector<std::string>& args) {
  return Parse(command, table, args).run();
}

Result<std::vector<wire::Secret>> read_secrets(const client::JobTerms& terms) {
  std::vector<wire::Secret> secrets;
  for (const std::string& name : terms.secrets) {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      return Error{Code::invalid, "--secret " + name +
                                      ": there is no such variable here; its value is taken from "
                                      "this environment"};
    }
    secrets.push_back({name, value});
  }
  return secrets;
}

Result<client::SubmissionRequest> submission_of(const JobRequest& asked,
                                                const host::Folders& folders,
                                                const host::Configuration& configuration,
                                                const std::string& here) {
  Result<std::vector<wire::Secret>> secrets = read_secrets(asked.terms);
  if (!secrets.ok()) return std::move(secrets).error();
  client::SubmissionRequest request;
  request.job = client::description_of(asked.spec, asked.requirement, asked.terms);
  request.job.spec.folder = here;
  forward_variables(request.job.spec, configuration);
  request.secrets = std::move(secrets).value();
  request.data = asked.terms.data;
  request.source = here;
  request.cache_folder = folders.state + "/stat-cache";
  return request;
}

}  // namespace gpl::cmd
