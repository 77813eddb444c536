"""Machines of a cluster: each is a host of a network, with a name and folders of its own.

    with machines(gpl, 3) as (one, two, three):
        cluster(one, two, three)
        two("run", "--on", three.name, "--", "true")
"""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

from conftest import Place, eventually
from namespaces import network


class Machine(Place):
    """A Place in a host: what it runs has that network, the hostname `name`, and, if told, its own
    /etc/hosts. Several may be in one host, as users are. Requires root."""

    def __init__(self, gpl, base, host, name, hosts=None):
        super().__init__(gpl, base)
        self.host, self.name, self.worker = host, name, None
        self.log = base / "peer.log"
        self.write_config("")  # multicast is heard in the network of the test alone
        script = f"hostname {name}"
        if hosts is not None:
            (base / "hosts").write_text(hosts)
            script += f" && mount --bind {base}/hosts /etc/hosts"
        # It holds the namespaces for all that is run here.
        self.holder = host.start("unshare", "-u", "sh", "-c",
                                 f"{script} && echo held && exec sleep infinity",
                                 stdout=subprocess.PIPE)
        assert self.holder.stdout.readline() == b"held\n"

    def _within(self, options):
        folder = options.get("cwd", self.work)
        return ["nsenter", "-t", self.holder.pid, "-n", "-m", "-u", f"--wdns={folder}", "--"]

    def command(self, *words, **options):
        return super().command(*self._within(options), *words, **options)

    def start(self, *words, command=None, **options):
        return super().start(*words, command=[*self._within(options), *(command or [])], **options)

    def work_on(self, *options, wait=True):
        """`gpl worker` in the background, its words appended to `log`."""
        with open(self.log, "ab") as log:
            self.worker = self.start("worker", *options, cwd=self.base, stdout=log, stderr=log)
        if wait:
            eventually(self.serves, 20, f"that the worker of {self.name} serves")
        return self

    def serves(self):
        assert self.worker.poll() is None, f"{self.name}: {self.said()}"
        return self("status", "--json").returncode == 0

    def said(self):
        return self.log.read_text() if self.log.exists() else ""

    def take_key(self, other, *role):
        """The other's key, or the one of a role that is derived from it."""
        shown = other("key", *(["derive", *role] if role else ["show"]))
        assert shown.returncode == 0, shown.stderr
        taken = self("key", "set", input=shown.stdout)
        assert taken.returncode == 0, taken.stderr

    def told(self, *words):
        """The object that the command prints with --json."""
        done = self(*words, "--json")
        assert done.returncode == 0, f"{self.name}: {done.stderr.decode()}\n{self.said()}"
        return json.loads(done.stdout)

    def peers(self):
        """Those it is told of, by name: the state of each, its address, its id..."""
        return {peer["peer"]: peer for peer in self.told("peers")["peers"]}

    def stop(self):
        self.worker.terminate()
        return self.worker.wait(timeout=20)


def cluster(first, *others, join="--join"):
    """The first founds it, the others get its key and join at once. They are together then."""
    first.work_on()
    for other in others:
        other.take_key(first)
        other.work_on(join, wait=False)
    together(first, *others)


def together(*members):
    """Waits until each of them shows the cluster of all of them."""
    count = len(members)
    voters = "1 voter" if count < 3 else "3 voters" if count < 5 else "5 voters"
    words = f"{voters} of {count} peers".encode()

    def complete(machine):
        assert machine.worker.poll() is None, f"{machine.name}: {machine.said()}"
        return words in machine("status").stdout
    for machine in members:
        eventually(lambda one=machine: complete(one), 30, f"that {machine.name} shows {words}")


@contextlib.contextmanager
def machines(gpl, count, names=None, hosts=None, **options):
    """Machines, lab1, lab2, ... unless named, on a network(count, **options), which each has as
    `net`. {name} in `hosts` is each one's own."""
    with tempfile.TemporaryDirectory(prefix="gpl-e2e-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)
        with network(count, **options) as net:
            made = []
            for host in net.hosts:
                name = names[host.number - 1] if names else f"lab{host.number}"
                base = pathlib.Path(folder) / f"machine{host.number}"
                base.mkdir()
                made.append(Machine(gpl, base, host, name, hosts and hosts.format(name=name)))
                made[-1].net = net
            yield made
