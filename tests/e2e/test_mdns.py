"""Peers that announce and find each other on a network: net::Mdns through tests/net/mdns_tool."""
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest
from conftest import ROOT, eventually
from namespaces import needs_namespaces, network

pytestmark = needs_namespaces

TOOL = pathlib.Path(os.environ.get("GPL_MDNS_TOOL", ROOT / "build" / "tests" / "mdns_tool"))


class Tool:
    """mdns_tool in a host. `seen` holds what it knows now: instance -> (port, text, addresses)."""

    def __init__(self, host, instance=None, port=7457, **text):
        assert os.access(TOOL, os.X_OK), f"{TOOL} is not there: scripts/build makes it"
        self.seen, self.told, self.notes, self.ready, self.when = {}, [], [], None, {}
        words = [TOOL]
        if instance:
            words += ["--announce", instance, port, *(f"{k}={v}" for k, v in text.items())]
        self.process = host.start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        eventually(lambda: self.ready is not None, 20, "that mdns_tool is ready")

    def _read(self):
        for line in self.process.stdout:
            ms, kind, *words = line.split()
            if kind == "ready":
                self.ready = int(words[0])
            elif kind == "found":
                instance, port, text, *addresses = words
                self.when.setdefault(instance, int(ms))
                self.seen = {**self.seen, instance: (int(port), text, addresses)}
            elif kind == "gone":
                self.seen = {k: v for k, v in self.seen.items() if k != words[0]}
            else:
                self.notes.append(line)
            self.told.append((kind, words))

    def say(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(timeout=20) == 0
        self.reader.join(timeout=20)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def finds(self, *instances, seconds=15):
        eventually(lambda: set(self.seen) == set(instances), seconds, f"that {instances} are found")


def test_three_announcers_see_each_other_with_port_text_and_addresses():
    with network(3) as net:
        a, b, c = (Tool(host, name, port, id=name, key="beef")
                   for host, name, port in zip(net.hosts, ("a1", "b2", "c3"), (1001, 1002, 1003)))
        a.finds("b2", "c3")
        b.finds("a1", "c3")
        c.finds("a1", "b2")
        port, text, addresses = b.seen["c3"]
        assert (port, text) == (1003, "id=c3,key=beef")
        assert addresses[0] == "10.77.0.3"
        assert "fd77::3" in addresses
        assert re.fullmatch(r"fe80::[0-9a-f:]+%eth0", addresses[-1])
        assert not a.notes + b.notes + c.notes


def test_who_comes_late_finds_those_that_are_there_by_its_first_question():
    with network(3) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2")
        a.finds("b2")
        b.finds("a1")
        time.sleep(2.5)  # each announces twice, and a record rests for a second after that
        late = Tool(net.hosts[2])
        late.finds("a1", "b2")
        print("ms until found:", late.when)
        assert max(late.when.values()) < 900, "the second question is asked after a second"


def test_a_goodbye_is_told_soon():
    with network(2) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2")
        a.finds("b2")
        b.stop()
        a.finds(seconds=5)
        assert a.told[-1] == ("gone", ["b2"])


def test_one_that_was_killed_is_found_anew_with_its_new_port():
    with network(2) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2", 1002)
        a.finds("b2")
        b.kill()
        Tool(net.hosts[1], "b2", 2002)
        eventually(lambda: a.seen["b2"][0] == 2002, 15, "that the new port is known")
        assert ("gone", ["b2"]) not in a.told


def test_another_port_and_text_are_told():
    with network(2) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2", 1002, v=1)
        a.finds("b2")
        b.say("announce", "b2", 3002, "v=2")
        eventually(lambda: a.seen["b2"][:2] == (3002, "v=2"), 15, "that the change is known")


def test_ipv6_alone_is_enough():
    with network(2, ipv4=False) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2")
        a.finds("b2")
        b.finds("a1")
        assert a.seen["b2"][2][0] == "fd77::2"
        assert all(":" in address for address in a.seen["b2"][2])
        b.stop()
        a.finds(seconds=5)


def test_ipv4_alone_is_enough():
    with network(2, ipv6=False) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2")
        a.finds("b2")
        b.finds("a1")
        assert a.seen["b2"][2] == ["10.77.0.2"]


def test_docker0_is_never_announced():
    with network(2, docker0=True) as net:
        a, b = Tool(net.hosts[0], "a1"), Tool(net.hosts[1], "b2")
        a.finds("b2")
        b.finds("a1")
        everything = [word for tool in (a, b) for _, words in tool.told for word in words]
        assert not [word for word in everything if word.startswith(("172.17.", "127."))]


def test_interfaces_and_addresses_that_come_and_go():
    with network(2, connected=False) as net:
        first, second = net.hosts
        a, b = Tool(first, "a1"), Tool(second, "b2")
        assert a.ready == 0
        net.connect(first)
        net.connect(second)
        a.finds("b2")
        b.finds("a1")
        second.ip("address", "del", "10.77.0.2/24", "dev", "eth0")
        second.ip("address", "add", "10.77.0.99/24", "dev", "eth0")
        eventually(lambda: "10.77.0.99" in a.seen["b2"][2] and "10.77.0.2" not in a.seen["b2"][2],
                   15, "that the new address alone is known")
        first.ip("link", "set", "eth0", "down")
        a.finds(seconds=5)
        first.ip("link", "set", "eth0", "up")
        a.finds("b2")


def test_two_links_between_two_hosts_are_one_instance_and_no_twin():
    with network(2) as net:
        first, second = net.hosts
        net.connect(second, "eth1")
        second.ip("address", "del", "10.77.0.2/24", "dev", "eth1")
        second.ip("address", "add", "10.77.0.50/24", "dev", "eth1")
        a, b = Tool(first, "a1"), Tool(second, "b2")
        assert b.ready == 2
        a.finds("b2")
        b.finds("a1")
        b.stop()
        a.finds(seconds=5)
        assert not [words for kind, words in b.told if words[0] == "b2" and kind == "found"]


def test_two_instances_on_one_host_see_each_other_and_the_third():
    with network(2) as net:
        a, b = Tool(net.hosts[0], "a1", 1001), Tool(net.hosts[0], "b2", 1002)
        c = Tool(net.hosts[1], "c3", 1003)
        a.finds("b2", "c3")
        b.finds("a1", "c3")
        c.finds("a1", "b2")
        assert a.seen["b2"][2][0] == "10.77.0.1"


def test_who_announces_what_another_machine_does_is_told_its_address():
    with network(2) as net:
        a = Tool(net.hosts[0], "a1", 7457, id="a1")
        looker = Tool(net.hosts[1])
        looker.finds("a1")
        looker.stop()
        b = Tool(net.hosts[1], "a1", 7457, id="a1")
        b.finds("a1")
        assert b.seen["a1"][2][0] == "10.77.0.1"
        assert "10.77.0.2" not in b.seen["a1"][2]


DBUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>unix:path={socket}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/>
<allow user="*"/></policy></busconfig>
"""
AVAHI = """[server]
use-ipv4=yes
use-ipv6=yes
enable-dbus=yes
disallow-other-stacks=no
"""


@pytest.fixture
def avahi(tmp_path):
    """Starts avahi-daemon in a host, with a bus of its own; gives what runs avahi's programs."""
    for program in ("avahi-daemon", "avahi-browse", "dbus-daemon"):
        found = subprocess.run(["which", program], capture_output=True, check=False)
        assert found.returncode == 0, f"{program} is missing: avahi-daemon avahi-utils dbus"

    def start(host):
        folder = tmp_path / host.name
        folder.mkdir()
        socket = folder / "bus"
        (folder / "dbus.conf").write_text(DBUS.format(socket=socket))
        (folder / "avahi.conf").write_text(AVAHI)
        env = dict(os.environ, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={socket}")
        log = open(folder / "log", "wb")
        host.start("dbus-daemon", "--nofork", f"--config-file={folder}/dbus.conf", "--nopidfile",
                   env=env, stdout=log, stderr=log)
        eventually(socket.exists, 10, "that the bus is there")
        # `ip netns exec` gives mounts of its own: avahi's pid file and socket are nobody else's.
        host.start("sh", "-c", "mount -t tmpfs none /run && mkdir /run/avahi-daemon &&"
                   f" exec avahi-daemon -f {folder}/avahi.conf --no-drop-root --no-chroot"
                   " --no-rlimits --no-proc-title", env=env, stdout=log, stderr=log)

        def browse():
            answer = host.run("avahi-browse", "-rpt", "_gpl._tcp", env=env, text=True, timeout=20)
            return [line.split(";") for line in answer.stdout.splitlines() if line[0] == "="]
        eventually(lambda: "startup complete" in (folder / "log").read_text(), 15,
                   "that avahi-daemon runs")
        log.close()
        return browse
    return start


def test_avahi_browse_sees_all_and_a_responder_beside_avahi_works(avahi):
    with network(3) as net:
        browse = avahi(net.hosts[0])
        tools = [Tool(host, name, port, id=name)
                 for host, name, port in zip(net.hosts, ("a1", "b2", "c3"), (1001, 1002, 1003))]
        tools[0].finds("b2", "c3")
        tools[1].finds("a1", "c3")

        def complete():
            rows = browse()
            v4 = {(row[3], row[6], row[7], row[8], row[9]) for row in rows if row[2] == "IPv4"}
            return v4 >= {("b2", "gpl-b2.local", "10.77.0.2", "1002", '"id=b2"'),
                          ("c3", "gpl-c3.local", "10.77.0.3", "1003", '"id=c3"'),
                          ("a1", "gpl-a1.local", "10.77.0.1", "1001", '"id=a1"')} and \
                {row[3] for row in rows if row[2] == "IPv6"} == {"a1", "b2", "c3"}
        eventually(complete, 30, "that avahi-browse shows all three")
        tools[2].stop()
        tools[0].finds("b2", seconds=5)
        eventually(lambda: {row[3] for row in browse()} == {"a1", "b2"}, 15,
                   "that avahi has understood the goodbye")
