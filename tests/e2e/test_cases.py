"""The rows of tests/cases, each as one test: commands, staged folders, versions."""
import base64
import contextlib
import csv
import hashlib
import json
import os
import signal
import subprocess

import pytest
from conftest import CASES, as_nobody
from processes import alive


def rows(name):
    with open(CASES / name, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def case_id(case):
    return case["id"] + "-" + case["title"].replace(" ", "_")[:40]


def expanded(value):
    """{"repeat": [TEXT, N]} and {"seq": [PREFIX, N]} stand for long texts."""
    if isinstance(value, dict) and "repeat" in value:
        text, times = value["repeat"]
        return text * times
    if isinstance(value, dict):
        prefix, times = value["seq"]
        return "".join(f"{prefix}{i}\n" for i in range(times))
    return value


def expanded_argv(words):
    argv = []
    for word in words:
        is_sequence = isinstance(word, dict) and "seq" in word
        argv += expanded(word).split() if is_sequence else [expanded(word)]
    return argv


def check_stream(name, data, oracle, varies=False):
    if not varies:
        assert len(data) == oracle[name + "_len"], f"{name} ends {data[-200:]!r}"
        assert hashlib.sha256(data).hexdigest() == oracle[name + "_sha256"], name


def check_exec(case, argv, done):
    how, oracle = case["check"], case["oracle"]
    if how.startswith("exit "):
        assert done.returncode == int(how.split()[1])
        assert os.path.basename(argv[0]).encode() in done.stderr
    elif how == "nonblocking":
        assert done.stdout == base64.b64decode(oracle["stdout_b64"])
    elif how == "fds":
        assert {int(number) for number in done.stdout.split()} <= {0, 1, 2, 3}
    else:
        assert how == "exact", f"no such check: {how}"
        code = oracle["returncode"]
        assert done.returncode == (code if code >= 0 else 128 - code), done.stderr[-200:]
        check_stream("stdout", done.stdout, oracle)
        check_stream("stderr", done.stderr, oracle, oracle.get("stderr_varies"))


@pytest.mark.parametrize("case", rows("exec/exec_dev.jsonl"), ids=case_id)
def test_a_command_gives_the_bytes_and_the_code_that_it_gives_alone(run, case):
    subprocess.run(["bash", "-c", case["setup"] or ":"], cwd=run.work, check=True)
    argv = expanded_argv(case["argv"])
    options = [word for name, value in (case["env"] or {}).items()
               for word in ("--env", f"{name}={value}")]
    given = {}
    if case["stdin"] is not None:
        options.append("--stdin")
        given["input"] = expanded(case["stdin"]).encode("utf-8", "surrogateescape")
    for _ in range(case.get("repeat", 1)):
        done = run("run", *options, "--", *argv, timeout=case["timeout"], **given)
        check_exec(case, argv, done)


# What is said beside the check: what is left out, or leads nowhere, is named once. None: it may be.
SAID = {"S02": ["a is a link", "b is a link"], "S03": ["x.sock"], "S04": ["not staged: p "],
        "S08": ["gone"], "S09": ["../outside/s"], "S11": None}


def check_words(stderr, said):
    if said is None:
        return
    assert len(stderr.splitlines()) == len(said), stderr
    for words in said:
        assert stderr.count(words.encode()) == 1, stderr


@pytest.mark.parametrize("way", ["by rules", "whole"])
@pytest.mark.parametrize("case", rows("stage/stage_dev.jsonl"), ids=case_id)
def test_a_folder_arrives_as_it_is(run, case, way):
    user = []
    if case.get("user"):
        user = as_nobody()
        run.give_to_nobody()
    options = ["--stage", "."] if way == "whole" else []

    def stage(check):
        return run.command(*user, run.gpl, "run", *options, "--", "bash", "-c", check)

    def prepare(script):
        # Without pipes, which what goes on in the background would hold.
        run.command(*user, "bash", "-c", script, stdout=subprocess.DEVNULL, stderr=None)

    before = {process.pid for process in alive()}
    prepare(case["setup"])
    writers = [process for process in alive() if process.pid not in before]
    if case.get("again"):
        stage("true")
        prepare(case["again"])
    done = stage(case["check"])
    for process in writers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    assert done.stdout.strip() == b"ok", done
    check_words(done.stderr, SAID.get(case["id"], []))


def table():
    with open(CASES / "versions" / "pep440.tsv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def answers(gpl):
    asked = "".join(f"{row['version']}\t{row['specifier']}\n" for row in table())
    done = subprocess.run([gpl, "match", "--stdin"], input=asked.encode(), capture_output=True,
                          timeout=60, check=True)
    assert done.stderr == b""
    given = done.stdout.decode().splitlines()
    assert len(given) == len(table())
    return {row["id"]: answer for row, answer in zip(table(), given)}


@pytest.mark.parametrize("row", table(), ids=lambda row: row["id"])
def test_a_version_matches_a_specifier_as_pep_440_says(answers, row):
    assert answers[row["id"]] == row["expected"]


@pytest.mark.parametrize("answer, code", [("true", 0), ("false", 1), ("invalid-version", 2),
                                          ("invalid-specifier", 2)])
def test_match_of_one_answers_by_its_exit_code_too(run, answer, code):
    row = next(row for row in table() if row["expected"] == answer and "\\" not in row["version"])
    done = run("match", row["specifier"], "--version", row["version"])
    assert done.returncode == code
    if code < 2:
        assert done.stdout.decode() == answer + "\n"
    else:
        assert done.stdout == b"" and done.stderr.startswith(b"gpl: match")
