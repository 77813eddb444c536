"""Clusters of machines in network namespaces: how they find each other, and what they run there.

What has to wait long (contact lost for 40 s, multicast that stays away) is begun before the first
test, and its tests are the last.
"""
import concurrent.futures
import ipaddress
import itertools
import json
import shutil
import subprocess
import time

import pytest
from conftest import _reap, eventually, lines
from machines import Machine, cluster, machines, together
from namespaces import needs_namespaces
from test_mdns import avahi  # noqa: F401 (a fixture)

pytestmark = needs_namespaces

LOOPBACK_NAME = "127.0.0.1 localhost\n127.0.1.1 {name}\n::1 ip6-localhost\n"


@pytest.fixture(scope="module", autouse=True)
def later(gpl, request):
    """What takes long, by its test's name: each runs beside the other tests."""
    slow = {
        "test_contact_lost_for_15_s": lambda: lost_contact(gpl, 15, cable=False),
        "test_contact_lost_for_40_s": lambda: lost_contact(gpl, 40, cable=True),
        "test_where_multicast_is_blocked": lambda: blocked_multicast(gpl),
        "test_another_address": lambda: other_address(gpl),
    }
    wanted = {item.name for item in request.session.items}
    with concurrent.futures.ThreadPoolExecutor(len(slow)) as pool:
        yield {name: pool.submit(run) for name, run in slow.items() if name in wanted}
    _reap()


@pytest.fixture(scope="module")
def lab(gpl):
    """Three peers that found each other by mDNS alone, and a host without one."""
    with machines(gpl, 4, hosts=LOOPBACK_NAME, docker0=True) as four:
        cluster(*four[:3])
        yield four


@pytest.fixture
def guest(gpl, lab, tmp_path):
    """Makes users of the host that has no peer; `mdns` is whether theirs is on."""
    numbers = itertools.count()

    def come(key=("client",), config=""):
        base = tmp_path / f"guest{next(numbers)}"
        base.mkdir()
        made = Machine(gpl, base, lab[3].host, "laptop")
        made.write_config(config)
        if key is not None:
            made.take_key(lab[0], *key)
        return made
    return come


def where(machine):
    """A command that prints the IPv4 address of the machine that it runs on."""
    return ["--on", machine.name, "--", "sh", "-c", "ip -4 -o address show eth0 | awk '{print $4}'"]


def ran_on(done, machine):
    said = f"{machine.host.v4}/24\n".encode()
    return (done.returncode, done.stdout, done.stderr) == (0, said, b"")


# Three peers by mDNS alone.

def test_each_of_three_peers_that_mdns_brought_together_shows_three_voters_of_three(lab):
    for machine in lab[:3]:
        shown = machine("status").stdout.decode()
        assert "3 voters of 3 peers" in shown
        assert "loss of 1 machine" in shown
        peers = machine.peers()
        assert {name: peer["state"] for name, peer in peers.items()} == {
            "lab1": "up", "lab2": "up", "lab3": "up"}
        assert sorted(peer["part"] for peer in peers.values()) == ["leader", "voter", "voter"]


def test_a_clean_start_says_nothing_of_trouble(lab):
    for machine in lab[:3]:
        said = [line for line in lines(machine.log.read_bytes()) if line.startswith("gpl: ")]
        assert len(said) == 1 and ("founded" in said[0] or "joined" in said[0]), machine.said()


def test_avahi_browse_sees_the_peers_under_their_own_addresses_and_names(lab, avahi):  # noqa: F811
    browse = avahi(lab[3].host)
    ids = {peer["id"]: name for name, peer in lab[0].peers().items()}
    addresses = {machine.name: machine.host.v4 for machine in lab[:3]}

    def complete():
        v4 = {(ids.get(row[3]), row[7], row[8]) for row in browse() if row[2] == "IPv4"}
        return v4 == {(name, address, "7457") for name, address in addresses.items()}
    eventually(complete, 20, "that avahi-browse shows the three peers and no other address")
    for row in browse():
        assert row[6] == f"gpl-{row[3]}.local"
        assert f'"id={row[3]}"' in row[9] and '"key=' in row[9] and '"version=' in row[9]
        assert row[2] == "IPv4" or ipaddress.ip_address(row[7]) not in ipaddress.ip_network("::1")


def test_neither_docker0_nor_the_hosts_file_gives_an_address(lab):
    for machine in lab[:3]:
        hosts = machine.command("getent", "hosts", machine.name).stdout.split()
        assert hosts[0] == b"127.0.1.1", "the test has no hosts file of that kind"
        assert b"172.17.0.1" in machine.command("ip", "address").stdout
        for name, peer in machine.peers().items():
            address = peer["address"]
            assert address.endswith(":7457")
            assert ipaddress.ip_address(address[:-5].strip("[]")) in {
                ipaddress.ip_address(words) for other in lab[:3] if other.name == name
                for words in (other.host.v4, other.host.v6)}
        assert "172.17.0.1" not in machine.said()
        assert "127.0." not in machine.said()


def test_from_each_peer_a_job_runs_on_each(lab):
    runs = [(there, here.start("run", *where(there))) for here in lab[:3] for there in lab[:3]]
    for there, process in runs:
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, f"{there.host.v4}/24\n".encode(), b"")


def test_status_tells_of_a_job_the_same_on_each_peer(lab):
    done = lab[0]("run", "--on", "lab2", "--name", "told", "--", "sh", "-c", "exit 3")
    assert done.returncode == 3
    job = str(lab[0].told("status", "last")["jobs"][0]["job"])
    tell = [machine.told("status", job)["jobs"][0] for machine in lab[:3]]
    for one in tell:
        assert (one["name"], one["where"], one["exit_status"]) == ("told", ["lab2"], 3)
        assert one["started_ms"]
        assert one.pop("by") == "root" if one is tell[0] else one.pop("by") == "root@lab1"
    assert tell[0] == tell[1] == tell[2]


def test_files_go_there_and_results_come_back(lab):
    (lab[0].work / "in.txt").write_text("from lab1\n")
    done = lab[0]("run", "--on", "lab3", "--out", "out/*", "--", "sh", "-c",
                  "mkdir out; (hostname; cat in.txt) > out/said; echo no > left; exit 4")
    assert done.returncode == 4
    assert (lab[0].work / "out" / "said").read_text() == "lab3\nfrom lab1\n"
    assert not (lab[0].work / "left").exists()
    assert not (lab[2].work / "out").exists()


def test_two_runs_at_once_from_one_shell_keep_their_bytes_whole_and_apart(lab):
    text = "for i in $(seq 20000); do echo %s out $i; done; echo %s err >&2"
    done = lab[0].bash("".join(
        f"gpl run --on {name} -- sh -c '{text % (name, name)}' > {name}.out 2> {name}.err & "
        for name in ("lab2", "lab3")) + "wait")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    for name in ("lab2", "lab3"):
        out = (lab[0].work / f"{name}.out").read_text()
        assert out == "".join(f"{name} out {i}\n" for i in range(1, 20001))
        assert (lab[0].work / f"{name}.err").read_text() == f"{name} err\n"


def test_lines_that_two_ranks_of_a_job_write_at_once_arrive_whole(lab):
    rank = "for i in $(seq 5000); do echo rank {0} says $i; done"
    done = lab[0]("run", "--on", "lab2", "--", "sh", "-c",
                  f"({rank.format(0)}) & ({rank.format(1)}) & wait")
    assert (done.returncode, done.stderr) == (0, b"")
    said = lines(done.stdout)
    for number in (0, 1):
        assert [line for line in said if line.startswith(f"rank {number} ")] == [
            f"rank {number} says {i}" for i in range(1, 5001)]
    assert len(said) == 10000


# Who has a key, and no peer.

def test_a_client_finds_the_cluster_by_mdns(lab, guest):
    assert ran_on(guest()("run", *where(lab[1])), lab[1])


@pytest.mark.parametrize("way", ["option", "variable", "configuration"])
def test_a_client_without_mdns_asks_the_peers_that_it_is_told(lab, guest, way):
    peers = f"10.77.0.250,{lab[1].host.v4}"  # the first is nobody's
    config = f'peers = {json.dumps(peers.split(","))}\n' if way == "configuration" else ""
    client = guest(config=config + "mdns = false\n")
    words = ["run", *(["--peers", peers] if way == "option" else []), *where(lab[2])]
    assert ran_on(client(*words, env={"GPL_PEERS": peers} if way == "variable" else {}), lab[2])


def test_a_client_that_finds_nobody_exits_with_125_and_runs_nothing(lab, guest):
    client = guest(config="mdns = false\n")
    for peers in ([], ["--peers", "10.77.0.250"]):
        began = time.monotonic()
        done = client("run", *peers, "--", "touch", client.base / "ran")
        assert (done.returncode, done.stdout) == (125, b"")
        assert b"--peers" in done.stderr and b"--local" in done.stderr or peers
        assert not (client.base / "ran").exists()
        assert time.monotonic() - began < 25
    stranger = guest(key=None)
    assert stranger("key", "new").returncode == 0
    done = stranger("run", "--", "true")
    assert done.returncode == 125, "its key is another cluster's"
    assert client("run", "--local", "--", "true").returncode == 0


def test_results_come_back_to_a_client_without_a_peer(lab, guest):
    client = guest()
    (client.work / "in.txt").write_text("from the laptop\n")
    done = client("run", "--stdin", "--on", "lab2", "--out", "*.out", "--", "sh", "-c",
                  "(hostname; cat in.txt -) > a.out; exit 5", input=b"and its input\n")
    assert done.returncode == 5
    assert (client.work / "a.out").read_text() == "lab2\nfrom the laptop\nand its input\n"


def test_a_client_key_gives_its_holder_his_own_jobs_alone(lab, guest):
    ana, ben = guest(), guest()
    submitted = ana("submit", "--on", "lab3", "--", "sh", "-c", "echo secret of ana; sleep 60")
    job = submitted.stdout.decode().strip()
    assert submitted.returncode == 0 and job.isdigit()
    eventually(lambda: b"secret" in ana("logs", job).stdout, 10, "that the job has written")
    for words in (["logs", job], ["cancel", job], ["exec", job, "--", "true"], ["attach", job]):
        done = ben(*words)
        assert done.returncode in (1, 125) and b"secret" not in done.stdout, (words, done)
    assert ben.told("status", job)["jobs"][0]["state"] == "running"
    assert ben("peers", "drain", "--no-wait", "lab1").returncode == 1
    assert lab[0].peers()["lab1"]["state"] == "up"
    assert ana("cancel", job).returncode == 0
    eventually(lambda: ana.told("status", job)["jobs"][0]["state"] == "ended", 15, "its end")


def test_an_observer_looks_and_does_nothing(lab, guest):
    observer = guest(key=("observer",))
    assert "3 voters of 3 peers" in observer("status").stdout.decode()
    assert observer("run", "--explain", "--", "true").stdout.startswith(b"fits")
    done = observer("run", "--", "touch", observer.base / "ran")
    assert done.returncode == 125 and b"observer" in done.stderr
    assert observer("submit", "--", "true").returncode in (1, 125)
    assert observer("peers", "drain", "--no-wait", "lab1").returncode == 1
    assert not (observer.base / "ran").exists()


@pytest.mark.parametrize("role", ["client", "observer"])
def test_a_derived_key_makes_no_worker(lab, guest, role):
    holder = guest(key=(role,))
    for words in (["worker"], ["worker", "--join"], ["worker", f"--join={lab[0].host.v4}"]):
        done = holder(*words, timeout=20)
        assert done.returncode == 2
        assert role.encode() in done.stderr and b"gpl key" in done.stderr
    assert set(lab[0].peers()) == {"lab1", "lab2", "lab3"}


def test_where_the_cluster_answers_a_worker_founds_no_second_one(lab, guest):
    for config in ("", f'mdns = false\npeers = ["{lab[1].host.v4}"]\n'):
        second = guest(key=(), config=config)
        done = second("worker", timeout=20)
        assert done.returncode == 1
        assert b"gpl worker --join" in done.stderr
    assert set(lab[0].peers()) == {"lab1", "lab2", "lab3"}


# Other networks.

def test_three_peers_by_seeds_alone(gpl):
    hosts = LOOPBACK_NAME + "10.77.0.1 first.example\n"
    with machines(gpl, 4, hosts=hosts) as (one, two, three, stranger):
        for machine in (one, two):
            machine.write_config("mdns = false\n")
        three.write_config(f'mdns = false\npeers = ["10.77.0.250", "{two.host.v4}:7457"]\n')
        cluster(one, two, join="--join=first.example")
        three.take_key(one)
        three.work_on("--join", wait=False)
        together(one, two, three)
        assert ran_on(three("run", *where(one)), one)
        assert ran_on(one("run", *where(three)), three)
        stranger.take_key(one)
        assert stranger("status").returncode == 125, "they are announced, though mDNS is off"


def test_two_clusters_with_two_keys_on_one_bridge_stay_apart(gpl):
    with machines(gpl, 4) as (one, two, three, four):
        one.work_on()
        three.work_on()
        for founder, other in ((one, two), (three, four)):
            other.take_key(founder)
            other.work_on("--join", wait=False)
        together(one, two)
        together(three, four)
        assert set(one.peers()) == set(two.peers()) == {"lab1", "lab2"}
        assert set(three.peers()) == set(four.peers()) == {"lab3", "lab4"}
        assert ran_on(two("run", *where(one)), one)
        assert two("run", *where(three)).returncode == 125
        done = two("status", "--peers", three.host.v4)
        assert done.returncode == 125 and b"key" in done.stderr


@pytest.mark.parametrize("addresses", ["global", "link-local"])
def test_ipv6_alone(gpl, addresses):
    with machines(gpl, 4, ipv4=False) as (one, two, three, client):
        if addresses == "link-local":
            for machine in (one, two, three, client):
                machine.host.ip("address", "del", f"{machine.host.v6}/64", "dev", "eth0")
        cluster(one, two, three)
        begin = "[fd77::" if addresses == "global" else "[fe80::"
        for machine in (one, two, three):
            for name, peer in machine.peers().items():
                assert name == machine.name or peer["address"].startswith(begin), peer
        assert two("run", "--on", "lab3", "--", "hostname").stdout == b"lab3\n"
        client.take_key(one)
        assert client("run", "--on", "lab1", "--", "hostname").stdout == b"lab1\n"
        if addresses == "global":
            there = ["--on", "lab2", "--", "hostname"]
            assert client("run", "--peers", f"[{two.host.v6}]:7457", *there).stdout == b"lab2\n"
            assert client("run", "--peers", two.host.v6, *there).stdout == b"lab2\n"


def test_a_network_that_comes_after_the_workers(gpl):
    with machines(gpl, 2, connected=False) as (one, two):
        one.work_on()
        two.take_key(one)
        two.work_on("--join", wait=False)
        eventually(lambda: two.said(), 10, "that it says that it looks")
        for machine in (one, two):
            one.net.connect(machine.host)
        together(one, two)
        assert ran_on(one("run", *where(two)), two)


def test_another_port_where_the_usual_one_is_taken_by_a_restart(gpl):
    with machines(gpl, 2) as (one, two):
        cluster(one, two)
        assert two.stop() == 0
        taker = two.host.start(
            "/usr/bin/python3", "-c", "import socket, time; s = socket.create_server(('::', 7457), "
            "family=socket.AF_INET6); print(flush=True); time.sleep(99)", stdout=subprocess.PIPE)
        taker.stdout.readline()
        two.work_on()
        together(one, two)
        assert not one.peers()["lab2"]["address"].endswith(":7457")
        assert ran_on(one("run", *where(two)), two)


def test_a_worker_that_takes_no_connections_from_outside(gpl):
    """As a usual firewall has it; its own connections are let out."""
    with machines(gpl, 3) as (one, two, client):
        two.host.drop("input", "tcp", "dport", 7457, "ct", "state", "new")
        cluster(one, two)
        client.take_key(one, "client")
        for machine in (one, client):
            process = machine.start("run", *where(two))
            out, err = process.communicate(timeout=20)
            assert (process.returncode, out) == (0, f"{two.host.v4}/24\n".encode()), err
        assert ran_on(two("run", *where(one)), one)


# Twins.

def test_machines_of_one_name_are_told_apart_by_their_ids(gpl):
    with machines(gpl, 3, names=["lab1", "twin", "twin"]) as (one, two, three):
        cluster(one, two, three)
        told = {peer["address"]: peer["id"] for peer in one.told("peers")["peers"]}
        ids = {machine: told[f"{machine.host.v4}:7457"] for machine in (two, three)}
        for machine, peer in ids.items():
            assert ran_on(one("run", "--on", peer, *where(machine)[2:]), machine)
        drained = one("peers", "drain", "twin")
        assert drained.returncode == 1
        run = one("run", "--on", "twin", "--", "true")
        assert run.returncode == 125
        for done in (drained, run):
            assert all(peer.encode() in done.stderr for peer in ids.values()), done.stderr


def test_a_copy_of_a_state_folder_is_refused_and_both_addresses_are_named(gpl):
    with machines(gpl, 3) as (one, two, copy):
        cluster(one, two)
        assert two.stop() == 0
        shutil.rmtree(copy.state)
        shutil.copytree(two.state, copy.state, ignore=shutil.ignore_patterns("*.sock"))
        copy.take_key(one)
        two.work_on()
        copy.work_on(wait=False)
        assert copy.worker.wait(timeout=20) == 1

        def names_both(machine):
            return any(f"{two.host.v4}:7457" in line and f"{copy.host.v4}:7457" in line
                       for line in machine.said().splitlines())
        assert names_both(copy), copy.said()
        # Whom of them it has met first.
        assert names_both(one) or names_both(two), one.said() + two.said()
        assert "gpl worker --join" in copy.said()
        assert set(one.peers()) == {"lab1", "lab2"}
        assert ran_on(one("run", *where(two)), two)
        # What the message says is the way out.
        [folder] = copy.state.glob("gpl/*/peer")
        shutil.rmtree(folder)
        copy.work_on("--join", wait=False)
        together(one, two, copy)


# Goodbye.

def test_a_peer_that_leaves_or_is_stopped_is_missed(gpl, avahi):  # noqa: F811
    with machines(gpl, 4) as (one, two, three, looker):
        browse = avahi(looker.host)
        cluster(one, two, three)
        ids = {name: peer["id"] for name, peer in one.peers().items()}

        def announced():
            return {row[3] for row in browse()}
        eventually(lambda: announced() == set(ids.values()), 15, "that all are announced")
        assert three("leave").returncode == 0
        assert three.worker.wait(timeout=10) == 0
        for machine in (one, two):
            eventually(lambda one=machine: set(one.peers()) == {"lab1", "lab2"}, 5, "the leave")
        # Who hears a goodbye forgets after a second (RFC 6762, section 10.1).
        eventually(lambda: ids["lab3"] not in announced(), 3, "that its goodbye is heard")
        assert not list(three.state.glob("gpl/*/peer")), "it has kept what it was"
        assert two.stop() == 0
        # Its jobs would go on: it is out of reach, and known to be after 10 s of silence.
        eventually(lambda: one.peers()["lab2"]["state"] != "up", 15, "that the stop is seen")
        eventually(lambda: ids["lab2"] not in announced(), 3, "that its goodbye is heard")
        # It left its seat first: the other goes on alone.
        assert one("run", "--", "true").returncode == 0
        two.work_on()
        together(one, two)


# What takes long.

def blocked_multicast(gpl):
    with machines(gpl, 5) as (one, two, three, lone, client):
        for machine in (one, two, three, lone, client):
            machine.host.drop("input", "udp", "dport", 5353)
        cluster(one, two, join=f"--join={one.host.v4}")
        three.take_key(one)
        three.write_config(f'peers = ["{one.host.v4}"]\n')
        three.work_on("--join", wait=False)
        together(one, two, three)
        for machine in (lone, client):
            machine.take_key(one)
        lone.work_on("--join", wait=False)
        done = client("run", "--", "true")
        assert done.returncode == 125 and b"mDNS" in done.stderr and b"--peers" in done.stderr
        assert ran_on(client("run", "--peers", two.host.v4, *where(three)), three)

        def warnings(machine):
            return [line for line in machine.said().splitlines() if "multicast" in line]
        for machine in (one, two, three, lone):
            eventually(lambda one=machine: warnings(one), 45, f"that {machine.name} says so")
        for machine in (one, two, three, lone):
            assert len(warnings(machine)) == 1, machine.said()
            assert "--join" in warnings(machine)[0]
        assert lone.worker.poll() is None, "it goes on looking"


def other_address(gpl):
    with machines(gpl, 3, ipv6=False) as (one, two, three):
        cluster(one, two, three)
        starts = one.base / "starts"
        run = one.start("run", "--on", "lab3", "--", "sh", "-c", WRITER.format(starts=starts))
        eventually(starts.exists, 10, "that the job has started")
        three.host.ip("address", "del", "10.77.0.3/24", "dev", "eth0")
        three.host.ip("address", "add", "10.77.0.33/24", "dev", "eth0")
        for machine in (one, two):
            eventually(lambda m=machine: m.peers()["lab3"]["address"] == "10.77.0.33:7457", 30,
                       "that the new address is told")
        out, err = run.communicate(timeout=30)
        assert (run.returncode, out.decode()) == (7, WRITTEN), err
        assert starts.read_text() == "started\n"


WRITER = """echo started >> {starts}
for i in $(seq 200); do echo line $i; echo error $i >&2; sleep 0.1; done
exit 7"""
WRITTEN = "".join(f"line {i}\n" for i in range(1, 201))


def lost_contact(gpl, seconds, cable):
    """The third machine is cut off for a while, with a job on it and a client."""
    with machines(gpl, 3) as (one, two, three):
        cluster(one, two, three)
        runs = []
        for here, there in ((one, three), (three, one)):
            script = WRITER.format(starts=here.base / "starts")
            runs.append(here.start("run", "--on", there.name, "--", "sh", "-c", script))
            eventually((here.base / "starts").exists, 10, "that the job has started")
        job = one.told("status", "last")["jobs"][0]["job"]
        time.sleep(1)
        cut = time.monotonic()
        if cable:
            one.net.pull_cable(three.host)
        else:
            three.host.ip("link", "set", "eth0", "down")
        for machine in (one, two):
            eventually(lambda m=machine: m.peers()["lab3"]["state"] == "unreachable", 25,
                       "that lab3 is called unreachable")
            assert machine.peers()["lab1"]["state"] == machine.peers()["lab2"]["state"] == "up"
        assert time.monotonic() - cut > 8
        assert one.told("status", str(job))["jobs"][0]["state"] != "ended"
        assert ran_on(one("run", *where(two)), two)
        time.sleep(max(0, cut + seconds - time.monotonic()))
        assert [run.poll() for run in runs] == [None, None]
        if cable:
            one.net.plug_cable(three.host)
        else:
            three.host.ip("link", "set", "eth0", "up")
        plugged = time.monotonic()
        for machine in (one, two, three):
            eventually(lambda m=machine: {peer["state"] for peer in m.peers().values()} == {"up"},
                       15, f"that {machine.name} sees all again")
        print(f"{seconds} s: all linked {time.monotonic() - plugged:.1f} s after")
        for here, run in zip((one, three), runs):
            out, err = run.communicate(timeout=30)
            assert (run.returncode, out.decode()) == (7, WRITTEN), err
            told = [line for line in lines(err) if not line.startswith("gpl: ")]
            assert told == [f"error {i}" for i in range(1, 201)]
            assert (here.base / "starts").read_text() == "started\n", "a second copy was started"
        for machine in (one, two, three):
            [told] = machine.told("status", str(job))["jobs"]
            assert (told["state"], told["exit_status"], told["where"]) == ("ended", 7, ["lab3"])


def test_where_multicast_is_blocked(later, request):
    later[request.node.name].result()


def test_another_address(later, request):
    later[request.node.name].result()


def test_contact_lost_for_15_s(later, request):
    later[request.node.name].result()


def test_contact_lost_for_40_s(later, request):
    later[request.node.name].result()
