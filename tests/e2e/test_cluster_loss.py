"""Peers that are killed, stopped, lost, silent or leave, while others follow what they run."""
import os
import time

import pytest
from cluster import Cluster, numbered, numbers, own_words
from conftest import as_root, eventually

pytestmark = as_root

MEG = 1 << 20


@pytest.fixture
def three(run, gpl):
    """Three peers to be killed, stopped and lost."""
    with Cluster(gpl, run.base, 3) as cluster:
        yield cluster


@pytest.mark.parametrize("who", ["home", "worker"])
def test_a_peer_that_is_killed_in_the_middle_is_only_a_pause(three, who):
    home, worker, third = three.nodes
    client = home.place.start("run", "--on", worker.name, "--out", "made", "--", "sh", "-c",
                              "echo x >made; " + numbered(30, 0.1, 9))
    assert client.stdout.readline() == b"0\n"
    follower = third.place.start("logs", "-f", str(third.status()["active"][0]["job"]))
    time.sleep(0.5)
    (home if who == "home" else worker).restart()
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (9, numbers(1, 30)), err
    assert own_words(err)
    assert (home.place.work / "made").read_text() == "x\n"
    out, _ = follower.communicate(timeout=30)
    assert (follower.returncode, out) == (0, numbers(0, 30))


def test_the_peer_that_a_client_asks_may_be_killed_too(three):
    home, worker, entry = three.nodes
    job = home.submit("--on", worker.name, "--", "sh", "-c", numbered(30, 0.1, 9))
    client = entry.place.start("attach", str(job))
    assert client.stdout.readline() == b"0\n"
    time.sleep(0.3)
    entry.restart()
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (9, numbers(1, 30)), err


def test_output_is_whole_however_often_the_workers_peer_is_killed(three):
    home, worker, _ = three.nodes
    data = os.urandom(3 * MEG)
    (home.place.work / "data").write_bytes(data)
    script = "for i in 1 2 3 4 5 6 7 8; do cat data; cat data >&2; sleep 0.3; done"
    with open(home.place.base / "out", "wb") as out, open(home.place.base / "err", "wb") as err:
        client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", script, stdout=out, stderr=err)
    for _ in range(4):
        time.sleep(0.5)
        worker.restart()
    assert client.wait(timeout=60) == 0
    assert (home.place.base / "out").read_bytes() == data * 8
    assert (home.place.base / "err").stat().st_size - len(data) * 8 in range(0, 2000)


def test_logs_outlive_a_machine_that_is_gone_and_forget_settles_its_jobs(three):
    home, worker, third = three.nodes
    job = home.submit("--on", worker.name, "--", "sh", "-c", "seq 1 50000; echo last words; exec sleep 1000")
    ended = home.submit("--on", worker.name, "--", "sh", "-c", "echo over; exit 5")
    assert home("wait", str(ended)).returncode == 5
    eventually(lambda: third("logs", str(job)).stdout.endswith(b"last words\n"), 10)
    client = third.place.start("attach", str(job))
    assert client.stdout.readline() == b"1\n"
    worker.lose()
    eventually(lambda: three.leader(home) not in (None, worker), 20, "that another leads")
    for node in (home, third):
        want = b"".join(b"%d\n" % number for number in range(1, 50001)) + b"last words\n"
        assert node("logs", str(job)).stdout == want
        assert node("logs", str(ended)).stdout == b"over\n"
        assert node("wait", str(ended)).returncode == 5
    eventually(lambda: home.peers()[worker.name]["state"] == "unreachable", 30)
    assert home.job(job)["outcome"] is None
    assert third("peers", "forget", worker.name).returncode == 0
    assert home("wait", str(job), timeout=20).returncode == 125
    assert home.job(job)["outcome"]["kind"] == "lost"
    client.communicate(timeout=20)
    assert client.returncode == 125
    assert worker.name not in home.peers()
    assert home("logs", str(job)).stdout.endswith(b"last words\n")
    assert third("run", "--", "echo", "on").stdout == b"on\n"


def test_the_leader_is_killed_three_times_and_every_acknowledged_job_ends_once(three):
    ledger = three.base / "ledger"
    client = three.nodes[0].place.start("run", "--on", three.nodes[2].name, "--", "sh", "-c", numbered(120, 0.1, 9))
    assert client.stdout.readline() == b"0\n"
    jobs, kills = {}, 0
    began = time.monotonic()
    while kills < 3 or time.monotonic() - began < 10:
        number = len(jobs)
        jobs[number] = three.nodes[number % 3].submit("--no-stage", "--", "sh", "-c",
                                                      f"echo {number} >>{ledger}; exit {number % 7}", timeout=60)
        if kills < 3 and time.monotonic() - began > 2 + 3 * kills:
            kills += 1
            leader = eventually(three.leader, 20, "that somebody leads")
            leader.restart()
        time.sleep(0.05)
    assert len(set(jobs.values())) == len(jobs)
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (9, numbers(1, 120)), err
    assert own_words(err)
    three.settle()
    three.nodes[1]("wait", *map(str, jobs.values()), timeout=60)
    assert sorted(int(line) for line in ledger.read_text().split()) == list(range(len(jobs)))
    rows = three.nodes[2].status(f"{min(jobs.values())}-{max(jobs.values())}")["jobs"]
    codes = {row["job"]: row["exit_status"] for row in rows}
    assert all(codes[job] == number % 7 for number, job in jobs.items())


def test_all_three_are_killed_at_once_and_come_back_with_their_jobs(three):
    home, worker, _ = three.nodes
    client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", numbered(40, 0.1, 9))
    assert client.stdout.readline() == b"0\n"
    time.sleep(0.3)
    for node in three.nodes:
        node.kill()
    for node in three.nodes:
        node.log.write_text("")
        node.start(wait=False)
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (9, numbers(1, 40)), err
    three.settle()


def test_a_peer_that_is_silent_for_a_while_loses_nothing(three):
    home, worker, third = three.nodes
    client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", numbered(30, 0.1, 9))
    assert client.stdout.readline() == b"0\n"
    worker.pause()
    time.sleep(4)
    assert third("run", "--on", third.name, "--", "echo", "on", timeout=30).stdout == b"on\n"
    worker.resume()
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out) == (9, numbers(1, 30)), err


def test_without_a_majority_what_runs_ends_and_its_client_has_the_code(three):
    leader = three.leader()
    one, two = three.followers()
    client = one.place.start("run", "--on", one.name, "--", "sh", "-c", numbered(25, 0.1, 4))
    assert client.stdout.readline() == b"0\n"
    leader.kill()
    two.kill()
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out) == (4, numbers(1, 25)), err


def test_output_and_results_are_there_while_the_home_is_dead(three):
    home, worker, third = three.nodes
    job = str(home.submit("--on", worker.name, "--out", "made", "--", "sh", "-c",
                          "echo hi; echo x >made; sleep 1; echo bye; exit 5"))
    eventually(lambda: third("logs", job).stdout == b"hi\n", 10)
    home.kill()
    assert third("wait", job, timeout=30).returncode == 5
    assert third("logs", job).stdout == b"hi\nbye\n"
    assert third("get", job).returncode == 0
    assert (third.place.work / "made").read_text() == "x\n"


def test_a_job_that_waits_keeps_its_files_and_secrets_when_the_home_is_gone_for_good(three):
    home, worker, third = three.nodes
    every = str(os.cpu_count())
    first = third.submit("--on", worker.name, "--cpus", every, "--no-stage", "--", "sleep", "1000")
    eventually(lambda: third.runs(first), 10)
    (home.place.work / "a").write_bytes(os.urandom(9 * MEG))
    want = home.place.bash("sha256sum <a").stdout
    job = str(home.submit("--on", worker.name, "--cpus", every, "--secret", "TOKEN", "--", "sh", "-c",
                          "sha256sum <a; echo ${#TOKEN}", env={"TOKEN": "seven77"}))
    home.lose()
    assert third("cancel", str(first), timeout=40).returncode == 0
    assert third("wait", job, timeout=40).returncode == 0
    assert third("logs", job).stdout == want + b"7\n"


def test_a_tree_arrives_whole_when_either_side_is_killed_while_it_travels(three):
    home, worker, _ = three.nodes
    for number in range(15):
        (home.place.work / f"f{number}").write_bytes(os.urandom(4 * MEG))
    for who, pause in ((worker, 0.2), (home, 0.2), (worker, 0.5), (home, 0.6)):
        for number in range(4):
            (home.place.work / f"f{number}").write_bytes(os.urandom(4 * MEG))
        want = home.place.bash("cat f* | sha256sum").stdout
        client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", "cat f* | sha256sum")
        time.sleep(pause)
        who.restart()
        out, err = client.communicate(timeout=60)
        assert (client.returncode, out) == (0, want), err


def test_a_machine_that_starts_again_tells_that_its_job_is_lost(three):
    home, worker, _ = three.nodes
    client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", "echo up; exec sleep 1000")
    assert client.stdout.readline() == b"up\n"
    worker.lose()
    worker.start(wait=False)
    _, err = client.communicate(timeout=40)
    assert client.returncode == 125 and b"lost" in err
