"""Nothing of a job outlives it: daemons, respawners, and whoever of gpl is killed."""
import os
import signal
import subprocess
import time

import pytest
from conftest import eventually, lines
from processes import alive, guard_of

PYTHON = "/usr/bin/python3"

# A daemon (two forks and setsid) that is never the same process for long: each one leaves a copy of
# itself in a new session and ends. A beat in a file says that it lives.
RESPAWNER = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(number, signal.SIG_IGN)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.chdir("/")
null = os.open("/dev/null", os.O_RDWR)
for fd in (0, 1, 2): os.dup2(null, fd)
while True:
    with open(sys.argv[1], "a") as beat: beat.write(".")
    time.sleep(0.01)
    if os.fork(): os._exit(0)
    os.setsid()
"""

# Two that watch each other, and each starts the other again when it is gone.
PAIR = """
import os, signal, sys, time
def beat():
    with open(sys.argv[1], "a") as file: file.write(".")
def watch(other):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        beat()
        time.sleep(0.005)
        try: os.waitpid(other, os.WNOHANG)
        except ChildProcessError: pass  # the other one is the parent
        try: os.kill(other, 0)
        except ProcessLookupError:
            me = os.getpid()
            other = os.fork()
            if other == 0: os.setsid(); other = me
if os.fork(): os._exit(0)
os.setsid()
me = os.getpid()
child = os.fork()
watch(me if child == 0 else child)
"""

DAEMONS = {"respawner": RESPAWNER, "pair": PAIR}


class Beat:
    def __init__(self, path):
        self.path = path

    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0

    def goes_on(self):
        before = self.size()
        time.sleep(0.25)
        return self.size() > before


@pytest.fixture
def beat(run):
    return Beat(run.base / "beat")


def job_with(daemon, beat, then="echo ready; sleep 60"):
    return ["bash", "-c", f'{PYTHON} -c "$1" "$2"; {then}', "bash", DAEMONS[daemon],
            str(beat.path)]


def start(run, daemon, beat, **options):
    job = run.start("run", "--", *job_with(daemon, beat), **options)
    assert job.stdout.readline() == b"ready\n"
    eventually(beat.goes_on, 5, "the daemon's beat")
    return job


def assert_all_gone(run, beat, seconds=5):
    eventually(lambda: not alive(), seconds, "the end of every process")
    assert not beat.goes_on()


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_daemon_ends_with_the_command_that_started_it(run, beat, daemon):
    began = time.monotonic()
    done = run("run", "--", *job_with(daemon, beat, "sleep 0.2; exit 6"))
    assert done.returncode == 6
    assert time.monotonic() - began < 4
    assert alive() == []
    assert beat.size() > 0 and not beat.goes_on()


@pytest.mark.parametrize("daemon", DAEMONS)
def test_an_interrupt_ends_daemons_too(run, beat, daemon):
    job = start(run, daemon, beat)
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    assert alive() == []
    assert not beat.goes_on()


@pytest.mark.parametrize("daemon", DAEMONS)
def test_timeout_with_kill_ends_daemons_too(run, beat, daemon):
    done = run.command("timeout", "-s", "KILL", "1", run.gpl, "run", "--", *job_with(daemon, beat))
    assert done.returncode in (-9, 137)
    assert_all_gone(run, beat)
    assert run("history").returncode == 0  # which removes what a killed gpl could not


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_killed_gpl_leaves_nothing_running(run, beat, daemon):
    job = start(run, daemon, beat)
    job.kill()
    job.communicate()
    assert_all_gone(run, beat)
    assert run("history").returncode == 0


@pytest.mark.parametrize("daemon", DAEMONS)
def test_a_killed_guard_leaves_nothing_running_and_is_told(run, beat, daemon):
    job = start(run, daemon, beat)
    os.kill(guard_of(job.pid), signal.SIGKILL)
    out, err = job.communicate(timeout=10)
    assert (job.returncode, out) == (125, b"")
    assert b"guard" in err and err.startswith(b"gpl: ")
    assert alive() == []
    assert not beat.goes_on()


def test_a_killed_guard_of_a_job_without_daemons_is_told_too(run):
    job = run.start("run", "--", "sh", "-c", "echo ready; sleep 60")
    assert job.stdout.readline() == b"ready\n"
    os.kill(guard_of(job.pid), signal.SIGKILL)
    _, err = job.communicate(timeout=10)
    assert job.returncode == 125 and b"guard" in err


def test_what_holds_out_against_sigterm_has_2_seconds_when_gpl_is_killed(run):
    job = run.start("run", "--", "bash", "-c",
                    "exec 2>/dev/null; trap 'echo term >{0}/term' TERM; echo ready;"
                    "while :; do sleep 0.05; done".format(run.base))
    assert job.stdout.readline() == b"ready\n"
    job.kill()
    job.communicate()
    eventually(lambda: not alive(), 5, "the end of the job")
    assert (run.base / "term").exists()
    assert run("history").returncode == 0


@pytest.mark.keeps_files
def test_a_job_saves_its_files_when_gpl_is_killed(run):
    job = run.start("run", "--", "bash", "-c",
                    "exec 2>/dev/null; trap 'echo state >checkpoint; exit' TERM; echo ready;"
                    "while :; do sleep 0.02; done")
    assert job.stdout.readline() == b"ready\n"
    job.kill()
    job.communicate()
    eventually(lambda: not alive(), 5, "the end of the job")
    assert run("get", "last").returncode == 0
    assert (run.work / "checkpoint").read_text() == "state\n"


def test_the_guard_is_out_of_reach_of_the_terminal_and_of_polite_signals(run):
    job = run.start("run", "--", "sh", "-c", "echo ready; sleep 1; exit 3")
    assert job.stdout.readline() == b"ready\n"
    guard = guard_of(job.pid)
    assert os.getsid(guard) == guard
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(guard, number)
    assert job.wait(10) == 3
    job.communicate()


def test_the_guard_holds_nothing_of_the_callers_open(run):
    (run.base / "held").write_text("")
    script = f"exec 8<{run.base}/held; exec gpl run -- sh -c 'echo ready; sleep 1'"
    job = subprocess.Popen(["bash", "-c", script], cwd=run.work, env=run.env,
                           stdout=subprocess.PIPE)
    assert job.stdout.readline() == b"ready\n"
    guard = guard_of(job.pid)
    opened = {os.readlink(f"/proc/{guard}/fd/{fd}") for fd in os.listdir(f"/proc/{guard}/fd")}
    assert str(run.base / "held") not in opened
    assert not any(path.startswith("pipe:") for path in opened), opened
    assert job.wait(10) == 0
    job.communicate()


def test_pkill_by_the_words_of_the_command_line_does_not_hit_the_guard(run):
    job = run.start("run", "--", "sh", "-c", "echo ready; sleep 1", "unmistakable-words")
    assert job.stdout.readline() == b"ready\n"
    guard = guard_of(job.pid)
    with open(f"/proc/{guard}/cmdline", "rb") as cmdline:
        assert b"run" not in cmdline.read()
    assert job.wait(10) == 0
    job.communicate()


def test_a_daemon_that_does_not_listen_gets_no_time_after_the_command_has_ended(run):
    began = time.monotonic()
    done = run("run", "--", "sh", "-c", "setsid sh -c \"trap '' TERM; sleep 60\" & exit 5")
    assert done.returncode == 5
    assert time.monotonic() - began < 3
    assert alive() == []


def test_many_descendants_end_together(run):
    job = run.start("run", "--", "bash", "-c",
                    "for i in {1..60}; do setsid sleep 60 & done; echo ready; wait")
    assert job.stdout.readline() == b"ready\n"
    job.send_signal(signal.SIGTERM)
    assert job.wait(10) == 143
    job.communicate()
    assert alive() == []


def test_a_child_of_the_caller_is_none_of_gpls(run):
    # `exec gpl` inherits the children of the shell that it replaces.
    done = run.bash("sleep 3 & echo $! >{0}/pid; exec gpl run -- true".format(run.base),
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pid = int((run.base / "pid").read_text())
    assert done.returncode == 0
    assert pid in [process.pid for process in alive()]
    os.kill(pid, signal.SIGKILL)


def test_a_shell_pipeline_of_killed_jobs_leaves_nothing(run):
    job = subprocess.Popen(["bash", "-c", "gpl run -- yes | gpl run --stdin -- cat >/dev/null"],
                           cwd=run.work, env=run.env, start_new_session=True)
    eventually(lambda: len([p for p in alive(job.pid) if p.name == "gpl-guard"]) == 2, 5, "guards")
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    eventually(lambda: not alive(), 5, "the end of both jobs")
    assert lines(run("history").stdout) == []
