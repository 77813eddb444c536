"""Several hosts on one machine, as root: network namespaces whose eth0 are joined by a bridge.

    with network(3) as net:
        net.hosts[0].run("ip", "address")

The bridge is in a namespace of its own, so that nothing of the machine's own network is touched.
At the end what still runs in the namespaces is killed, and all of them are removed.
"""
import contextlib
import itertools
import os
import signal
import subprocess
import time

import pytest

PREFIX = "gple2e"  # of a namespace's name: then this process and a number
_numbers = itertools.count()

needs_namespaces = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def _ip(*words, check=True):
    return subprocess.run(["ip", *map(str, words)], check=check, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True).stdout


def _namespaces():
    return [line.split()[0] for line in _ip("netns", "list").splitlines() if line.strip()]


def _remove(name):
    for pid in _ip("netns", "pids", name, check=False).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    _ip("netns", "del", name, check=False)


def _remove_those_of_the_dead():
    """What test runs have left that were killed themselves."""
    for name in _namespaces():
        parts = name.split("-")
        if len(parts) == 3 and parts[0] == PREFIX and not os.path.exists(f"/proc/{parts[1]}"):
            _remove(name)


class Namespace:
    """A network of its own; its programs share the files of all."""

    def __init__(self):
        self.name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self.started = []
        _ip("netns", "add", self.name)
        self.ip("link", "set", "lo", "up")

    def ip(self, *words):
        return _ip("-n", self.name, *words)

    def command(self, *words):
        return ["ip", "netns", "exec", self.name, *map(str, words)]

    def run(self, *words, **options):
        """Bytes in and out, unless `text` is given; its exit code is the caller's matter."""
        options.setdefault("timeout", 60)
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.run(self.command(*words), **options)

    def start(self, *words, **options):
        """In the background; killed at the end of the network if the caller did not wait."""
        options.setdefault("stdin", subprocess.DEVNULL)
        process = subprocess.Popen(self.command(*words), **options)
        self.started.append(process)
        return process

    def drop(self, way, *rule):
        """nft: what matches is lost on its way: drop("input", "udp", "dport", 5353)."""
        self.run("nft", f"add table inet lost; add chain inet lost {way} {{ type filter hook {way} "
                 f"priority 0; }}; add rule inet lost {way} {' '.join(map(str, rule))} drop",
                 check=True)

    def setting(self, name, value):
        """As sysctl: net.ipv6.conf.all.disable_ipv6."""
        path = "/proc/sys/" + name.replace(".", "/")
        self.run("sh", "-c", f"echo {value} > {path}", check=True)

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    with contextlib.suppress(OSError):
                        pipe.close()
        _remove(self.name)


class Host(Namespace):
    """`v4` and `v6` are what eth0 has in net.connect's network, or None."""

    def __init__(self, number):
        super().__init__()
        self.number, self.v4, self.v6, self.port = number, None, None, None

    def add_docker0(self):
        """As Docker does on every host: the same address everywhere, and nothing behind it."""
        self.ip("link", "add", "docker0", "type", "bridge")
        self.ip("address", "add", "172.17.0.1/16", "dev", "docker0")
        self.ip("link", "set", "docker0", "up")


class Network:
    """`hosts`, of which host N (from 1) has 10.77.0.N and fd77::N on eth0."""

    def __init__(self, count, ipv4=True, ipv6=True, docker0=False, connected=True):
        self.ipv4, self.ipv6, self.hosts, self._all = ipv4, ipv6, [], []
        try:
            self.hub = self._keep(Namespace())
            self.hub.ip("link", "add", "bridge", "type", "bridge")
            self.hub.ip("link", "set", "bridge", "up")
            for number in range(1, count + 1):
                host = self._keep(Host(number))
                self.hosts.append(host)
                if not ipv6:
                    host.setting("net.ipv6.conf.all.disable_ipv6", 1)
                    host.setting("net.ipv6.conf.default.disable_ipv6", 1)
                elif os.path.exists("/proc/sys/net/ipv6"):
                    # Or an address can be used only after a second or two.
                    host.setting("net.ipv6.conf.default.accept_dad", 0)
                if docker0:
                    host.add_docker0()
                if connected:
                    self.connect(host)
        except BaseException:
            self.end()
            raise

    def _keep(self, namespace):
        self._all.append(namespace)
        return namespace

    def connect(self, host, name="eth0"):
        """A new interface of the host, on the bridge."""
        port = f"port{next(_numbers)}"
        self.hub.ip("link", "add", port, "type", "veth", "peer", "name", name, "netns", host.name)
        self.hub.ip("link", "set", port, "master", "bridge", "up")
        if self.ipv4:
            host.v4 = f"10.77.0.{host.number}"
            host.ip("address", "add", f"{host.v4}/24", "dev", name)
        if self.ipv6:
            host.v6 = f"fd77::{host.number}"
            host.ip("address", "add", f"{host.v6}/64", "dev", name, "nodad")
        host.ip("link", "set", name, "up")
        host.port = port
        self._wait_for_carrier(host, name)

    def pull_cable(self, host):
        """Of its newest interface: that stays up and keeps its addresses, and has no carrier."""
        self.hub.ip("link", "set", host.port, "down")

    def plug_cable(self, host):
        self.hub.ip("link", "set", host.port, "up")

    @staticmethod
    def _wait_for_carrier(host, name):
        deadline = time.monotonic() + 10
        while "LOWER_UP" not in host.ip("link", "show", name):
            assert time.monotonic() < deadline, f"{name} of {host.name} has no carrier"
            time.sleep(0.01)

    def end(self):
        # The hub last: it holds the other ends of all.
        for namespace in reversed(self._all):
            namespace.end()


@contextlib.contextmanager
def network(count, **options):
    """A Network that is removed at the end, also after a failure. Requires root."""
    _remove_those_of_the_dead()
    net = Network(count, **options)
    try:
        yield net
    finally:
        net.end()
