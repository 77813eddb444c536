"""A peer on one machine: jobs are queued, run, followed, and outlive the daemon."""
import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest
from conftest import Peer, eventually, lines
from processes import alive, everybody


def submit(peer, *words, **options):
    result = peer.place("submit", *words, **options)
    assert result.returncode == 0, result.stderr.decode()
    return int(result.stdout)


def status(peer, *words):
    result = peer.place("status", "--json", *words)
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)


def processes_with(word):
    return [process for process in everybody() if word in process.command and process.state not in "ZX"]


def test_a_run_goes_through_the_peer_when_there_is_one(peer):
    result = peer.place("run", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert (result.returncode, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    ended = status(peer, "last")["jobs"][0]
    assert ended["state"] == "ended"


def test_a_submitted_job_runs_and_can_be_waited_for_and_read(peer):
    job = submit(peer, "--", "sh", "-c", "echo hello; exit 5")
    assert peer.place("wait", str(job)).returncode == 5
    result = peer.place("logs", str(job))
    assert result.stdout == b"hello\n"


def test_the_tree_is_what_it_was_at_the_submit(peer):
    (peer.place.work / "a.txt").write_text("before")
    blocker = submit(peer, "--cpus", str(os.cpu_count()), "--", "sleep", "1")
    job = submit(peer, "--cpus", str(os.cpu_count()), "--", "cat", "a.txt")
    (peer.place.work / "a.txt").write_text("after")
    assert peer.place("wait", str(blocker), str(job)).returncode == 0
    assert peer.place("logs", str(job)).stdout == b"before"


def test_results_come_back_by_out_and_by_get(peer):
    work = peer.place.work
    result = peer.place("run", "--out", "a/*.txt", "--", "sh", "-c",
                        "mkdir a; echo one > a/1.txt; echo two > b.txt")
    assert result.returncode == 0
    assert (work / "a" / "1.txt").read_text() == "one\n"
    assert not (work / "b.txt").exists()
    assert b"b.txt" in result.stderr and b"gpl get" in result.stderr
    assert peer.place("get", "last").returncode == 0
    assert (work / "b.txt").read_text() == "two\n"


def test_a_job_outlives_its_peer_and_its_client_only_pauses(peer):
    script = "i=1; while [ $i -le 20 ]; do echo line $i; i=$((i+1)); sleep 0.25; done; exit 9"
    run = peer.place.start("run", "--", "sh", "-c", script)
    assert run.stdout.readline() == b"line 1\n"
    time.sleep(1)
    peer.restart()
    out, err = run.communicate(timeout=60)
    assert out == b"".join(b"line %d\n" % i for i in range(2, 21))
    assert run.returncode == 9
    assert all(line.startswith(b"gpl: ") for line in err.splitlines())


def test_every_acknowledged_job_ends_exactly_once_whatever_happens_to_the_peer(peer):
    submits, kills = (int(os.environ.get("GPL_TEST_SUBMITS", 120)), int(os.environ.get("GPL_TEST_KILLS", 12)))
    ledger = peer.place.base / "ledger"
    stop = threading.Event()

    def killer():
        dice = random.Random(4)
        for _ in range(kills):
            if stop.wait(dice.uniform(0.05, 0.35)):
                return
            peer.kill()
            peer.start(wait=False)

    jobs = {}
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        for number in range(submits):
            code = number % 7
            jobs[number] = submit(peer, "--no-stage", "--", "sh", "-c",
                                  f"echo {number} >> {ledger}; echo out {number}; exit {code}", timeout=120)
    finally:
        thread.join()
        stop.set()
    assert len(set(jobs.values())) == submits
    eventually(peer.serves, 20)
    peer.place("wait", "all", timeout=300)
    seen = sorted(int(line) for line in ledger.read_text().split())
    assert seen == list(range(submits))
    for number in range(0, submits, 10):
        assert peer.place("wait", str(jobs[number])).returncode == number % 7
        assert peer.place("logs", str(jobs[number])).stdout == b"out %d\n" % number


def test_a_cancel_reaches_grandchildren(peer):  # N03
    mark = str(random.randrange(10**6, 10**7))
    job = submit(peer, "--", "bash", "-c", f'bash -c "sleep {mark} & sleep {mark}"; wait')
    eventually(lambda: len(processes_with(f"sleep {mark}")) >= 2, 10)
    assert peer.place("cancel", str(job)).returncode == 0
    assert peer.place("wait", str(job)).returncode == 130
    assert not processes_with(f"sleep {mark}")


def test_a_job_that_ignores_term_is_killed_and_that_is_said(peer):  # N04
    job = submit(peer, "--", "bash", "-c", 'trap "" TERM; echo up; while :; do sleep 1; done')
    eventually(lambda: peer.place("logs", str(job)).stdout == b"up\n", 10)
    assert peer.place("cancel", str(job)).returncode == 0
    assert peer.place("wait", str(job), timeout=60).returncode == 130
    assert "signal 9" in peer.place("status", str(job)).stdout.decode()


DAEMONISE = "setsid sh -c 'exec sleep {0}' >/dev/null 2>&1 </dev/null & sleep {0}"


def test_kill_of_the_peer_leaves_the_job_to_its_keeper(peer):  # N05, first run
    mark = str(random.randrange(10**6, 10**7))
    job = submit(peer, "--", "sh", "-c", DAEMONISE.format(mark))
    eventually(lambda: len(processes_with(f"sleep {mark}")) >= 2, 10)
    peer.restart()
    eventually(peer.serves, 20)
    assert len(processes_with(f"sleep {mark}")) >= 2
    assert status(peer, str(job))["jobs"][0]["state"] == "running"
    peer.place("cancel", str(job))
    assert peer.place("wait", str(job)).returncode == 130


def test_kill_of_the_keeper_ends_its_jobs_and_they_are_reported(peer):  # N05, second run
    mark = str(random.randrange(10**6, 10**7))
    run = peer.place.start("run", "--", "sh", "-c", DAEMONISE.format(mark))
    eventually(lambda: len(processes_with(f"sleep {mark}")) >= 2, 10)
    os.kill(peer.keeper(), signal.SIGKILL)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 125
    assert b"keeper" in err
    assert not processes_with(f"sleep {mark}")


def test_a_client_that_is_suspended_misses_nothing(peer):  # N06
    script = "i=0; while [ $i -lt 50 ]; do echo $i; i=$((i+1)); sleep 0.05; done"
    run = peer.place.start("run", "--", "sh", "-c", script)
    assert run.stdout.readline() == b"0\n"
    run.send_signal(signal.SIGSTOP)
    time.sleep(4)
    assert status(peer, "last")["jobs"][0]["outcome"] in (None, {"kind": "exited", "exit_code": 0, "signal": None, "message": None})
    run.send_signal(signal.SIGCONT)
    out, _ = run.communicate(timeout=30)
    assert run.returncode == 0 and out == b"".join(b"%d\n" % i for i in range(1, 50))


def test_a_process_that_is_killed_from_outside_is_told(peer):  # N09
    job = submit(peer, "--", "sh", "-c", "kill -9 $$")
    assert peer.place("wait", str(job)).returncode == 137
    text = peer.place("status", str(job)).stdout.decode()
    assert "killed by signal 9 (SIGKILL)" in text and "memory" not in text.split("killed")[1]


def test_a_reader_that_goes_away_stops_the_job(peer):  # N10
    result = peer.place.bash("gpl run -- seq 1 100000000 | head -1; echo ${PIPESTATUS[0]}", timeout=30)
    assert lines(result.stdout) == ["1", "141"]
    eventually(lambda: not status(peer)["active"], 15)


def test_stdin_is_passed_on_when_asked_for(peer):
    data = bytes(range(256)) * 4096
    result = peer.place("run", "--stdin", "--", "sha256sum", input=data)
    import hashlib
    assert result.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert peer.place("run", "--", "cat", input=b"unread").stdout == b""


def test_signals_go_to_the_job(peer):
    run = peer.place.start("run", "--", "sh", "-c", "trap 'echo got; exit 4' INT; echo up; while :; do sleep 0.1; done")
    assert run.stdout.readline() == b"up\n"
    run.send_signal(signal.SIGINT)
    out, _ = run.communicate(timeout=20)
    assert (run.returncode, out) == (4, b"got\n")


def test_a_hangup_detaches_and_attach_takes_up(peer):
    run = peer.place.start("run", "--", "sh", "-c", "echo a; sleep 3; echo b; exit 6")
    assert run.stdout.readline() == b"a\n"
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=10)
    assert run.returncode == 129
    result = peer.place("attach", "last")
    assert (result.returncode, result.stdout) == (6, b"a\nb\n")


def test_a_retry_runs_it_again(peer):
    mark = peer.place.base / "tried"
    result = peer.place("run", "--no-stage", "--retries", "2", "--", "sh", "-c",
                        f"echo try >> {mark}; test $(wc -l < {mark}) = 3")
    assert result.returncode == 0
    assert mark.read_text() == "try\n" * 3


def test_exec_enters_a_running_job(peer):
    job = submit(peer, "--env", "COLOUR=blue", "--", "sh", "-c", "echo x > made; sleep 60")
    eventually(lambda: status(peer, str(job))["jobs"][0]["state"] == "running", 10)
    result = peer.place("exec", str(job), "--", "sh", "-c", "cat made; echo $COLOUR $GPL_JOB_ID; exit 7")
    assert (result.returncode, result.stdout) == (7, b"x\nblue %d\n" % job)
    peer.place("cancel", str(job))


def test_a_secret_reaches_the_job_and_nothing_else(peer):
    secret = "hush-%d" % random.randrange(10**12)
    result = peer.place("run", "--secret", "TOKEN", "--", "sh", "-c", "test -n \"$TOKEN\" && echo ${#TOKEN}",
                        env={"TOKEN": secret})
    assert result.stdout == b"%d\n" % len(secret)
    shown = peer.place("status", "--json", "last").stdout.decode() + peer.place("status", "last").stdout.decode()
    assert secret not in shown
    found = subprocess.run(["grep", "-rl", secret, str(peer.state())], capture_output=True, check=False)
    assert found.stdout == b""


def test_what_no_peer_can_run_is_refused_with_the_reason(peer):
    result = peer.place("submit", "--cpus", "10000", "--", "true")
    assert result.returncode == 125
    assert b"cpus" in result.stderr
    waiting = submit(peer, "--cpus", "10000", "--allow-pending", "--", "true")
    assert "cpus" in peer.place("explain", str(waiting)).stdout.decode()
    assert peer.place("cancel", str(waiting)).returncode == 0


def test_jobs_wait_for_their_turn_and_status_says_so(peer):
    every = str(os.cpu_count())
    first = submit(peer, "--cpus", every, "--", "sleep", "30")
    second = submit(peer, "--cpus", every, "--name", "later", "--", "true")
    urgent = submit(peer, "--cpus", every, "--priority", "5", "--", "true")
    eventually(lambda: status(peer, str(first))["jobs"][0]["state"] == "running", 10)
    assert status(peer, str(urgent))["jobs"][0]["position"] == 1
    assert status(peer, str(second))["jobs"][0]["position"] == 2
    assert f"job {first}" in peer.place("explain", str(second)).stdout.decode()
    peer.place("cancel", str(first))
    assert peer.place("wait", str(second), str(urgent)).returncode == 0


def test_a_stop_leaves_jobs_to_the_keeper(peer):
    mark = peer.place.base / "done"
    job = submit(peer, "--no-stage", "--", "sh", "-c", f"sleep 1; echo done > {mark}; exit 3")
    eventually(lambda: status(peer, str(job))["jobs"][0]["state"] == "running", 10)
    assert peer.stop() == 0
    eventually(mark.exists, 10)
    peer.start()
    assert peer.place("wait", str(job)).returncode == 3


def test_drain_lets_jobs_end_first(peer):
    job = submit(peer, "--", "sleep", "1")
    eventually(lambda: status(peer, str(job))["jobs"][0]["state"] == "running", 10)
    assert peer.place("peers", "drain").returncode == 0
    assert status(peer, str(job))["jobs"][0]["state"] == "ended"
    late = submit(peer, "--", "true")
    time.sleep(0.3)
    assert status(peer, str(late))["jobs"][0]["state"] == "queued"
    assert peer.place("peers", "resume").returncode == 0
    assert peer.place("wait", str(late)).returncode == 0


def test_leave_makes_the_machine_its_own_again(peer):
    job = submit(peer, "--", "sleep", "60")
    refused = peer.place("leave")
    assert refused.returncode != 0 and f"job {job}".encode() in refused.stderr
    assert peer.place("leave", "--end-jobs").returncode == 0
    peer.process.wait(timeout=20)
    assert not (peer.state() / "peer").exists()
    assert peer.place("run", "--", "echo", "embedded").stdout == b"embedded\n"


def test_a_peer_that_should_answer_and_does_not_is_no_local_run(run):
    peer = Peer(run)
    peer.start()
    peer.end()
    result = run("run", "--", "true", timeout=60)
    assert result.returncode == 125
    assert b"gpl worker" in result.stderr and b"--local" in result.stderr
    assert run("run", "--local", "--", "echo", "here").stdout == b"here\n"


def test_detach_returns_once_it_serves(run):
    peer = Peer(run)
    try:
        started = run("worker", "--detach")
        assert started.returncode == 0, started.stderr
        assert b"cluster" in started.stderr
        assert run("run", "--", "echo", "hi").stdout == b"hi\n"
        again = run("worker", "--detach")
        assert again.returncode == 1 and b"already runs" in again.stderr
    finally:
        run("leave", "--end-jobs")
        peer.end()


def test_a_run_that_made_nothing_is_gone_from_the_listing_of_files(peer):
    assert peer.place("run", "--", "true").returncode == 0
    text = peer.place("status", "last").stdout.decode()
    assert "kept" not in text


def test_doctor_finds_a_sound_set_up(peer):
    result = peer.place("doctor")
    assert result.returncode == 0, result.stdout
    assert b"keeper" in result.stdout
    alive()
