"""A peer on a bad day: full disks, killed and stopped processes, hostile clients, odd trees."""
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from conftest import Peer, as_nobody, as_root, eventually, lines
from processes import everybody

MEG = 1 << 20


def submit(place, *words, **options):
    result = place("submit", *words, **options)
    assert result.returncode == 0, result.stderr.decode()
    return int(result.stdout)


def described(place, job):
    result = place("status", "--json", str(job))
    assert result.returncode == 0, result.stderr.decode()
    return json.loads(result.stdout)["jobs"][0]


def is_running(place, job):
    return described(place, job)["state"] == "running"


def numbered(count, pause, code):
    """A shell's words that print 0 to count-1, one a line."""
    return f"i=0; while [ $i -lt {count} ]; do echo $i; i=$((i+1)); sleep {pause}; done; exit {code}"


def numbers(first, count):
    return b"".join(b"%d\n" % number for number in range(first, count))


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@pytest.fixture
def on_disk_of(run):
    """Gives a peer whose state is on a file system of that many bytes; nothing of it stays."""
    started = []

    def make(size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", run.state], check=True)
        started.append(Peer(run))
        return started[0].start()

    yield make
    for peer in started:
        peer.end()
        eventually(lambda: subprocess.run(["umount", run.state], capture_output=True, check=False).returncode == 0,
                   10, "that the file system is let go of")


def fill(folder):
    """To the last byte."""
    with open(folder / "ballast", "wb", buffering=0) as ballast:
        for size in (MEG, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(bytes(size))
    assert shutil.disk_usage(folder).free == 0


# A full disk under the state.

@as_root
def test_a_full_disk_refuses_submits_and_loses_nothing_that_was_acknowledged(on_disk_of):
    peer = on_disk_of(32 * MEG)
    run = peer.place
    every = str(os.cpu_count())
    first = submit(run, "--cpus", every, "--no-stage", "--", "sh", "-c", "sleep 1.5; exit 3")
    attached = run.start("run", "--cpus", every, "--no-stage", "--", "sh", "-c", "echo mine; exit 4")
    eventually(lambda: is_running(run, first), 10)
    eventually(lambda: len(json.loads(run("status", "--json").stdout)["active"]) == 2, 10)
    last = submit(run, "--cpus", every, "--no-stage", "--", "sh", "-c", "echo yours; exit 5")
    fill(run.state)
    for words in (["submit"], ["submit", "--no-stage"], ["run"]):
        refused = run(*words, "--", "true")
        assert refused.returncode == 125 and str(peer.state()).encode() in refused.stderr
        assert b"full" in refused.stderr and b"make room" in refused.stderr
    assert run("wait", str(first)).returncode == 3
    time.sleep(0.5)
    assert peer.process.poll() is None
    assert described(run, last)["state"] == "queued"
    peer.restart()
    eventually(peer.serves, 20)
    assert run("submit", "--no-stage", "--", "true").returncode == 125
    (run.state / "ballast").unlink()
    assert run("wait", str(last)).returncode == 5
    assert run("logs", str(last)).stdout == b"yours\n"
    out, _ = attached.communicate(timeout=30)
    assert (attached.returncode, out) == (4, b"mine\n")
    assert run("wait", str(first)).returncode == 3
    assert run("run", "--", "echo", "again").stdout == b"again\n"
    assert peer.process.poll() is None


TWENTY_MEG = 'import sys\nfor i in range(20480): sys.stdout.write("%07d " % i + "x" * 1015 + "\\n")\n'


@as_root
def test_twenty_megabytes_go_through_a_disk_of_eight_to_who_follows(on_disk_of):  # N08
    peer = on_disk_of(8 * MEG)
    (peer.place.work / "write.py").write_text(TWENTY_MEG)
    result = peer.place("run", "--", "python3", "write.py")
    assert result.returncode == 0 and result.stderr == b""
    assert result.stdout == b"".join(b"%07d " % i + b"x" * 1015 + b"\n" for i in range(20480))
    assert peer.process.poll() is None


@as_root
def test_of_what_nobody_follows_head_and_tail_are_kept_and_the_record_says_so(on_disk_of):  # N08
    peer = on_disk_of(8 * MEG)
    (peer.place.work / "write.py").write_text(TWENTY_MEG)
    job = submit(peer.place, "--", "python3", "write.py")
    assert peer.place("wait", str(job)).returncode == 0
    result = peer.place("logs", str(job))
    seen = [int(line[:7]) for line in result.stdout.splitlines() if len(line) == 1023]
    assert seen[0] == 0 and seen[-1] == 20479 and len(seen) < 20480
    assert b"left out" in result.stderr
    assert peer.process.poll() is None
    assert "were not kept" in peer.place("status", str(job)).stdout.decode()


# The peer as a container's first process.

def children_of(pid):
    return [process.pid for process in everybody() if process.parent == pid]


def in_pid_namespace(pid):
    with contextlib.suppress(OSError):
        name = os.readlink(f"/proc/{pid}/ns/pid")
        found = []
        for process in everybody():
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{process.pid}/ns/pid") == name:
                    found.append(process)
        return found
    return []


@as_root
def test_as_process_one_it_leaves_no_zombies(run):  # N12
    log = run.base / "peer.log"
    with open(log, "wb") as file:
        outer = subprocess.Popen(["unshare", "-pf", "--mount-proc", run.gpl, "worker"], env=run.env, cwd=run.base,
                                 stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        eventually(lambda: "cluster" in log.read_text(), 20)
        [first] = children_of(outer.pid)
        script = "( ( sleep 0.2 & ) & ) ; ( setsid sleep 0.1 & ) ; exit 3"
        submits = [run.start("submit", "--no-stage", "--", "sh", "-c", script)
                   for _ in range(int(os.environ.get("GPL_TEST_JOBS", 50)))]
        assert all(one.communicate(timeout=60) and one.returncode == 0 for one in submits)
        assert run("wait", "all").returncode == 3
        eventually(lambda: not [one for one in in_pid_namespace(first) if one.state == "Z"], 2, "no zombies")
        job = submit(run, "--no-stage", "--", "sh", "-c", "( setsid sleep 500 & ) ; sleep 500")
        eventually(lambda: is_running(run, job), 10)
        began = time.monotonic()
        assert run("cancel", str(job)).returncode == 0
        assert run("wait", str(job)).returncode == 130
        assert time.monotonic() - began < 3
        names = {one.name for one in in_pid_namespace(first)}
        assert names - {"gpl-guard"} == {"gpl", "gpl-keeper"}
        eventually(lambda: not list(run.tmp.iterdir()), 10, "that the jobs' temporary folders are gone")
        os.kill(first, signal.SIGTERM)
        assert outer.wait(timeout=20) == 0
    finally:
        for pid in children_of(outer.pid):  # and with it all of its namespace
            os.kill(pid, signal.SIGKILL)
        outer.wait(timeout=20)


# Killed, stopped, started twice.

def test_peer_and_keeper_killed_at_once_lose_the_job_by_name_and_serve_again(peer):
    run = peer.place.start("run", "--", "sh", "-c", "echo up; sleep 500")
    assert run.stdout.readline() == b"up\n"
    keeper = peer.keeper()
    os.kill(keeper, signal.SIGKILL)
    peer.kill()
    peer.start(wait=False)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 125 and b"lost" in err and b"keeper was killed" in err
    assert peer.place("run", "--", "echo", "again").stdout == b"again\n"


def test_no_job_runs_twice_or_is_forgotten_however_often_the_keeper_is_killed(peer):
    ledger = peer.place.base / "ledger"
    jobs, stop = [], threading.Event()

    def submitter():
        while not stop.is_set():
            number = len(jobs)
            jobs.append(submit(peer.place, "--no-stage", "--", "sh", "-c",
                               f"echo {number} >> {ledger}; exit {number % 7}"))
            time.sleep(0.02)

    thread = threading.Thread(target=submitter)
    thread.start()
    dice = random.Random(5)
    try:
        for _ in range(int(os.environ.get("GPL_TEST_KILLS", 8))):
            time.sleep(dice.uniform(0.05, 0.4))
            os.kill(eventually(peer.keeper, 10, "a new keeper"), signal.SIGKILL)
    finally:
        stop.set()
        thread.join()
    peer.place("wait", "all", timeout=120)
    seen = [int(line) for line in ledger.read_text().split()]
    assert len(seen) == len(set(seen))
    rows = json.loads(peer.place("status", "--json", f"{jobs[0]}-{jobs[-1]}").stdout)["jobs"]
    outcomes = {row["job"]: row["outcome"] for row in rows}
    for number, job in enumerate(jobs):
        outcome = outcomes[job]
        if outcome["kind"] == "exited":
            assert outcome["exit_code"] == number % 7 and number in seen
        else:
            assert outcome["kind"] == "lost" and "keeper" in outcome["message"]
    assert peer.process.poll() is None


def test_a_job_that_is_submitted_while_the_keeper_starts_anew_is_run(peer):
    for _ in range(3):
        assert peer.place("run", "--no-stage", "--", "echo", "x").stdout == b"x\n"
        os.kill(peer.keeper(), signal.SIGKILL)
        result = peer.place("run", "--no-stage", "--", "sh", "-c", "echo ran; exit 3", timeout=20)
        assert (result.returncode, result.stdout) == (3, b"ran\n"), result.stderr


@pytest.mark.parametrize("who", ["keeper", "peer"])
def test_a_pause_of_the_peer_or_its_keeper_is_only_a_pause(peer, who):
    run = peer.place.start("run", "--", "sh", "-c", numbered(30, 0.05, 5))
    assert run.stdout.readline() == b"0\n"
    follower = peer.place.start("logs", "-f", "last")
    pid = peer.keeper() if who == "keeper" else peer.process.pid
    os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    os.kill(pid, signal.SIGCONT)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, out, err) == (5, numbers(1, 30), b"")
    out, _ = follower.communicate(timeout=30)
    assert (follower.returncode, out) == (0, numbers(0, 30))


def forget_everything(peer):
    if peer.process and peer.process.poll() is None:
        peer.kill()
    if keeper := peer.keeper():
        os.kill(keeper, signal.SIGKILL)
        eventually(lambda: peer.keeper() is None, 10)
    for folder in peer.place.state.glob("gpl/*"):
        shutil.rmtree(folder)
    peer.log.write_text("")


def test_of_two_that_found_at_once_one_goes_on_and_comes_up_again(run):
    peer = Peer(run)
    peer.log = run.base / "peer.log"
    try:
        for _ in range(6):
            forget_everything(peer)
            both = [subprocess.Popen([run.gpl, "worker"], env=run.env, cwd=run.base, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) for _ in range(2)]
            try:
                [loser] = eventually(lambda: [one for one in both if one.poll() is not None], 20, "that one gives up")
                assert loser.returncode == 1 and b"already runs" in loser.stderr.read()
                assert run("run", "--", "echo", "x").stdout == b"x\n"
            finally:
                for one in both:
                    one.kill()
                    one.communicate()
            peer.start()
            assert run("run", "--", "echo", "y").stdout == b"y\n"
    finally:
        peer.end()


def test_a_founding_that_is_killed_is_done_or_begun_again(run):
    peer = Peer(run)
    peer.log = run.base / "peer.log"
    try:
        for number in range(10):
            forget_everything(peer)
            peer.start(wait=False)
            time.sleep(0.004 * (number + 1))
            peer.kill()
            peer.log.write_text("")
            peer.start()
        assert run("run", "--", "echo", "x").stdout == b"x\n"
    finally:
        peer.end()


@pytest.mark.parametrize("who", ["client", "peer"])
def test_a_kill_in_the_middle_of_a_tree_leaves_a_store_that_is_sound(peer, who):
    run = peer.place
    for number in range(20):
        (run.work / f"f{number}").write_bytes(os.urandom(MEG))
    for pause in (0.05, 0.15, 0.3):
        client = run.start("run", "--", "true")
        time.sleep(pause)
        if who == "client":
            client.kill()
        else:
            peer.kill()
            peer.start(wait=False)
        client.communicate(timeout=30)
        assert who == "client" or client.returncode == 0
    want = run.bash("cat f* | sha256sum").stdout
    assert run("run", "--", "sh", "-c", "cat f* | sha256sum").stdout == want


# Many, slow and hostile clients.

def test_a_hundred_clients_at_once_are_each_served(peer):
    clients = [peer.place.start("run", "--no-stage", "--", "sh", "-c", f"echo {number}; exit {number}")
               for number in range(100)]
    for number, client in enumerate(clients):
        out, err = client.communicate(timeout=60)
        assert (client.returncode, out, err) == (number, b"%d\n" % number, b"")


def test_a_client_that_does_not_read_costs_no_memory(peer):
    run = peer.place
    with open(run.base / "out", "wb") as out:
        client = run.start("run", "--no-stage", "--", "sh", "-c", "head -c 60000000 /dev/zero", stdout=out)
        eventually(lambda: (run.base / "out").stat().st_size > 0, 10)
        client.send_signal(signal.SIGSTOP)
        time.sleep(2)
        assert resident_kib(peer.process.pid) < 40_000
        assert resident_kib(peer.keeper()) < 15_000
        client.send_signal(signal.SIGCONT)
        _, err = client.communicate(timeout=60)
    assert (client.returncode, err, (run.base / "out").stat().st_size) == (0, b"", 60_000_000)


@pytest.mark.parametrize("name", ["peer.sock", "keeper.sock"])
def test_bytes_that_are_no_message_disturb_nobody(peer, name):
    run = peer.place
    client = run.start("run", "--", "sh", "-c", numbered(30, 0.05, 5))
    assert client.stdout.readline() == b"0\n"
    keeper = peer.keeper()
    dice = random.Random(6)
    strangers = [b"", b"\xff" * 4, b"\xff\xff\xff\x7f" + bytes(100_000), b"\x10\0\0\0\1\x92", b"\0" * 4000,
                 b"\x05\0\0\0\1\xdd\xff\xff\xff\xff", b"\x10\x27\0\0\1" + b"\x91" * 10_000]
    strangers += [dice.randbytes(dice.randrange(1, 2000)) for _ in range(100)]
    folder = os.open(peer.state(), os.O_PATH)
    held = []
    for data in strangers:
        stranger = socket.socket(socket.AF_UNIX)
        stranger.connect(f"/proc/self/fd/{folder}/{name}")
        with contextlib.suppress(OSError):
            stranger.send(data)
        held.append(stranger)
    os.close(folder)
    assert run("run", "--", "echo", "x").stdout == b"x\n"
    for stranger in held:
        stranger.close()
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out, err) == (5, numbers(1, 30), b"")
    assert peer.process.poll() is None and peer.keeper() == keeper


@as_root
def test_another_user_is_kept_out_by_the_kernel(peer):
    run = peer.place
    for folder in (run.home, run.config, run.state, run.state / "gpl", peer.state()):
        folder.chmod(0o755)
    script = ("import os, socket\n"
              f"os.chdir({str(peer.state())!r})\n"
              "for name in ('peer.sock', 'keeper.sock'):\n"
              "  try: socket.socket(socket.AF_UNIX).connect(name)\n"
              "  except OSError as error: print(error.strerror)\n")
    result = run.command(*as_nobody(), "python3", "-c", script)
    assert lines(result.stdout) == ["Permission denied"] * 2


# Trees and command lines.

def test_names_of_any_bytes_links_that_loop_and_empty_folders_arrive(peer):
    work = os.fsencode(peer.place.work)
    for name in (b"new\nline", b"bad\xff\xfe", b" '\"\\", b"-rf"):
        with open(work + b"/" + name, "wb") as file:
            file.write(name)
    (peer.place.work / "empty").mkdir()
    os.symlink("loop", work + b"/loop")
    result = peer.place("run", "--out", "*", "--", "python3", "-c",
                        "import os, sys\n"
                        "names = sorted(os.listdir(b'.'))\n"
                        "sys.stdout.buffer.write(b'|'.join(names))\n"
                        "open(b'made\\n\\xfe', 'wb').write(b'here')\n")
    assert result.returncode == 0
    assert result.stdout.split(b"|") == [b" '\"\\", b"-rf", b"bad\xff\xfe", b"empty", b"loop", b"new\nline"]
    with open(work + b"/made\n\xfe", "rb") as file:
        assert file.read() == b"here"


def test_an_empty_tree_a_large_hole_and_many_small_files_arrive(peer):
    run = peer.place
    assert run("run", "--", "sh", "-c", "ls -A | wc -l").stdout == b"0\n"
    (run.work / "hole").touch()
    os.truncate(run.work / "hole", 300 * MEG)
    for number in range(1000):
        folder = run.work / str(number % 20)
        folder.mkdir(exist_ok=True)
        (folder / str(number)).write_text(str(number))
    result = run("run", "--", "sh", "-c", "stat -c %s hole; find . -type f | wc -l; cat 19/999")
    assert result.stdout == b"%d\n1001\n999" % (300 * MEG)


@pytest.mark.parametrize("words", [["--", "echo", "x" * 100_000], ["--", "echo", *["x" * 100_000] * 10],
                                   ["--env", "A=" + "x" * 100_000, "--", "true"]])
def test_what_is_too_long_for_the_log_is_refused(peer, words):
    for verb in ("run", "submit"):
        result = peer.place(verb, *words)
        assert result.returncode == 125 and result.stdout == b""
        assert len(result.stderr) < 500 and b"the queue takes" in result.stderr
    assert peer.place("run", "--", "echo", "x" * 60_000).returncode == 0


@pytest.mark.parametrize("words, code", [(["/nonexistent/x"], 127), (["nonexistent-x"], 127), (["./plain"], 126),
                                         (["/tmp"], 126)])
def test_a_command_that_cannot_be_run_is_told_apart(peer, words, code):
    (peer.place.work / "plain").write_text("x")
    result = peer.place("run", "--", *words)
    assert result.returncode == code and words[0].encode() in result.stderr
    assert described(peer.place, "last")["exit_status"] == code


def test_a_time_limit_ends_a_job_that_ignores_term(peer):
    result = peer.place("run", "--time-limit", "1s", "--", "sh", "-c", "trap '' TERM; while :; do sleep .2; done")
    assert result.returncode == 124 and b"time limit" in result.stderr


# Input, signals, output.

def test_input_goes_on_when_the_peer_is_killed_while_it_flows(peer):
    data = os.urandom(30 * MEG)
    source = peer.place.base / "data"
    source.write_bytes(data)
    for pause in (0.02, 0.1, 0.25):
        with open(source, "rb") as file:
            client = peer.place.start("run", "--no-stage", "--stdin", "--", "sha256sum", stdin=file)
        time.sleep(pause)
        peer.restart()
        try:
            out, _ = client.communicate(timeout=10)
        finally:
            client.kill()
        assert (client.returncode, out.split()[0].decode()) == (0, hashlib.sha256(data).hexdigest())


def test_a_second_interrupt_kills_the_job_at_once(peer):
    client = peer.place.start("run", "--", "sh", "-c", "trap '' INT TERM; echo up; while :; do sleep 0.1; done")
    assert client.stdout.readline() == b"up\n"
    client.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert client.poll() is None
    began = time.monotonic()
    client.send_signal(signal.SIGINT)
    client.communicate(timeout=30)
    assert client.returncode == 130
    assert time.monotonic() - began < 4


def test_output_is_whole_however_often_the_peer_is_killed(peer):
    data = os.urandom(4 * MEG)
    source = peer.place.base / "data"
    source.write_bytes(data)
    script = f"for i in 1 2 3 4 5 6 7 8; do cat {source}; cat {source} >&2; sleep 0.2; done"
    client = peer.place.start("run", "--no-stage", "--", "sh", "-c", script)
    result = []
    reader = threading.Thread(target=lambda: result.append(client.communicate(timeout=60)))
    reader.start()
    for _ in range(6):
        time.sleep(0.25)
        peer.restart()
    reader.join()
    [(out, err)] = result
    assert client.returncode == 0 and out == data * 8
    assert len(err) - len(data) * 8 in range(0, 2000)


def test_large_output_is_the_same_for_run_for_logs_and_for_those_who_follow(peer):
    run = peer.place
    data = os.urandom(30 * MEG)
    source = run.base / "data"
    source.write_bytes(data)
    want = hashlib.sha256(data + b"end").hexdigest()
    script = f"head -c 20000000 {source}; sleep 1; tail -c +20000001 {source}; printf end"
    client = run.start("run", "--no-stage", "--", "sh", "-c", script)
    eventually(lambda: run("status", "last").returncode == 0, 10)
    followers = [run.start("logs", "-f", "last") for _ in range(2)]
    threads = []
    results = []
    for process in (client, *followers):
        threads.append(threading.Thread(target=lambda one=process: results.append(one.communicate(timeout=60))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    results += [(run("logs", "last").stdout, b"") for _ in range(2)]
    assert [(hashlib.sha256(out).hexdigest(), err) for out, err in results] == [(want, b"")] * 5


def test_a_closed_stdout_a_daemon_that_holds_it_and_a_missing_newline_are_no_trouble(peer):
    run = peer.place
    result = run("run", "--", "sh", "-c", "exec >&-; sleep 0.3; echo e >&2; exit 4")
    assert (result.returncode, result.stdout, result.stderr) == (4, b"", b"e\n")
    result = run("run", "--", "sh", "-c", "setsid sleep 500 & echo a", timeout=20)
    assert (result.returncode, result.stdout) == (0, b"a\n")
    assert run("run", "--", "printf", "abc").stdout == b"abc"


def test_what_has_ended_cannot_be_entered_and_is_waited_for_among_many(peer):
    run = peer.place
    jobs = [submit(run, "--no-stage", "--", "sh", "-c", f"exit {code}") for code in (0, 6, 7)]
    assert run("wait", *map(str, jobs)).returncode == 6
    entered = run("exec", str(jobs[0]), "--", "true")
    assert entered.returncode == 125 and b"does not run" in entered.stderr


def test_a_command_that_was_entered_ends_with_the_peer_and_its_client_says_so(peer):
    run = peer.place
    job = submit(run, "--no-stage", "--", "sleep", "500")
    eventually(lambda: is_running(run, job), 10)
    entered = run.start("exec", str(job), "--", "sh", "-c", "echo up; exec sleep 501")
    assert entered.stdout.readline() == b"up\n"
    peer.restart()
    _, err = entered.communicate(timeout=30)
    assert entered.returncode == 125 and b"the job goes on" in err
    eventually(lambda: not [one for one in everybody() if one.command == "sleep 501"], 10)
    eventually(peer.serves, 20)
    assert is_running(run, job)


def test_many_that_wait_are_cancelled_at_once(peer):
    run = peer.place
    every = str(os.cpu_count())
    submit(run, "--cpus", every, "--no-stage", "--", "sleep", "500")
    filled = run.bash("for i in $(seq 200); do gpl submit --no-stage -- true || exit; done")
    assert filled.returncode == 0 and len(lines(filled.stdout)) == 200
    assert run("cancel", "all").returncode == 0
    assert run("wait", "1-201", timeout=20).returncode == 130
    assert not json.loads(run("status", "--json").stdout)["active"]
