#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>

#include "commands.h"
#include "gpl/client/cluster.h"
#include "gpl/client/embedded_placement.h"
#include "gpl/client/embedded_run.h"
#include "gpl/client/explain_json.h"
#include "gpl/client/job_file.h"
#include "gpl/host/toml_table.h"
#include "gpl/posix/error.h"
#include "option_table.h"
#include "output.h"
#include "run_options.h"
#include "run_report.h"

namespace gpl::cmd {
namespace {

constexpr int exit_usage = 2;
constexpr int exit_failed = 125;

constexpr const char* help_head =
    R"(Run a command in a private copy of this folder, wait for it, stream its output.

  gpl run -- python train.py --lr 0.1
  gpl run --out 'out/*.mp4' --time-limit 2h -- bash transcode.sh
  tar c in | gpl run --stdin -- tar tv
  gpl run job.toml

Usage: gpl run [OPTIONS] -- COMMAND [ARG...]
       gpl run [OPTIONS] JOB.toml
)";
constexpr const char* help_tail =
    R"(
Exit: the command's own code; 128+N when signal N ended it; 124 time limit, 125 gpl
itself failed, 126 not executable, 127 not found, 130 interrupted; 2 usage.
)";

// What the words of a `gpl run` ask for.
struct Asked {
  ParsedOptions options;
  JobSpec spec;
  Requirement requirement;
};

Error usage(const std::string& what) {
  return Error{Code::invalid, "run: " + what + " (gpl run --help)"};
}

std::string value_in_environment(const std::string& name, bool& found) {
  const char* value = std::getenv(name.c_str());
  found = value != nullptr;
  return found ? value : "";
}

// K takes the caller's value, and nothing when the caller has none: docker's and srun's habit.
void add_variable(JobSpec& spec, const std::string& given) {
  const std::size_t equals = given.find('=');
  if (equals != std::string::npos) {
    spec.env.push_back({given.substr(0, equals), given.substr(equals + 1)});
    return;
  }
  bool found = false;
  std::string value = value_in_environment(given, found);
  if (found || given.empty()) spec.env.push_back({given, std::move(value)});
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
    if (!limit.ok()) return usage("--time-limit: " + limit.error().message);
    spec.time_limit = limit.value();
  }
  return success();
}

Error no_command(const std::vector<std::string>& rest) {
  if (rest.empty()) return usage("no command; write it after --: gpl run -- python train.py");
  return usage("a command goes after --: gpl run -- " + shell_words(rest));
}

// CLI11 never sees the command: it would take its words apart.
Result<Asked> parse(const std::vector<std::string>& args) {
  const auto dashes = std::find(args.begin(), args.end(), "--");
  const bool has_command = dashes != args.end();
  Result<ParsedOptions> options = parse_options(run_options(), {args.begin(), dashes});
  if (!options.ok()) return Error{options.error().code, "run: " + options.error().message};
  Asked asked{std::move(options).value(), {}, {}};
  if (asked.options.has("help")) return asked;
  std::vector<std::string>& rest = asked.options.rest;
  RequirementText requirement;
  if (!rest.empty() && rest.front().ends_with(".toml")) {
    options = parse_mixed_options(run_options(), {args.begin(), dashes});
    if (!options.ok()) return Error{options.error().code, "run: " + options.error().message};
    asked.options = std::move(options).value();
    if (rest.size() > 1) return usage("one job file, please: " + shell_words(rest));
    if (has_command) return usage("either a job file or a command after --, not both");
    Result<client::JobFile> file = read_job_file(rest.front());
    if (!file.ok()) return std::move(file).error();
    asked.spec = std::move(file.value().spec);
    requirement = std::move(file.value().requirement);
  } else if (!rest.empty() || !has_command) {
    return no_command(rest);
  } else {
    asked.spec.command.assign(dashes + 1, args.end());
    if (asked.spec.command.empty()) return no_command({});
  }
  if (Status applied = apply(asked.options, asked.spec); !applied.ok()) {
    return std::move(applied).error();
  }
  Result<Requirement> wanted =
      parse_requirement(merge(std::move(requirement), requirement_text(asked.options)));
  if (!wanted.ok()) return usage(wanted.error().message);
  asked.requirement = std::move(wanted).value();
  if (Status valid = validate(asked.spec); !valid.ok()) return usage(valid.error().message);
  return asked;
}

int fail(const Error& error) {
  complain(error.message);
  const bool is_usage = error.code == Code::invalid;
  return is_usage ? exit_usage : exit_failed;
}

Result<client::EmbeddedRequest> make_request(Asked& asked, unsigned closed_stdio) {
  Result<host::Folders> folders = host::user_folders();
  if (!folders.ok()) return std::move(folders).error();
  Result<host::Configuration> configuration =
      host::read_configuration(folders.value().configuration + "/gpl.toml");
  if (!configuration.ok()) return std::move(configuration).error();
  client::ClusterChoice choice{asked.options.has("local"), asked.options.last("peers")};
  bool found = false;
  if (choice.peers.empty()) choice.peers = value_in_environment("GPL_PEERS", found);
  if (Status embedded = client::require_embedded(choice, folders.value()); !embedded.ok()) {
    return std::move(embedded).error();
  }
  char here[PATH_MAX];
  if (::getcwd(here, sizeof here) == nullptr) {
    return posix::io_error("cannot tell the current folder");
  }
  client::EmbeddedRequest request;
  request.spec = std::move(asked.spec);
  request.requirement = std::move(asked.requirement);
  request.configuration = std::move(configuration).value();
  request.folders = std::move(folders).value();
  request.source = here;
  request.stdout_closed = (closed_stdio >> STDOUT_FILENO & 1U) != 0;
  request.stdout_to_err = asked.options.has("json");
  return request;
}

// Shows where the job would run: 0 it fits now, 1 it does not.
int explain_run(const client::EmbeddedRequest& request, bool as_json) {
  Result<Explanation> explanation =
      client::explain_here(request.requirement, request.configuration);
  if (!explanation.ok()) {
    fail(explanation.error());
    return exit_failed;
  }
  const int shown =
      print(as_json ? client::explanation_json(explanation.value(), request.requirement)
                    : to_text(explanation.value()));
  if (shown != 0) return shown;
  return explanation.value().verdict == Verdict::fits ? 0 : 1;
}

}  // namespace

int run_command(const Invocation& invocation) {
  Result<Asked> asked = parse(invocation.args);
  if (!asked.ok()) return fail(asked.error());
  if (asked.value().options.has("help")) {
    return print(help_head + describe_options(run_options()) + help_tail);
  }
  Result<client::EmbeddedRequest> request = make_request(asked.value(), invocation.closed_stdio);
  if (!request.ok()) return fail(request.error());
  if (asked.value().options.has("explain")) {
    return explain_run(request.value(), asked.value().options.has("json"));
  }
  const client::Voice voice(asked.value().options.has("quiet"));
  Result<client::EmbeddedReport> report = client::run_embedded(request.value(), voice);
  if (!report.ok()) {
    fail(report.error());
    return exit_failed;
  }
  if (asked.value().options.has("json")) {
    (void)print(format_run_report(request.value(), report.value()));
  }
  return report.value().exit_status;
}

}  // namespace gpl::cmd
