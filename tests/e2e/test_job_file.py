"""gpl run JOB.toml: gpl-job(5)."""
import json

import pytest
from conftest import lines


def write(run, text, name="job.toml"):
    (run.work / name).write_text(text)


def test_a_command_of_a_job_file_runs(run):
    write(run, 'command = ["sh", "-c", "echo $0 $1; exit 4", "a b", "c"]\n')
    done = run("run", "job.toml")
    assert (done.returncode, done.stdout, done.stderr) == (4, b"a b c\n", b"")


def test_every_key_counts(run):
    (run.work / "data").mkdir()
    (run.work / "data" / "x").write_text("ignored\n")
    (run.work / ".gplignore").write_text("data\n")
    write(run, '''
command = ["sh", "-c", "cat data/x; cat; echo $A $B $C; echo r >result"]
name = "a name"
env = ["A=1", "B"]
stage = ["data"]
out = ["result"]
stdin = true
time_limit = "10m"
''')
    done = run("run", "--json", "job.toml", input=b"from stdin\n", env={"B": "2", "C": "3"})
    report = json.loads(done.stdout)
    assert lines(done.stderr) == ["ignored", "from stdin", "1 2"]
    assert report["name"] == "a name" and report["exit_status"] == 0
    assert (run.work / "result").read_text() == "r\n"


def test_env_may_be_a_table(run):
    write(run, 'command = ["sh", "-c", "echo $A-$B"]\nenv = { A = "x y", B = "" }\n')
    assert run("run", "job.toml").stdout == b"x y-\n"


def test_a_time_limit_of_a_job_file_ends_the_job(run):
    write(run, 'command = ["sleep", "60"]\ntime_limit = "1s"\n')
    assert run("run", "--quiet", "job.toml").returncode == 124


def test_no_stage_of_a_job_file(run):
    write(run, 'command = ["pwd"]\nno_stage = true\n')
    assert lines(run("run", "job.toml").stdout) == [str(run.work)]


def test_options_count_for_more_than_the_file_before_and_after_it(run):
    write(run, 'command = ["sh", "-c", "echo $A; sleep 3"]\nenv = ["A=file"]\ntime_limit = "1h"\n'
          'name = "file"\n')
    done = run("run", "--env", "A=line", "job.toml", "--time-limit", "1s", "--quiet")
    assert (done.returncode, done.stdout) == (124, b"line\n")


def test_a_job_file_elsewhere_runs_in_the_current_folder(run):
    (run.base / "elsewhere").mkdir()
    (run.base / "elsewhere" / "job.toml").write_text('command = ["ls"]\n')
    (run.work / "here").touch()
    assert run("run", "../elsewhere/job.toml").stdout == b"here\n"


@pytest.mark.parametrize("text, line, words", [
    ('command = ["true"]\n\ntime_limt = "1s"\n', 3, ["time_limt", "time_limit"]),
    ('comand = ["true"]\n', 1, ["comand", "command"]),
    ('command = ["true"]\nstaeg = []\n', 2, ["staeg", "stage"]),
    ('command = "true"\n', 1, ["command", "list"]),
    ('command = ["true"]\nout = "x"\n', 2, ["out"]),
    ('command = ["true"]\nstdin = "yes"\n', 2, ["stdin"]),
    ('command = ["true"]\ntime_limit = "soon"\n', 2, ["time_limit", "soon"]),
    ('command = ["true"]\ntime_limit = 5\n', 2, ["time_limit"]),
    ('command = ["true"]\nenv = { A = 1 }\n', 2, ["A"]),
    ('command = ["true"\n', None, ["TOML"]),
    ('command = ["true"]\ncommand = ["false"]\n', 2, ["command"]),
])
def test_what_is_wrong_is_told_with_the_line_and_the_nearest_key(run, text, line, words):
    write(run, text)
    done = run("run", "job.toml")
    assert done.returncode == 2
    said = done.stderr.decode()
    assert said.startswith("gpl: ") and "job.toml:" in said
    if line:
        assert f"job.toml:{line}" in said
    for word in words:
        assert word in said


@pytest.mark.parametrize("key", ['array = "0-9"', "nodes = 2", 'launcher = "mpirun"'])
def test_keys_of_a_later_version_are_refused_with_a_word(run, key):
    write(run, f'command = ["true"]\n{key}\n')
    done = run("run", "job.toml")
    assert done.returncode == 125
    assert b"job.toml:2" in done.stderr and b"later version" in done.stderr


@pytest.mark.parametrize("text", ["", "name = \"x\"\n", "command = []\n", "command = [\"\"]\n"])
def test_a_file_without_a_command_is_a_usage_error(run, text):
    write(run, text)
    done = run("run", "job.toml")
    assert done.returncode == 2 and b"command" in done.stderr


def test_a_file_that_is_not_there_is_told(run):
    done = run("run", "absent.toml")
    assert done.returncode in (2, 125) and b"absent.toml" in done.stderr


def test_a_file_and_a_command_exclude_each_other(run):
    write(run, 'command = ["true"]\n')
    assert run("run", "job.toml", "--", "true").returncode == 2


def test_a_file_that_is_a_folder_or_endless_is_told(run):
    (run.work / "dir.toml").mkdir()
    (run.work / "zero.toml").symlink_to("/dev/zero")
    for name in ("dir.toml", "zero.toml"):
        done = run("run", name, timeout=10)
        assert done.returncode in (2, 125) and name.encode() in done.stderr
