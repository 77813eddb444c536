"""Files that were made and not asked for: the line about them, gpl get, gpl history."""
import json
import re
import time

import pytest
from conftest import as_nobody, eventually, lines
from processes import alive
from test_results import PYTHON, tree


@pytest.mark.keeps_files
def test_files_that_were_not_asked_for_are_kept_and_named(run):
    done = run("run", "--", "sh", "-c", "echo x >model.pt; mkdir d; echo y >d/log.csv; exit 3")
    assert done.returncode == 3 and done.stdout == b""
    assert len(lines(done.stderr)) == 1
    said = done.stderr.decode()
    assert said.startswith("gpl: 2 new files") and "model.pt" in said and "d/log.csv" in said
    assert "gpl get last" in said and "--out" in said
    assert tree(run.work) == []
    got = run("get", "last")
    assert got.returncode == 0
    assert tree(run.work) == ["d/log.csv", "model.pt"]


@pytest.mark.keeps_files
def test_new_and_changed_are_told_apart(run):
    (run.work / "old").write_text("x\n")
    done = run("run", "--", "sh", "-c", "echo more >>old; echo y >new")
    assert "1 new and 1 changed" in done.stderr.decode()


@pytest.mark.keeps_files
def test_nohup_does_not_lose_a_model_unannounced(run):
    done = run.bash("nohup gpl run -- sh -c 'echo epoch; echo x >model.pt' >log", cwd=run.work)
    # nohup sends stderr where stdout goes when it is a terminal; here it stays what it was.
    both = (run.work / "log").read_bytes() + done.stderr
    assert b"epoch" in both and b"model.pt" in both and b"gpl get last" in both


@pytest.mark.keeps_files
def test_the_line_appears_in_a_log_file_too(run):
    run.bash("nohup gpl run -- sh -c 'echo x >model.pt' >log 2>&1", cwd=run.work)
    assert b"model.pt" in (run.work / "log").read_bytes()


@pytest.mark.keeps_files
def test_quiet_keeps_without_a_word(run):
    done = run("run", "--quiet", "--", "sh", "-c", "echo x >model.pt")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert run("get", "last", "--quiet").stderr == b""
    assert tree(run.work) == ["model.pt"]


def test_a_run_that_made_nothing_leaves_nothing(run):
    (run.work / "data").write_text("x\n")
    done = run("run", "--", "sh", "-c", "cat data; mkdir empty; echo t >$TMPDIR/t; exit 5")
    assert (done.returncode, done.stderr) == (5, b"")
    assert run.jobs() == []
    assert run("history").stdout == b""
    got = run("get", "last")
    assert got.returncode == 1 and got.stderr.startswith(b"gpl: ")


def test_reading_and_touching_the_times_of_staged_files_makes_no_result(run):
    (run.work / "data").write_text("x\n")
    (run.work / "tool").write_text("#!/bin/sh\n")
    (run.work / "tool").chmod(0o755)
    done = run("run", "--", "sh", "-c", "cat data >/dev/null; ./tool")
    assert done.stderr == b""


@pytest.mark.keeps_files
def test_a_change_of_the_same_size_with_the_old_time_is_found(run):
    (run.work / "data").write_text("aaaa\n")
    done = run("run", "--", "sh", "-c",
               "touch -r data ref; printf 'bbbb\\n' >data; touch -r ref data; rm ref")
    assert b"data" in done.stderr
    assert run("get", "last", "--force").returncode == 0
    assert (run.work / "data").read_text() == "bbbb\n"


def test_a_change_through_a_memory_map_is_found(run):
    (run.work / "data").write_bytes(b"a" * 8192)
    script = "import mmap\nf = open('data', 'r+b')\nm = mmap.mmap(f.fileno(), 0)\n" \
             "m[5000:5001] = b'b'\nm.close()"
    done = run("run", "--out", "data", "--", PYTHON, "-c", script)
    assert done.stderr == b"" and (run.work / "data").read_bytes().count(b"b") == 1


def test_pycache_is_no_result(run):
    (run.work / "module.py").write_text("x = 1\n")
    done = run("run", "--", PYTHON, "-c", "import module; print(module.x)")
    assert (done.stdout, done.stderr) == (b"1\n", b"")
    (run.work / "pkg").mkdir()
    (run.work / "pkg" / "__init__.py").write_text("")
    assert run("run", "--", PYTHON, "-c", "import pkg").stderr == b""


@pytest.mark.keeps_files
def test_a_file_beside_a_read_only_folder_is_kept_for_an_ordinary_user(run):
    run.give_to_nobody()
    done = run.command(*as_nobody(), run.gpl, "run", "--", "sh", "-c",
                       "mkdir ro; echo x >ro/file; chmod 555 ro")
    assert b"ro/file" in done.stderr
    got = run.command(*as_nobody(), run.gpl, "get", "last")
    assert got.returncode == 0 and (run.work / "ro" / "file").read_text() == "x\n"


@pytest.mark.keeps_files
def test_kept_files_of_a_killed_gpl_are_found(run):
    job = run.start("run", "--", "sh", "-c", "echo weights >model.pt; echo ready; sleep 60")
    assert job.stdout.readline() == b"ready\n"
    job.kill()
    job.communicate()
    eventually(lambda: not alive(), 5, "the end of the job")
    listed = run("history", "--json")
    assert json.loads(listed.stdout)["jobs"][0]["outcome"] == "lost"
    assert run("get", "last").returncode == 0
    assert (run.work / "model.pt").read_text() == "weights\n"


@pytest.mark.keeps_files
def test_get_takes_jobs_patterns_and_a_folder(run):
    for name in ("one", "two", "three"):
        run("run", "--quiet", "--", "sh", "-c", f"mkdir d; echo {name} >d/{name}; echo l >log")
    assert run("get", "2", "d/*", "--into", "second").returncode == 0
    assert tree(run.work / "second") == ["d/two"]
    assert run("get", "1,3", "log", "--into", "both").returncode == 0
    assert tree(run.work / "both") == ["1/log", "3/log"]
    assert run("get", "1-2", "--into", "range", "d").returncode == 0
    assert tree(run.work / "range") == ["1/d/one", "2/d/two"]
    assert run("get", "all", "--into", "everything").returncode == 0
    assert len(tree(run.work / "everything")) == 6
    assert run("get", "last", "--into", "newest").returncode == 0
    assert tree(run.work / "newest") == ["d/three", "log"]


@pytest.mark.keeps_files
def test_get_does_not_replace_what_was_changed_here_since(run):
    (run.work / "data").write_text("staged\n")
    run("run", "--quiet", "--", "sh", "-c", "echo job >data")
    time.sleep(0.02)
    (run.work / "data").write_text("mine\n")
    done = run("get", "last")
    assert done.returncode == 1 and b"--force" in done.stderr
    assert (run.work / "data").read_text() == "mine\n"
    assert run("get", "last", "--force").returncode == 0
    assert (run.work / "data").read_text() == "job\n"


@pytest.mark.keeps_files
def test_get_may_be_repeated(run):
    run("run", "--quiet", "--", "sh", "-c", "echo x >file")
    assert [run("get", "last").returncode for _ in range(3)] == [0, 0, 0]


@pytest.mark.keeps_files
def test_get_says_no_when_nothing_matches(run):
    run("run", "--quiet", "--", "sh", "-c", "echo x >file")
    done = run("get", "last", "*.png")
    assert done.returncode == 1 and done.stderr.startswith(b"gpl: get: ")
    assert run("get", "17").returncode == 1
    assert run("get").returncode == 2
    assert run("get", "x1").returncode == 2
    assert run("get", "last", "--forse").returncode == 2


@pytest.mark.keeps_files
def test_get_never_writes_through_a_link_that_leads_out(run):
    run("run", "--quiet", "--", "sh", "-c", "mkdir out; echo x >out/file")
    (run.base / "elsewhere").mkdir()
    (run.work / "out").symlink_to(run.base / "elsewhere")
    assert run("get", "last").returncode == 1
    assert list((run.base / "elsewhere").iterdir()) == []


@pytest.mark.keeps_files
def test_get_as_json(run):
    run("run", "--quiet", "--", "sh", "-c", "printf 12345 >file; ln -s file link")
    answer = json.loads(run("get", "last", "--json").stdout)
    assert answer["schema"] == 1
    assert answer["jobs"][0]["job"] == 1
    assert answer["jobs"][0]["files"] == [{"path": "file", "bytes": 5},
                                          {"path": "link", "bytes": None}]


@pytest.mark.keeps_files
def test_history_lists_the_runs_with_files(run):
    run("run", "--quiet", "--", "true")
    run("run", "--quiet", "--name", "my run", "--", "sh", "-c", "echo x >file; exit 3")
    table = lines(run("history").stdout)
    assert len(table) == 2
    assert table[0].split()[0] == "JOB"
    assert table[1].split()[0] == "2" and "my run" in table[1] and "3" in table[1]
    assert re.search(r"\d{4}-\d\d-\d\d", table[1])
    assert run("history", "--quiet").stdout == b"2\n"
    answer = json.loads(run("history", "--json").stdout)
    assert answer["schema"] == 1
    (job,) = answer["jobs"]
    assert (job["job"], job["name"]) == (2, "my run")
    assert job["command"] == ["sh", "-c", "echo x >file; exit 3"]
    assert job["source_folder"] == str(run.work) and job["outcome"] == "exited 3"
    assert job["files"] == [{"path": "file", "bytes": 2}]
    assert 0 < job["started_ms"] <= job["ended_ms"]


def test_history_of_nothing_is_empty(run):
    done = run("history")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert json.loads(run("history", "--json").stdout) == {"schema": 1, "jobs": []}
