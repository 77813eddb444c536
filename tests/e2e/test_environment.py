"""The environment of a job: exactly what DESIGN lists."""
import os
import pwd
import socket

import pytest
from conftest import PATH, as_root, lines

ALWAYS = {"PATH", "HOME", "USER", "SHELL", "TMPDIR", "PYTHONUNBUFFERED", "GPL_JOB_ID",
          "GPL_TASK_ID", "GPL_ATTEMPT", "GPL_PEER", "GPL_GPUS", "CUDA_VISIBLE_DEVICES",
          "ROCR_VISIBLE_DEVICES"}


def variables(data):
    entries = [entry.decode() for entry in data.split(b"\0")[:-1]]
    return dict(entry.split("=", 1) for entry in entries)


def environment(run, *options, **more):
    done = run("run", *options, "--", "cat", "/proc/self/environ", **more)
    assert (done.returncode, done.stderr) == (0, b""), done
    return variables(done.stdout)


def bare(run):
    """What gpl needs to find its folders, and nothing else."""
    return {name: run.env[name] for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR")}


def user():
    return pwd.getpwuid(os.geteuid())


def test_of_a_caller_with_an_empty_environment(run):
    settings = [f"{name}={value}" for name, value in bare(run).items()]
    done = run.command("env", "-i", *settings, run.gpl, "run", "--", "cat", "/proc/self/environ")
    got = variables(done.stdout)
    assert set(got) == ALWAYS
    assert got["PATH"] == "/usr/local/bin:/usr/bin:/bin"
    assert (got["HOME"], got["USER"], got["SHELL"]) == (
        user().pw_dir, user().pw_name, user().pw_shell)
    assert got["PYTHONUNBUFFERED"] == "1"
    assert (got["GPL_JOB_ID"], got["GPL_TASK_ID"], got["GPL_ATTEMPT"]) == ("1", "0", "1")
    assert got["GPL_PEER"] == socket.gethostname()
    assert got["GPL_GPUS"] == got["CUDA_VISIBLE_DEVICES"] == got["ROCR_VISIBLE_DEVICES"] == ""


def test_of_a_caller_with_a_rich_environment(run):
    rich = {"SECRET": "s", "PYTHONPATH": "/x", "LD_LIBRARY_PATH": "/x", "EDITOR": "vi", "PWD": "/",
            "SLURM_JOB_ID": "1", "SLURM_ARRAY_TASK_ID": "2", "OMPI_COMM_WORLD_RANK": "3",
            "PMI_RANK": "4", "CUDA_VISIBLE_DEVICES": "0,1", "HIP_VISIBLE_DEVICES": "0",
            "ROCR_VISIBLE_DEVICES": "0", "VIRTUAL_ENV": "/venv", "LC_ALL": "C",
            "OMP_NUM_THREADS": "9", "GPL_JOB_ID": "77", "TERM": "xterm", "SSH_AUTH_SOCK": "/x"}
    got = environment(run, env=rich)
    assert set(got) == ALWAYS | {"LANG", "VIRTUAL_ENV"}
    assert got["PATH"] == f"{run.bin}:{PATH}"
    assert (got["LANG"], got["VIRTUAL_ENV"], got["GPL_JOB_ID"]) == ("C.UTF-8", "/venv", "1")
    assert got["CUDA_VISIBLE_DEVICES"] == got["ROCR_VISIBLE_DEVICES"] == ""


def test_home_user_and_shell_are_those_of_passwd(run):
    got = environment(run, env={"USER": "somebody", "SHELL": "/bin/false", "LOGNAME": "x"})
    assert (got["HOME"], got["USER"], got["SHELL"]) == (
        user().pw_dir, user().pw_name, user().pw_shell)


@as_root
def test_home_user_and_shell_of_a_user_without_an_entry_are_the_callers(run):
    for folder in (run.home, run.config, run.state, run.tmp, run.work):
        os.chown(folder, 54321, 54321)
    strange = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups"]
    done = run.command(*strange, run.gpl, "run", "--", "cat", "/proc/self/environ",
                       env={"USER": "ldapuser", "SHELL": "/bin/dash"})
    got = variables(done.stdout)
    assert (got["HOME"], got["USER"], got["SHELL"]) == (str(run.home), "ldapuser", "/bin/dash")


def test_env_with_a_value(run):
    got = environment(run, "--env", "A=x y", "--env", "B=", "--env", "C=a=b", "--env", "D=l1\nl2")
    assert (got["A"], got["B"], got["C"], got["D"]) == ("x y", "", "a=b", "l1\nl2")


def test_env_without_a_value_takes_the_callers(run):
    got = environment(run, "--env", "MINE", "--env", "ABSENT", "--env", "EMPTY",
                      env={"MINE": "value", "EMPTY": ""})
    assert got["MINE"] == "value" and got["EMPTY"] == "" and "ABSENT" not in got


def test_env_counts_for_more_than_anything(run):
    got = environment(run, "--env", "HOME=/h", "--env", "PYTHONUNBUFFERED=", "--env", "LANG=C",
                      "--env", "SLURM_JOB_ID", "--env", "CUDA_VISIBLE_DEVICES=1",
                      env={"SLURM_JOB_ID": "5"})
    assert got["HOME"] == "/h" and got["PYTHONUNBUFFERED"] == "" and got["LANG"] == "C"
    assert got["SLURM_JOB_ID"] == "5" and got["CUDA_VISIBLE_DEVICES"] == "1"


def test_the_last_env_of_a_name_holds(run):
    assert environment(run, "--env", "A=1", "--env", "A=2")["A"] == "2"


@pytest.mark.parametrize("word", ["=x", "=", ""])
def test_env_without_a_name_is_a_usage_error(run, word):
    done = run("run", "--env", word, "--", "true")
    assert done.returncode == 2 and done.stderr.startswith(b"gpl: ")


def test_forward_env_forwards_by_globs(run):
    run.write_config('forward_env = ["WANDB_*", "HF_?OME", "EXACT"]\n')
    got = environment(run, env={"WANDB_MODE": "offline", "WANDB_": "e", "HF_HOME": "/hf",
                                "HF_XXHOME": "no", "EXACT": "1", "EXACTLY": "no"})
    assert {name for name in got if name not in ALWAYS} == {
        "LANG", "WANDB_MODE", "WANDB_", "HF_HOME", "EXACT"}


def test_forward_env_cannot_bring_what_is_the_jobs_own(run):
    run.write_config('forward_env = ["*"]\n')
    got = environment(run, env={"SLURM_JOB_ID": "5", "PMI_RANK": "1", "OMPI_X": "2", "ANY": "1",
                                "GPL_JOB_ID": "99"})
    assert got["ANY"] == "1" and got["GPL_JOB_ID"] == "1"
    assert not {"SLURM_JOB_ID", "PMI_RANK", "OMPI_X"} & set(got)
    assert got["TMPDIR"] != str(run.tmp) and got["HOME"] == user().pw_dir


def test_the_temporary_folder_is_private_and_removed(run):
    done = run("run", "--", "sh", "-c", 'echo "$TMPDIR"; stat -c %a "$TMPDIR"; ls -A "$TMPDIR";'
               'echo x >"$TMPDIR/file"; mktemp')
    folder, mode, made = lines(done.stdout)
    assert folder.startswith(f"{run.tmp}/") and mode == "700" and made.startswith(folder + "/")
    assert done.stderr == b"" and not os.path.exists(folder)


def test_every_job_has_a_temporary_folder_of_its_own(run):
    first, second = (run("run", "--", "sh", "-c", 'echo "$TMPDIR"').stdout for _ in range(2))
    assert first != second


def test_a_tmpdir_that_is_not_there_is_told_with_the_way_out(run):
    done = run("run", "--", "true", env={"TMPDIR": str(run.base / "absent")})
    assert done.returncode == 125
    assert b"TMPDIR" in done.stderr and b"absent" in done.stderr


def test_a_virtual_environment_of_the_caller_is_first_on_its_path(run):
    (run.base / "venv" / "bin").mkdir(parents=True)
    tool = run.base / "venv" / "bin" / "python"
    tool.write_text("#!/bin/sh\necho venv python\n")
    tool.chmod(0o755)
    done = run("run", "--", "python", env={"VIRTUAL_ENV": str(run.base / "venv"),
                                           "PATH": f"{run.base}/venv/bin:{PATH}"})
    assert done.stdout == b"venv python\n"


def test_the_number_of_a_job_goes_up_and_is_not_used_again(run):
    numbers = [run("run", "--", "sh", "-c", "echo $GPL_JOB_ID").stdout for _ in range(3)]
    assert numbers == [b"1\n", b"2\n", b"3\n"]


def test_nothing_of_the_environment_is_in_a_listing_of_processes(run):
    got = run("run", "--env", "TOKEN", "--", "sh", "-c", "cat /proc/$PPID/cmdline",
              env={"TOKEN": "geheim"})
    assert b"geheim" not in got.stdout
