#include "gpl/host/job_environment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using gpl::AttemptId;
using gpl::JobId;
using gpl::TaskId;
using gpl::host::EnvironmentSource;
using gpl::host::job_environment;
using gpl::host::User;

namespace {

using Entries = std::vector<std::string>;

EnvironmentSource source() {
  EnvironmentSource source;
  source.user = User{1000, "ann", "/home/ann", "/bin/zsh"};
  source.temp_folder = "/tmp/gpl.1";
  source.job = JobId{12};
  source.task = TaskId{3};
  source.attempt = AttemptId{2};
  source.peer = "lab1";
  source.devices.set = {
      {"GPL_GPUS", ""}, {"CUDA_VISIBLE_DEVICES", ""}, {"ROCR_VISIBLE_DEVICES", ""}};
  source.devices.unset = {"HIP_VISIBLE_DEVICES"};
  return source;
}

/// What every job without GPUs gets, without inherited, forwarded and asked variables.
Entries base() {
  return {"CUDA_VISIBLE_DEVICES=",
          "GPL_ATTEMPT=2",
          "GPL_GPUS=",
          "GPL_JOB_ID=12",
          "GPL_PEER=lab1",
          "GPL_TASK_ID=3",
          "HOME=/home/ann",
          "PATH=/usr/local/bin:/usr/bin:/bin",
          "PYTHONUNBUFFERED=1",
          "ROCR_VISIBLE_DEVICES=",
          "SHELL=/bin/zsh",
          "TMPDIR=/tmp/gpl.1",
          "USER=ann"};
}

/// `base` with entries added, and those of the same name replaced, in order of name.
Entries base_with(const Entries& more) {
  Entries entries = base();
  for (const std::string& entry : more) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(entries, [&](const std::string& other) { return other.starts_with(name); });
    entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find('=')) < b.substr(0, b.find('='));
  });
  return entries;
}

}  // namespace

TEST_CASE("a job gets exactly the documented variables, ordered by name") {
  CHECK(job_environment(source()) == base());
}

TEST_CASE("PATH, LANG and VIRTUAL_ENV are inherited, and nothing else") {
  EnvironmentSource from = source();
  from.inherited = {"PATH=/opt/bin", "LANG=de_DE.UTF-8",     "VIRTUAL_ENV=/venv",
                    "LC_ALL=C",      "LD_PRELOAD=x.so",      "TERM=xterm",
                    "PATHS=1",       "OMP_NUM_THREADS=4",    "PYTHONPATH=/else",
                    "GPL_SECRET=1",  "HIP_VISIBLE_DEVICES=0"};
  CHECK(job_environment(from) ==
        base_with({"PATH=/opt/bin", "LANG=de_DE.UTF-8", "VIRTUAL_ENV=/venv"}));
}

TEST_CASE("the user's variables are those of the passwd entry, not the inherited ones") {
  EnvironmentSource from = source();
  from.inherited = {"HOME=/wrong",        "USER=wrong",    "SHELL=/wrong",          "TMPDIR=/wrong",
                    "PYTHONUNBUFFERED=0", "GPL_JOB_ID=99", "CUDA_VISIBLE_DEVICES=0"};
  CHECK(job_environment(from) == base());
  from.forward = {"*"};
  CHECK(job_environment(from) == base());
}

TEST_CASE("values are taken byte for byte, with what equals signs they hold") {
  EnvironmentSource from = source();
  from.inherited = {"PATH=/a=b:\xff", "LANG="};
  from.asked = {{"EMPTY", ""}, {"LINES", "a\nb"}};
  CHECK(job_environment(from) == base_with({"PATH=/a=b:\xff", "LANG=", "EMPTY=", "LINES=a\nb"}));
}

TEST_CASE("forward_env takes what its globs match") {
  EnvironmentSource from = source();
  from.inherited = {"HF_HOME=/hf", "HF_TOKEN=x", "WANDB=1", "OTHER=2"};
  from.forward = {"HF_*", "WAND?"};
  CHECK(job_environment(from) == base_with({"HF_HOME=/hf", "HF_TOKEN=x", "WANDB=1"}));
}

TEST_CASE("a batch system's variables are scrubbed even when all is forwarded") {
  EnvironmentSource from = source();
  from.inherited = {"SLURM_JOB_ID=1", "OMPI_COMM_WORLD_RANK=0",
                    "PMI_RANK=0",     "SLURM_=x",
                    "SLURMY=1",       "MY_SLURM_X=1"};
  from.forward = {"*", "SLURM_*", "SLURM_JOB_ID"};
  CHECK(job_environment(from) == base_with({"SLURMY=1", "MY_SLURM_X=1"}));
}

TEST_CASE("a batch system's variable that is asked for is kept") {
  EnvironmentSource from = source();
  from.inherited = {"SLURM_JOB_ID=1"};
  from.asked = {{"SLURM_JOB_ID", "7"}, {"OMPI_X", "1"}, {"PMI_X", "2"}};
  CHECK(job_environment(from) == base_with({"SLURM_JOB_ID=7", "OMPI_X=1", "PMI_X=2"}));
}

TEST_CASE("what is asked for wins over everything, the last of one name most of all") {
  EnvironmentSource from = source();
  from.inherited = {"PATH=/inherited", "A=inherited"};
  from.forward = {"A"};
  from.asked = {{"PATH", "/asked"}, {"HOME", "/h"},
                {"TMPDIR", "/t"},   {"GPL_JOB_ID", "0"},
                {"A", "1"},         {"CUDA_VISIBLE_DEVICES", "3"},
                {"A", "2"},         {"HIP_VISIBLE_DEVICES", "1"}};
  CHECK(job_environment(from) ==
        base_with({"PATH=/asked", "HOME=/h", "TMPDIR=/t", "GPL_JOB_ID=0", "A=2",
                   "CUDA_VISIBLE_DEVICES=3", "HIP_VISIBLE_DEVICES=1"}));
}

TEST_CASE("a job without GPUs sees none, also when the caller's choice is forwarded") {
  EnvironmentSource from = source();
  from.inherited = {"CUDA_VISIBLE_DEVICES=0,1", "ROCR_VISIBLE_DEVICES=0", "HIP_VISIBLE_DEVICES=0"};
  from.forward = {"*_VISIBLE_DEVICES"};
  CHECK(job_environment(from) == base());
}

TEST_CASE("a job sees the devices that it got") {
  EnvironmentSource from = source();
  from.inherited = {"CUDA_VISIBLE_DEVICES=7", "HIP_VISIBLE_DEVICES=7", "ZE_AFFINITY_MASK=7"};
  from.forward = {"*"};
  from.devices.set = {{"GPL_GPUS", "cuda:1"}, {"CUDA_VISIBLE_DEVICES", "1"}};
  from.devices.unset = {"ZE_AFFINITY_MASK", "HIP_VISIBLE_DEVICES"};
  std::vector<std::string> expected = base_with({"GPL_GPUS=cuda:1", "CUDA_VISIBLE_DEVICES=1"});
  std::erase(expected, "ROCR_VISIBLE_DEVICES=");
  CHECK(job_environment(from) == expected);
}

TEST_CASE("OMP_NUM_THREADS is the number of CPUs when it was given, and can be asked otherwise") {
  EnvironmentSource from = source();
  from.inherited = {"OMP_NUM_THREADS=64"};
  from.forward = {"*"};
  from.cpus = 4;
  CHECK(job_environment(from) == base_with({"OMP_NUM_THREADS=4"}));
  from.asked = {{"OMP_NUM_THREADS", "2"}};
  CHECK(job_environment(from) == base_with({"OMP_NUM_THREADS=2"}));
}

TEST_CASE("a chosen Python environment is first on PATH, in place of the caller's own") {
  EnvironmentSource from = source();
  from.inherited = {"PATH=/venv/bin:/bin", "VIRTUAL_ENV=/venv"};
  from.python = {"/env/bin", "VIRTUAL_ENV", "/env"};
  CHECK(job_environment(from) == base_with({"PATH=/env/bin:/venv/bin:/bin", "VIRTUAL_ENV=/env"}));
  from.python = {"/conda/bin", "CONDA_PREFIX", "/conda"};
  CHECK(job_environment(from) ==
        base_with({"PATH=/conda/bin:/venv/bin:/bin", "CONDA_PREFIX=/conda"}));
  from.python = {"/usr/bin", "", ""};
  CHECK(job_environment(from) == base_with({"PATH=/usr/bin:/venv/bin:/bin"}));
}

TEST_CASE("of two inherited variables of one name the first counts, as it does for getenv") {
  EnvironmentSource from = source();
  from.inherited = {"LANG=first", "LANG=second"};
  CHECK(job_environment(from) == base_with({"LANG=first"}));
}

TEST_CASE("entries without a name or an equals sign are left out") {
  EnvironmentSource from = source();
  from.inherited = {"", "=x", "PATH", "NOVALUE"};
  from.forward = {"*"};
  CHECK(job_environment(from) == base());
}
