"""Who belongs to a cluster: it grows, hands over, is left, and is asked from outside."""
import hashlib
import os
import time

import pytest
from cluster import Cluster, numbered, numbers, own_words
from conftest import as_root, eventually
from processes import everybody

pytestmark = as_root

MEG = 1 << 20


@pytest.fixture
def three(run, gpl):
    with Cluster(gpl, run.base, 3) as cluster:
        yield cluster


def test_a_leader_that_is_told_to_stop_hands_over_first(three):
    leader = three.leader()
    one, two = three.followers()
    client = one.place.start("run", "--on", two.name, "--", "sh", "-c", numbered(15, 0.1))
    assert client.stdout.readline() == b"0\n"
    assert leader.stop() == 0
    # Before it was gone: nobody has to notice and to vote.
    assert leader.name not in (one.status()["leader"], two.status()["leader"])
    done = two("run", "--no-stage", "--", "echo", "on")
    assert (done.stdout, done.stderr) == (b"on\n", b"")
    out, err = client.communicate(timeout=30)
    assert (client.returncode, out, err) == (0, numbers(1, 15), b"")
    assert leader.start().process.poll() is None
    three.settle()


def test_one_of_three_leaves_and_the_others_go_on(three):
    home, other, leaving = three.nodes
    job = home.submit("--on", leaving.name, "--", "sleep", "100")
    eventually(lambda: home.runs(job), 10)
    refused = leaving("leave")
    assert refused.returncode == 1 and f"job {job}".encode() in refused.stderr
    assert home("cancel", "--wait", str(job)).returncode == 0
    assert leaving("leave").returncode == 0
    assert leaving.process.wait(timeout=20) == 0
    assert not (leaving.state() / "peer").exists()
    eventually(lambda: leaving.name not in home.peers() and leaving.name not in other.peers(), 20)
    assert home("run", "--on", other.name, "--", "echo", "on").stdout == b"on\n"
    assert home("logs", str(job)).returncode == 0


def test_with_one_of_three_down_all_goes_on_and_with_two_reads_do(three):
    leader = three.leader()
    one, two = three.followers()
    leader.kill()
    for near, far in ((one, two), (two, one)):
        done = near("run", "--on", far.name, "--", "echo", "on", timeout=30)
        assert (done.returncode, done.stdout) == (0, b"on\n"), done.stderr
    job = one.submit("--on", one.name, "--", "sh", "-c", numbered(40, 0.1, 4))
    eventually(lambda: one.runs(job), 10)
    two.kill()
    eventually(lambda: one.status()["leader"] is None, 20, "that nobody leads")
    assert b"leader" in one("status").stdout
    eventually(lambda: one("logs", str(job), timeout=30).stdout == numbers(0, 40), 30)
    waiting = one.place.start("submit", "--no-stage", "--", "true")
    time.sleep(1)
    assert waiting.poll() is None or waiting.returncode == 125
    two.start(wait=False)
    waiting.communicate(timeout=60)
    assert waiting.returncode in (0, 125)
    eventually(lambda: one.status()["leader"], 30, "that somebody leads again")
    assert one("wait", str(job), timeout=20).returncode == 4
    assert two("run", "--on", one.name, "--", "echo", "on").stdout == b"on\n"
    leader.start()
    three.settle()


def test_a_client_that_knows_several_peers_goes_on_with_another(run, three):
    home, worker, entry = three.nodes
    run.write_config("mdns = false\n")
    (run.config / "gpl" / "cluster.key").write_bytes((home.place.config / "gpl" / "cluster.key").read_bytes())
    (run.config / "gpl" / "cluster.key").chmod(0o600)
    peers = f"{entry.address()},{home.address()}"
    client = run.start("run", "--peers", peers, "--on", worker.name, "--", "sh", "-c", numbered(40, 0.1, 9))
    assert client.stdout.readline() == b"0\n"
    time.sleep(0.3)
    entry.kill()
    out, err = client.communicate(timeout=60)
    assert (client.returncode, out) == (9, numbers(1, 40)), err
    assert own_words(err)


def outside(run, *peers):
    """`run` as a machine that has the key and no peer, and asks those."""
    addresses = ", ".join(f'"{node.address()}"' for node in peers)
    run.write_config(f"mdns = false\npeers = [{addresses}]\n")
    key = run.config / "gpl" / "cluster.key"
    key.write_bytes((peers[0].place.config / "gpl" / "cluster.key").read_bytes())
    key.chmod(0o600)


def test_a_machine_without_a_peer_can_do_all_of_it(run, three):
    home, worker, _ = three.nodes
    outside(run, home)
    data = os.urandom(3 * MEG)
    (run.work / "in").write_bytes(data)
    for far in three.nodes:
        done = run("run", "--stdin", "--on", far.name, "--", "sha256sum", input=data)
        assert done.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()
        done = run("run", "--on", far.name, "--secret", "TOKEN", "--out", "out", "--", "sh", "-c",
                   "cp in out; echo ${#TOKEN}; exit 3", env={"TOKEN": "abc"})
        assert (done.returncode, done.stdout, done.stderr) == (3, b"3\n", b"")
        assert (run.work / "out").read_bytes() == data
        (run.work / "out").unlink()
    job = run("submit", "--on", worker.name, "--", "sh", "-c", "echo x >made; " + numbered(20, 0.1, 4)).stdout.decode()
    follower = run.start("logs", "-f", job.strip())
    assert follower.stdout.readline() == b"0\n"
    assert run("exec", job.strip(), "--", "cat", "made").stdout == b"x\n"
    out, _ = follower.communicate(timeout=20)
    assert out == numbers(1, 20)
    assert run("wait", "last").returncode == 4
    assert run("get", "last").returncode == 0
    assert (run.work / "made").read_text() == "x\n"


def test_of_a_client_without_a_peer_a_copy_of_the_output_is_kept_elsewhere(run, three):
    home, _, third = three.nodes
    outside(run, home, third)
    client = run.start("run", "--on", home.name, "--", "sh", "-c", "echo one; exec sleep 1000")
    assert client.stdout.readline() == b"one\n"
    job = str(third.status()["active"][0]["job"])
    time.sleep(0.5)
    home.lose()
    eventually(lambda: third("logs", job).stdout == b"one\n", 20)
    client.kill()
    client.communicate()
    assert third("cancel", job, timeout=40).returncode == 0


def test_it_grows_to_seven_and_five_of_them_vote(run, gpl):
    with Cluster(gpl, run.base, 4) as cluster:
        first, _, _, learner = cluster.nodes
        assert sorted(row["part"] for row in learner.peers().values()) == ["leader", "learner", "voter", "voter"]
        for near, far in ((learner, first), (first, learner), (learner, learner)):
            assert near("run", "--on", far.name, "--", "echo", "x").stdout == b"x\n"
        for _ in range(3):
            cluster.add()
        parts = ["leader"] + ["learner"] * 2 + ["voter"] * 4
        eventually(lambda: sorted(row["part"] for row in learner.peers().values()) == parts, 30)
        cluster.leader().kill()
        for near in cluster.followers()[:3]:
            done = near("run", "--on", learner.name, "--no-stage", "--", "echo", "x", timeout=30)
            assert done.stdout == b"x\n", done.stderr


def test_of_two_the_other_waits_for_the_one_that_votes(run, gpl):
    with Cluster(gpl, run.base, 2) as cluster:
        first, second = cluster.nodes
        assert second.status()["unprotected"] is False
        job = second.submit("--on", second.name, "--", "sh", "-c", numbered(25, 0.1, 3))
        eventually(lambda: second.runs(job), 10)
        first.kill()
        eventually(lambda: second.status()["leader"] is None, 20, "that nobody leads")
        eventually(lambda: second("logs", str(job)).stdout == numbers(0, 25), 20)
        waiting = second.place.start("run", "--no-stage", "--", "echo", "late")
        first.restart()
        out, err = waiting.communicate(timeout=60)
        assert (waiting.returncode, out) == (0, b"late\n"), err
        assert second("wait", str(job), timeout=20).returncode == 3
        second.kill()
        assert first("run", "--no-stage", "--", "echo", "alone", timeout=30).stdout == b"alone\n"
        second.restart(wait=True)
        assert first("run", "--on", second.name, "--", "echo", "both", timeout=30).stdout == b"both\n"


def test_one_that_was_given_up_and_comes_back_ends_what_it_ran_and_joins_anew(three):
    home, worker, _ = three.nodes
    word = str(1_000_000 + os.getpid())
    client = home.place.start("run", "--on", worker.name, "--", "sh", "-c", f"echo up; exec sleep {word}")
    assert client.stdout.readline() == b"up\n"
    refused = home("peers", "forget", worker.name)
    assert refused.returncode == 1 and refused.stderr != b""
    worker.pause()
    eventually(lambda: home.peers()[worker.name]["state"] == "unreachable", 30)
    assert home("peers", "forget", worker.name).returncode == 0
    client.communicate(timeout=20)
    assert client.returncode == 125
    worker.resume()
    eventually(lambda: not [one for one in everybody() if one.command == f"sleep {word}"], 20)
    eventually(lambda: worker.name in home.peers() and home.peers()[worker.name]["state"] == "up", 20)
    assert home("run", "--on", worker.name, "--", "echo", "back", timeout=30).stdout == b"back\n"
