"""What signals to `gpl run` do, and what time limits do."""
import os
import signal
import subprocess
import time

import pytest
from conftest import eventually, lines
from processes import alive

STUBBORN = "trap '' INT TERM HUP; echo ready; while :; do sleep 0.05; done"


def start_ready(run, script, *options, **more):
    """A job of bash that has said `ready`."""
    job = run.start("run", *options, "--", "bash", "-c", script, **more)
    assert job.stdout.readline() == b"ready\n"
    return job


def finish(job):
    # Not communicate(), which knows nothing of what readline() has buffered.
    out, err = job.stdout.read(), job.stderr.read()
    return job.wait(10), out, err


@pytest.mark.parametrize("name", ["INT", "TERM", "USR1", "USR2", "QUIT"])
def test_a_signal_is_passed_on_and_the_handlers_own_code_comes_back(run, name):
    job = start_ready(run, f"trap 'echo got {name}; exit 7' {name}; echo ready;"
                           "while :; do sleep 0.02; done")
    job.send_signal(getattr(signal, "SIG" + name))
    assert finish(job)[:2] == (7, f"got {name}\n".encode())


@pytest.mark.parametrize("name, code", [("INT", 130), ("TERM", 143), ("QUIT", 131), ("USR1", 138)])
def test_a_job_that_does_not_handle_a_signal_ends_by_it(run, name, code):
    # No shell: they ignore or put off some of these until they have started their command.
    script = "import resource, signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL)\n" \
             "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" \
             "print('ready', flush=True); time.sleep(60)"
    job = run.start("run", "--", "/usr/bin/python3", "-c", script)
    assert job.stdout.readline() == b"ready\n"
    job.send_signal(getattr(signal, "SIG" + name))
    assert finish(job) == (code, b"", b"")


def test_a_signal_goes_to_the_whole_group_of_the_job(run):
    job = start_ready(run, "sh -c 'trap \"echo child; exit\" TERM; echo ready; sleep 60 & wait' &"
                           "trap 'wait; exit 3' TERM; wait")
    job.terminate()
    code, out, _ = finish(job)
    assert (code, out) == (3, b"child\n")


def test_a_job_may_live_through_an_interrupt(run):
    job = start_ready(run, "trap 'echo caught' INT; echo ready; sleep 0.5; echo end; exit 2")
    job.send_signal(signal.SIGINT)
    code, out, _ = finish(job)
    assert (code, out) == (2, b"caught\nend\n")


def test_a_second_interrupt_kills_and_leaves_with_130(run):
    job = start_ready(run, STUBBORN)
    job.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert job.poll() is None
    job.send_signal(signal.SIGINT)
    began = time.monotonic()
    assert finish(job)[0] == 130
    assert time.monotonic() - began < 2


def test_term_may_come_twice_without_harm(run):
    job = start_ready(run, "trap 'echo caught' TERM; echo ready; sleep 0.7 & wait; wait; exit 2")
    job.terminate()
    assert job.stdout.readline() == b"caught\n"
    job.terminate()
    assert finish(job)[0] == 2


def test_a_hangup_ends_the_job_with_129(run):
    job = start_ready(run, "trap 'echo saved; exit 0' TERM HUP; echo ready;"
                           "while :; do sleep 0.02; done")
    job.send_signal(signal.SIGHUP)
    assert finish(job)[:2] == (129, b"saved\n")


def test_timeout_gives_124_and_leaves_nothing(run):
    began = time.monotonic()
    done = run.bash("timeout 2 gpl run -- sleep 60; echo $?")
    assert done.stdout == b"124\n" and time.monotonic() - began < 4
    assert alive() == []


def test_timeout_around_several_processes_leaves_nothing(run):
    done = run.bash("timeout 0.5 gpl run -- sh -c 'sleep 61 & setsid sleep 62 & sleep 63'; echo $?")
    assert done.stdout == b"124\n"
    assert alive() == []


def test_an_ignored_interrupt_stays_ignored_as_for_any_background_command(run):
    done = run.bash("gpl run -- sh -c 'echo $$ >{0}/pid; sleep 0.6; echo whole; exit 3' &"
                    "pid=$!; until [ -s {0}/pid ]; do sleep 0.02; done; kill -INT $pid;"
                    "wait $pid; echo $?".format(run.base))
    assert lines(done.stdout) == ["whole", "3"]


def test_nohup_keeps_a_hangup_away(run):
    done = run.bash("nohup gpl run -- sh -c 'echo x >{0}/on; sleep 0.6; echo whole' >{0}/log 2>&1 &"
                    "pid=$!; until [ -s {0}/on ]; do sleep 0.02; done; kill -HUP $pid;"
                    "wait $pid; echo $?".format(run.base))
    assert done.stdout == b"0\n"
    assert b"whole\n" in (run.base / "log").read_bytes()


def test_two_seconds_of_stop_lose_nothing(run):
    job = run.start("run", "--", "bash", "-c",
                    "for ((i = 0; i < 40; i++)); do printf '%s\\n' {1..200}; sleep 0.02; done")
    first = job.stdout.readline()
    job.send_signal(signal.SIGSTOP)
    time.sleep(2)
    assert job.poll() is None
    job.send_signal(signal.SIGCONT)
    code, out, _ = finish(job)
    assert code == 0 and lines(first + out) == [str(i) for i in range(1, 201)] * 40


def test_a_time_limit_gives_124(run):
    began = time.monotonic()
    done = run("run", "--time-limit", "1s", "--", "sh", "-c", "echo begun; sleep 60")
    assert (done.returncode, done.stdout) == (124, b"begun\n")
    assert b"time limit of 1s" in done.stderr
    assert 0.9 < time.monotonic() - began < 3


def test_a_time_limit_lets_the_job_clean_up_and_is_still_124(run):
    done = run("run", "--time-limit", "1s", "--", "bash", "-c",
               "trap 'echo saved; exit 0' TERM; while :; do sleep 0.02; done")
    assert (done.returncode, done.stdout) == (124, b"saved\n")


def test_a_time_limit_that_is_not_reached_changes_nothing(run):
    done = run("run", "--time-limit", "1h30m", "--", "sh", "-c", "exit 3")
    assert (done.returncode, done.stderr) == (3, b"")


def test_a_job_that_ignores_sigterm_is_killed_10_seconds_after_its_limit(run):
    began = time.monotonic()
    done = run("run", "--time-limit", "00:00:01", "--", "bash", "-c", STUBBORN)
    assert (done.returncode, done.stdout) == (124, b"ready\n")
    assert 10 < time.monotonic() - began < 14


@pytest.fixture
def slow_to_stage(run):
    """A folder whose private copy takes a while."""
    with open(run.work / "large", "wb") as file:
        for _ in range(300):
            file.write(os.urandom(1 << 10) * (1 << 10))
    return run


@pytest.mark.parametrize("name, code", [("TERM", 143), ("INT", 130), ("HUP", 129)])
def test_a_signal_before_staging_is_done_leaves_nothing(slow_to_stage, name, code):
    run = slow_to_stage
    job = run.start("run", "--", "touch", str(run.base / "ran"))
    eventually(lambda: [path for path in run.jobs() if list(path.rglob("large"))], 10, "staging")
    job.send_signal(getattr(signal, "SIG" + name))
    began = time.monotonic()
    assert finish(job) == (code, b"", b"")
    assert time.monotonic() - began < 2
    assert not (run.base / "ran").exists()


def test_the_words_about_a_limit_are_silent_with_quiet(run):
    done = run("run", "--quiet", "--time-limit", "1s", "--", "sleep", "60")
    assert (done.returncode, done.stderr) == (124, b"")


def test_a_signal_to_the_process_group_of_gpl_is_not_delivered_twice(run):
    job = start_ready(run, "trap 'echo caught' USR1; echo ready; sleep 0.4 & wait; wait; exit 5",
                      start_new_session=True)
    os.killpg(job.pid, signal.SIGUSR1)
    assert finish(job)[:2] == (5, b"caught\n")


def test_a_gpl_that_is_killed_in_its_staging_leaves_what_the_next_run_removes(slow_to_stage):
    run = slow_to_stage
    job = run.start("run", "--", "true")
    eventually(lambda: [path for path in run.jobs() if list(path.rglob("large"))], 10, "staging")
    job.kill()
    job.communicate()
    # Nobody can clean up after SIGKILL at once; the folder's age says that it is nobody's.
    for path in run.jobs():
        subprocess.run(["touch", "-d", "2 minutes ago", path], check=True)
    assert run("history").returncode == 0
    assert run.jobs() == []
    assert list(run.tmp.iterdir()) == []
