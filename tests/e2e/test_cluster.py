"""Three peers: a job is submitted at one (the home), runs on another (the worker), and the third looks after it."""
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import pytest
from cluster import Cluster, numbered, numbers
from conftest import as_root, eventually, lines
from processes import everybody

pytestmark = as_root

MEG = 1 << 20
LABELS = "labels = {site = \"attic\"}\n"


def processes_with(word):
    return [process for process in everybody() if word in process.command and process.state not in "ZX"]


def mark():
    """A number that no other command line has."""
    return str(random.randrange(10**8, 10**9))


@pytest.fixture(scope="module")
def shared(gpl):
    """Three peers for the tests that leave them as they were; the third has a label."""
    base = pathlib.Path(tempfile.mkdtemp(prefix="gpl-e2e-"))
    with Cluster(gpl, base, 3, settings=["", "", LABELS]) as cluster:
        yield cluster
    subprocess.run(["rm", "-rf", base], check=False)


@pytest.fixture
def places(shared):
    """Home, worker, third; each with an empty folder, and nothing left behind after the test."""
    for node in shared.nodes:
        node.place.work = pathlib.Path(tempfile.mkdtemp(dir=node.place.base))
    yield shared.nodes
    shared.nodes[0]("cancel", "all", "--everyone")
    for node in shared.nodes:
        eventually(lambda one=node: not one.status()["active"], 15, "that no job is left")
        eventually(lambda one=node: not list(one.place.tmp.iterdir()), 5, "that temporary files are gone")
        subprocess.run(["rm", "-rf", node.place.work], check=False)


# First: little is in the peers' folders yet.

def test_a_secret_reaches_the_worker_and_is_in_no_file(places):
    home, worker, third = places
    secret = f"hush-{mark()}"
    script = "echo ${#TOKEN}; echo up; sleep 1.5"
    client = home.place.start("run", "--secret", "TOKEN", "--on", worker.name, "--", "sh", "-c", script,
                              env={"TOKEN": secret})
    assert client.stdout.readline() == b"%d\n" % len(secret)
    job = str(home.status("last")["jobs"][0]["job"])
    for moment in ("while it runs", "after it has ended"):
        for node in places:
            shown = node("status", "--json", job).stdout + node("status", job).stdout + node("explain", job).stdout
            assert secret.encode() not in shown
            found = subprocess.run(["grep", "-rlae", secret, str(node.place.state), str(node.log)],
                                   capture_output=True, check=False)
            assert found.stdout == b"", moment
        if client.poll() is None:
            client.communicate(timeout=20)
            assert client.returncode == 0
    submitted = third.submit("--secret", "TOKEN", "--on", worker.name, "--", "sh", "-c", "echo ${#TOKEN}",
                             env={"TOKEN": secret})
    assert home("wait", str(submitted)).returncode == 0
    assert home("logs", str(submitted)).stdout == b"%d\n" % len(secret)


# Streams, from the worker through the home to the client.

def test_a_job_runs_on_the_machine_that_was_named(places):
    for near in places:
        for far in places:
            result = near("run", "--on", far.name, "--", "sh", "-c", "echo $GPL_PEER; echo err >&2; exit 3")
            assert (result.returncode, result.stderr) == (3, b"err\n")
            assert result.stdout.decode().strip() == far.name


def test_stdin_reaches_the_worker(places):
    home, worker, _ = places
    data = os.urandom(3 * MEG)
    result = home("run", "--stdin", "--on", worker.name, "--", "sha256sum", input=data)
    assert result.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
    assert home("run", "--on", worker.name, "--", "cat", input=b"unread").stdout == b""
    early = home("run", "--stdin", "--on", worker.name, "--", "head", "-c", "4", input=data)
    assert (early.returncode, early.stdout) == (0, data[:4])


def test_a_long_argument_arrives_and_one_that_is_too_long_is_refused(places):
    home, worker, _ = places
    result = home("run", "--on", worker.name, "--", "echo", "x" * 60_000)
    assert (result.returncode, len(result.stdout)) == (0, 60_001)
    result = home("run", "--on", worker.name, "--", "echo", "x" * 100_000, "y" * 100_000)
    assert result.returncode == 125 and b"the queue takes" in result.stderr


def test_two_hundred_megabytes_of_output_are_whole(places):
    home, worker, third = places
    count = 23_000_000
    want = subprocess.run(f"seq 1 {count} | sha256sum", shell=True, capture_output=True, check=True).stdout
    far = home.place.bash(f"gpl run --no-stage --on {worker.name} -- seq 1 {count} | sha256sum", timeout=120)
    assert far.stdout == want and far.stderr == b""
    size = third.place.bash(f"gpl run --no-stage --on {worker.name} -- head -c 200000000 /dev/zero | wc -c",
                            timeout=120)
    assert size.stdout == b"200000000\n"


def test_both_streams_of_bytes_that_are_no_text_stay_apart_and_as_they_were(places):
    home, worker, third = places
    data = bytes(range(256)) * 5000
    (home.place.work / "data").write_bytes(data)
    script = "cat data; cat data >&2; printf end"
    result = home("run", "--on", worker.name, "--", "sh", "-c", script)
    assert (result.returncode, result.stdout, result.stderr) == (0, data + b"end", data)
    job = home.status("last")["jobs"][0]["job"]
    for node in (home, worker, third):
        result = node("logs", str(job))
        assert (result.returncode, result.stdout, result.stderr) == (0, data + b"end", data)


def test_a_reader_that_goes_away_stops_the_job(places):
    home, worker, third = places
    for node in (home, third):
        result = node.place.bash(f"gpl run --on {worker.name} -- seq 1 100000000 | head -1; echo ${{PIPESTATUS[0]}}",
                                 timeout=30)
        assert lines(result.stdout) == ["1", "141"]
        eventually(lambda one=node: not one.status()["active"], 15)
    assert not processes_with("seq 1 100000000")


# Signals.

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_goes_to_the_job(places, number):
    home, worker, _ = places
    script = f"trap 'echo got; exit 4' {number.name[3:]}; echo up; while :; do sleep 0.1; done"
    client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", script)
    assert client.stdout.readline() == b"up\n"
    client.send_signal(number)
    out, err = client.communicate(timeout=20)
    assert (client.returncode, out) == (4, b"got\n")
    assert err in (b"", b"Terminated\n")  # of the shell, whose sleep it ends too


def test_a_second_interrupt_kills_the_job_at_once(places):
    home, worker, _ = places
    client = home.place.start("run", "--on", worker.name, "--", "sh", "-c",
                              "trap '' INT TERM; echo up; while :; do sleep 0.1; done")
    assert client.stdout.readline() == b"up\n"
    client.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert client.poll() is None
    began = time.monotonic()
    client.send_signal(signal.SIGINT)
    client.communicate(timeout=30)
    assert client.returncode == 130
    assert time.monotonic() - began < 5


def test_a_hangup_detaches_and_any_peer_attaches(places):
    home, worker, third = places
    client = home.place.start("run", "--on", worker.name, "--out", "made", "--", "sh", "-c",
                              "echo a; sleep 2; echo b; echo x >made; exit 6")
    assert client.stdout.readline() == b"a\n"
    job = home.status("last")["jobs"][0]["job"]
    client.send_signal(signal.SIGHUP)
    client.communicate(timeout=10)
    assert client.returncode == 129
    result = third("attach", str(job))
    assert (result.returncode, result.stdout) == (6, b"a\nb\n")
    assert (third.place.work / "made").read_text() == "x\n"


# A third peer, which neither took the submit nor runs it.

def test_a_third_peer_follows_waits_enters_and_explains(places):
    home, worker, third = places
    job = home.submit("--on", worker.name, "--env", "COLOUR=blue", "--", "sh", "-c",
                      "echo x >made; " + numbered(15, 0.1, 7))
    follower = third.place.start("logs", "-f", str(job))
    assert follower.stdout.readline() == b"0\n"
    entered = third("exec", str(job), "--", "sh", "-c", "cat made; echo $COLOUR $GPL_JOB_ID; echo e >&2; exit 8")
    assert (entered.returncode, entered.stdout, entered.stderr) == (8, b"x\nblue %d\n" % job, b"e\n")
    shown = third.job(job)
    assert (shown["state"], shown["where"]) == ("running", [worker.name])
    assert third("wait", str(job)).returncode == 7
    out, _ = follower.communicate(timeout=20)
    assert (follower.returncode, out) == (0, numbers(1, 15))
    assert third("logs", str(job)).stdout == numbers(0, 15)
    assert third.job(job)["outcome"] == home.job(job)["outcome"] == worker.job(job)["outcome"]


def test_a_third_peer_cancels_and_the_grandchildren_end(places):
    home, worker, third = places
    word = mark()
    job = home.submit("--on", worker.name, "--", "bash", "-c", f'bash -c "sleep {word} & sleep {word}"; wait')
    eventually(lambda: len(processes_with(f"sleep {word}")) >= 2, 10)
    assert third("cancel", str(job)).returncode == 0
    assert third("wait", str(job)).returncode == 130
    assert not processes_with(f"sleep {word}")


def test_a_third_peer_holds_releases_and_runs_again(places):
    home, worker, third = places
    every = str(os.cpu_count())
    first = home.submit("--on", worker.name, "--cpus", every, "--no-stage", "--", "sleep", "100")
    (home.place.work / "words").write_text("as they were\n")
    job = home.submit("--on", worker.name, "--cpus", every, "--", "cat", "words")
    (home.place.work / "words").write_text("changed\n")
    assert third("hold", str(job)).returncode == 0
    assert third("cancel", str(first)).returncode == 0
    assert third("wait", str(first)).returncode == 130
    time.sleep(0.3)
    assert [node.job(job)["state"] for node in places] == ["held"] * 3 or not home.runs(job)
    assert third("explain", str(job)).stdout.splitlines()[0].find(b"held") >= 0
    assert third("release", str(job)).returncode == 0
    assert third("wait", str(job)).returncode == 0
    again = third("rerun", str(job))
    assert again.returncode == 0
    assert third("wait", again.stdout.decode().strip()).returncode == 0
    for number in (str(job), again.stdout.decode().strip()):
        assert third("logs", number).stdout == b"as they were\n"


def test_results_come_back_by_out_and_to_a_third_peer_by_get(places):
    home, worker, third = places
    script = "mkdir -p a; echo one >a/1.txt; head -c 9000000 /dev/urandom >b.bin; sha256sum <b.bin"
    result = home("run", "--on", worker.name, "--out", "a/*.txt", "--", "sh", "-c", script)
    assert result.returncode == 0
    assert (home.place.work / "a" / "1.txt").read_text() == "one\n"
    assert not (home.place.work / "b.bin").exists() and b"gpl get" in result.stderr
    job = home.status("last")["jobs"][0]["job"]
    got = third("get", str(job), "b.bin")
    assert got.returncode == 0, got.stderr
    digest = hashlib.sha256((third.place.work / "b.bin").read_bytes()).hexdigest()
    assert digest.encode() == result.stdout.split()[0]


def test_names_of_any_bytes_go_there_and_back(places):
    home, worker, third = places
    work = os.fsencode(home.place.work)
    names = sorted([b"new\nline", b"bad\xff\xfe", b" '\"\\", b"-rf", b"$HOME"])
    for name in names:
        with open(work + b"/" + name, "wb") as file:
            file.write(name)
    os.symlink("loop", work + b"/loop")
    job = home.submit("--on", worker.name, "--out", "*", "--", "python3", "-c",
                      "import os, sys\n"
                      "sys.stdout.buffer.write(b'|'.join(sorted(os.listdir(b'.'))))\n"
                      "open(b'made\\n\\xfe', 'wb').write(b'here')\n"
                      "os.symlink(b'made\\n\\xfe', b'to it')\n")
    assert third("wait", str(job)).returncode == 0
    assert third("logs", str(job)).stdout.split(b"|") == sorted([*names, b"loop"])
    assert third("get", str(job)).returncode == 0
    with open(os.fsencode(third.place.work) + b"/made\n\xfe", "rb") as file:
        assert file.read() == b"here"
    assert os.readlink(os.fsencode(third.place.work) + b"/to it") == b"made\n\xfe"


def test_data_of_another_jobs_results_and_an_order_go_across_peers(places):
    home, worker, third = places
    script = "sleep 0.5; mkdir -p ckpt; head -c 6000000 /dev/urandom >ckpt/w.bin; sha256sum <ckpt/w.bin"
    first = home.submit("--on", worker.name, "--out", "ckpt", "--", "sh", "-c", script)
    bad = home.submit("--on", third.name, "--", "false")
    never = third.submit("--after", str(bad), "--on", worker.name, "--", "true")
    anyway = third.submit("--after", f"{bad}:any", "--after", str(first), "--on", home.name, "--", "true")
    assert home("wait", str(first)).returncode == 0
    then = third.submit("--after", str(first), "--on", third.name, "--data", f"{first}:ckpt/w.bin=in.bin", "--", "sh",
                        "-c", "sha256sum <in.bin")
    assert third("wait", str(then)).returncode == 0, third("logs", str(then)).stderr
    assert third("logs", str(then)).stdout == home("logs", str(first)).stdout
    assert third("wait", str(anyway)).returncode == 0
    assert third("wait", str(never)).returncode not in (0, 1)
    assert third.job(never)["outcome"]["kind"] != "exited"


def test_a_large_tree_is_pulled_whole_and_once(places):
    home, worker, third = places
    for number in range(12):
        (home.place.work / f"f{number}").write_bytes(os.urandom(5 * MEG))
    want = home.place.bash("cat f* | sha256sum").stdout
    for node in (worker, third, worker):
        assert home("run", "--on", node.name, "--", "sh", "-c", "cat f* | sha256sum").stdout == want


# Labels, explain, drain.

def test_a_label_chooses_the_machine_and_explain_knows_all_of_them(places):
    home, worker, third = places
    result = home("run", "--label", "site=attic", "--", "sh", "-c", "echo $GPL_PEER")
    assert result.stdout.decode().strip() == third.name
    refused = home("run", "--label", "site=cellar", "--", "true")
    assert refused.returncode == 125 and b"cellar" in refused.stderr
    fits = worker("run", "--explain", "--json", "--label", "site=attic", "--", "true")
    assert fits.returncode == 0
    shown = json.loads(fits.stdout)
    assert shown["verdict"] == "fits"
    assert sorted(row["peer"] for row in shown["peers"]) == sorted(node.name for node in places)
    never = worker("run", "--explain", "--cpus", "10000", "--", "true")
    assert never.returncode == 1
    assert all(node.name.encode() in never.stdout for node in places)
    unknown = home("run", "--on", "nowhere", "--", "true")
    assert unknown.returncode == 125 and b"nowhere" in unknown.stderr


def test_another_peer_is_drained_and_resumed_by_its_name(places):
    home, worker, third = places
    job = home.submit("--on", worker.name, "--no-stage", "--", "sleep", "1")
    eventually(lambda: home.runs(job), 10)
    assert third("peers", "drain", worker.name).returncode == 0
    assert third.job(job)["state"] == "ended"
    for node in places:
        assert node.peers()[worker.name]["closed"] is not None
    late = home.submit("--on", worker.name, "--no-stage", "--", "true")
    time.sleep(0.3)
    assert home.job(late)["state"] == "queued"
    assert home("run", "--", "true").returncode == 0
    assert home("peers", "resume", worker.name).returncode == 0
    assert third("wait", str(late), timeout=20).returncode == 0


def test_every_peer_shows_the_same(places):
    home, worker, third = places
    job = third.submit("--name", "same for all", "--on", worker.name, "--no-stage", "--", "sleep", "100")
    eventually(lambda: all(node.runs(job) for node in places), 10)
    def same(node):
        shown = node.status()
        return (shown["cluster"], shown["leader"], shown["voters"], shown["can_lose"],
                [(row["job"], row["name"], row["state"], row["where"]) for row in shown["active"]],
                sorted((row["peer"], row["state"], row["part"], row["cpus_held"]) for row in shown["peers"]))
    assert same(home) == same(worker) == same(third)
    assert home.status()["can_lose"] == 1 and len(home.status()["active"]) == 1
    assert b"same for all" in home("status").stdout
