"""gpl run --json and --quiet."""
import json

import pytest
from conftest import lines


def report(done):
    return json.loads(done.stdout)


@pytest.mark.keeps_files
def test_json_puts_one_object_on_stdout_and_the_jobs_stdout_on_stderr(run):
    (run.work / "old").write_text("x")
    done = run("run", "--json", "--name", "n", "--out", "res", "--", "sh", "-c",
               "echo out; echo err >&2; printf 123 >res; printf 4567 >other; exit 3")
    assert done.returncode == 3
    got = report(done)
    assert got["schema"] == 1 and got["job"] == 1 and got["name"] == "n"
    assert got["command"][:2] == ["sh", "-c"]
    assert got["outcome"] == {"kind": "exited", "exit_code": 3, "signal": None, "message": None}
    assert got["exit_status"] == 3
    assert got["brought_back"] == [{"path": "res", "bytes": 3}]
    assert got["kept"] == [{"path": "other", "bytes": 4}]
    assert 0 < got["started_ms"] <= got["ended_ms"]
    assert got["max_rss_bytes"] > 0 and got["user_us"] >= 0 and got["system_us"] >= 0
    assert {"out", "err"} <= set(lines(done.stderr))


def test_json_tells_a_signal_from_an_exit_code(run):
    killed = report(run("run", "--json", "--", "sh", "-c", "kill -9 $$"))
    assert killed["outcome"]["signal"] == 9 and killed["outcome"]["exit_code"] is None
    assert killed["exit_status"] == 137
    exited = report(run("run", "--json", "--", "sh", "-c", "exit 137"))
    assert exited["outcome"]["signal"] is None and exited["outcome"]["exit_code"] == 137


def test_json_tells_time_limits_and_commands_that_cannot_start(run):
    late = run("run", "--json", "--time-limit", "1s", "--", "sleep", "9")
    assert late.returncode == report(late)["exit_status"] == 124
    absent = run("run", "--json", "--", "no-such-program-gpl")
    assert absent.returncode == 127
    assert "no-such-program-gpl" in report(absent)["outcome"]["message"]


def test_json_of_words_that_are_no_utf_8_is_json(run):
    done = run.bash("gpl run --json -- true $'caf\\xe9'")
    assert report(done)["exit_status"] == 0


def test_quiet_leaves_the_jobs_streams_alone(run):
    done = run("run", "--quiet", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"out\n", b"err\n")
