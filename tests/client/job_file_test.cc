#include "gpl/client/job_file.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using gpl::Code;
using gpl::JobSpec;
using gpl::client::JobFile;
using gpl::client::parse_job_file;

namespace {

JobFile job_of(const std::string& text) {
  const auto parsed = parse_job_file(text, "job.toml");
  REQUIRE_MESSAGE(parsed.ok(), (parsed.ok() ? "" : parsed.error().message));
  return parsed.value();
}

gpl::Error refusal_of(const std::string& text) {
  const auto parsed = parse_job_file(text, "job.toml");
  REQUIRE_MESSAGE(!parsed.ok(), text);
  return parsed.error();
}

const std::string command = "command = ['true']\n";

}  // namespace

TEST_CASE("a job file with every key is read") {
  const JobFile job = job_of(R"(
command = ["python", "train.py", "--lr", "0.1"]
name = "train"
env = { LR = "0.1", "odd name" = "x" }
stage = ["data/big.bin"]
out = ["*.pt", "log.csv"]
stdin = true
time_limit = "1h30m"
)");
  JobSpec spec;
  spec.command = {"python", "train.py", "--lr", "0.1"};
  spec.name = "train";
  spec.env = {{"LR", "0.1"}, {"odd name", "x"}};
  spec.stage = {"data/big.bin"};
  spec.outputs = {"*.pt", "log.csv"};
  spec.pass_stdin = true;
  spec.time_limit = gpl::seconds(5400);
  CHECK(job.spec == spec);
  CHECK(job.env_from_caller.empty());
}

TEST_CASE("a job file with a command alone is read") {
  JobSpec spec;
  spec.command = {"true"};
  CHECK(job_of(command).spec == spec);
}

TEST_CASE("no_stage asks for the same path on the worker") {
  CHECK(job_of(command + "no_stage = true\n").spec.staging == gpl::StagingMode::none);
  CHECK(job_of(command + "no_stage = false\n").spec.staging == gpl::StagingMode::copy);
}

TEST_CASE("env keeps the order of the file") {
  const JobFile job = job_of(command + "[env]\nZ = '1'\nA = '2'\n");
  CHECK(job.spec.env == std::vector<gpl::EnvironmentVariable>{{"Z", "1"}, {"A", "2"}});
}

TEST_CASE("env as a list has values and names to take from the caller") {
  const JobFile job = job_of(command + "env = ['HF_TOKEN', 'A=b=c', 'E=']\n");
  CHECK(job.spec.env == std::vector<gpl::EnvironmentVariable>{{"A", "b=c"}, {"E", ""}});
  CHECK(job.env_from_caller == std::vector<std::string>{"HF_TOKEN"});
}

TEST_CASE("a command in one string is refused with two ways to write it") {
  CHECK(refusal_of("command = 'python train.py'\n") ==
        gpl::Error{Code::invalid,
                   "job.toml:1: 'command' must be a list of strings, but is a string; write a list "
                   "of words, [\"python\", \"train.py\"], or for a shell [\"sh\", \"-c\", "
                   "\"...\"]"});
}

TEST_CASE("an env that is no table or list of strings is refused with how to write it") {
  CHECK(refusal_of(command + "env = { A = 1 }\n").message ==
        "job.toml:2: 'env.A' must be a string, but is an integer; put the value in quotes");
  CHECK(refusal_of(command + "[env]\nA = true\n").message ==
        "job.toml:3: 'env.A' must be a string, but is a boolean; put the value in quotes");
  CHECK(refusal_of(command + "env = 'A=b'\n").message ==
        "job.toml:2: 'env' must be a list of strings, but is a string; write a table, { K = \"V\" "
        "}, or a list, [\"K=V\", \"K\"]");
  CHECK(refusal_of(command + "env = ['']\n").message ==
        "job.toml:2: env: an element is neither NAME nor NAME=VALUE");
}

TEST_CASE("a time limit without a unit is refused with its line") {
  CHECK(refusal_of(command + "time_limit = 90\n").message ==
        "job.toml:2: 'time_limit' must be a string, but is an integer; write \"90s\", \"10m\" or "
        "\"1h30m\"");
  CHECK(refusal_of(command + "time_limit = '90'\n").message ==
        "job.toml:2: time_limit: '90' is not a duration: a unit is missing (90s?), at column 3; "
        "write 90s, 10m, 1h30m or HH:MM:SS");
}

TEST_CASE("an out that is one string is refused with how to write it") {
  CHECK(refusal_of(command + "out = '*.pt'\n").message ==
        "job.toml:2: 'out' must be a list of strings, but is a string; write [\"...\"], also for "
        "one");
}

TEST_CASE("a key with a dash finds its spelling") {
  CHECK(refusal_of(command + "time-limit = '90s'\n").message ==
        "job.toml:2: unknown key 'time-limit'; did you mean 'time_limit'?");
}

TEST_CASE("an unknown key names its line and the nearest known one") {
  CHECK(refusal_of(command + "\nnmae = 'x'\n").message ==
        "job.toml:3: unknown key 'nmae'; did you mean 'name'?");
}

TEST_CASE("an option of a later version is refused as such") {
  for (const std::string key : {"array", "each_line", "nodes", "launcher"}) {
    CAPTURE(key);
    CHECK(refusal_of(command + key + " = 1\n") ==
          gpl::Error{Code::unsupported, "job.toml:2: '" + key +
                                            "' comes with a later version of gpl: leave it out "
                                            "for now"});
  }
}

TEST_CASE("what a cluster is to do with a job is read") {
  const auto job = parse_job_file(command + R"(retries = 2
on_loss = "retry"
priority = -3
after = ["12", "13:any"]
secret = ["TOKEN"]
data = ["12:model.pt=m"]
allow_pending = true
)",
                                  "job.toml");
  REQUIRE(job.ok());
  const gpl::client::JobTerms& terms = job.value().terms;
  CHECK(terms.retries == 2);
  CHECK(terms.on_loss == gpl::OnLoss::retry);
  CHECK(terms.priority == -3);
  CHECK(terms.after == std::vector<gpl::Dependency>{{gpl::JobId{12}, gpl::After::ok},
                                                    {gpl::JobId{13}, gpl::After::any}});
  CHECK(terms.secrets == std::vector<std::string>{"TOKEN"});
  CHECK(terms.data == std::vector<gpl::client::DataWish>{{"12", "model.pt", "m"}});
  CHECK(terms.allow_pending);
}

TEST_CASE("a wrong term names its line and what it may be") {
  CHECK(refusal_of(command + "on_loss = 'restart'\n").message ==
        "job.toml:2: on_loss: 'restart' is none of wait, retry and fail");
  CHECK(refusal_of(command + "\nretries = -1\n").message.starts_with("job.toml:3: retries: '-1'"));
}

TEST_CASE("what a job needs is read as the options of these names") {
  const auto job = parse_job_file(command + R"(gpus = 2
gpu = "cuda"
gpu_memory = "16G"
gpu_share = true
gpu_model = "*A100*"
compute_capability = "8.0"
cpus = 4
memory = "1Gi"
framework = ["torch>=2", "numpy"]
environment = "system"
on = "lab2"
label = ["rack=a"]
)",
                                  "job.toml");
  REQUIRE(job.ok());
  const gpl::RequirementText& needs = job.value().requirement;
  CHECK(needs.gpus == "2");
  CHECK(needs.cpus == "4");
  CHECK(needs.gpu_share);
  CHECK(needs.frameworks == std::vector<std::string>{"torch>=2", "numpy"});
  CHECK(needs.labels == std::vector<std::string>{"rack=a"});
  CHECK(gpl::parse_requirement(needs).ok());
}

TEST_CASE("what a job needs is judged with the file's name") {
  CHECK(refusal_of(command + "gpus = '2'\n").message.starts_with("job.toml:2: "));
  CHECK(refusal_of(command + "framework = ['torch>=2.x']\n").message ==
        "job.toml: --framework 'torch>=2.x': '2.x' is not a version (PEP 440), at column 8");
}

TEST_CASE("a job that validation refuses is told with the file") {
  CHECK(refusal_of("name = 'x'\n").message == "job.toml: there is no command to run");
  CHECK(refusal_of(command + "out = ['/etc/passwd']\n").message ==
        "job.toml: out: '/etc/passwd' is absolute: results are named relative to the job's "
        "directory");
  CHECK(refusal_of(command + "env = ['=x']\n").message ==
        "job.toml: env: a variable without a name (its value is 'x')");
}

TEST_CASE("what is not TOML is told with line and column") {
  CHECK(refusal_of("command = [\n").message.rfind("job.toml:", 0) == 0);
  CHECK(refusal_of("command = [\n").code == Code::invalid);
}
