"""Several peers on this machine's loopback, each with folders, a name and processes of its own."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from conftest import Place, eventually
from processes import alive

# Each its own name, which `--on` takes; that needs root.
NAMED = ["unshare", "-u", "sh", "-c", 'hostname "$0"; exec "$@"']


def numbered(count, pause, code=0):
    """A shell's words that print 0 to count-1, one a line."""
    return f"i=0; while [ $i -lt {count} ]; do echo $i; i=$((i+1)); sleep {pause}; done; exit {code}"


def numbers(first, count):
    return b"".join(b"%d\n" % number for number in range(first, count))


def own_words(stderr):
    """Whether gpl itself has said all of it."""
    return all(line.startswith(b"gpl: ") for line in stderr.splitlines())


class Node:
    """One peer of a cluster: `node.place` is its machine's user, `node(WORDS...)` a command there."""

    def __init__(self, gpl, base, name):
        base.mkdir()
        self.place, self.name, self.process = Place(gpl, base), name, None
        self.log = base / "peer.log"

    def __call__(self, *words, **options):
        return self.place(*words, **options)

    def start(self, *options, wait=True):
        # To a file: a pipe that nobody reads would stop it.
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*NAMED, self.name, self.place.gpl, "worker", "--log-level", "info", *options], env=self.place.env,
                cwd=self.place.base, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if wait:
            eventually(self.serves, 20, f"that {self.name} serves")
        return self

    def serves(self):
        assert self.process.poll() is None, self.log.read_text()
        return "cluster" in self.log.read_text()

    def address(self):
        """At which it listens, as its log says."""
        words = self.log.read_text().rsplit("listening on ", 1)[1]
        return words.split(",")[0].split()[0]

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self, *options, wait=False):
        if self.process.poll() is None:
            self.kill()
        self.log.write_text("")
        return self.start(*options, wait=wait)

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=20)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def state(self):
        [folder] = self.place.state.glob("gpl/*")
        return folder

    def others(self):
        """Its keeper, guards and jobs, which outlive it: pids, keeper first."""
        mark = f"XDG_STATE_HOME={self.place.state}".encode()
        own = []
        for process in alive():
            with contextlib.suppress(OSError):
                if process.name in ("gpl-keeper", "gpl-guard"):
                    with open(f"/proc/{process.pid}/environ", "rb") as environ:
                        if mark in environ.read().split(b"\0"):
                            own.append(process)
        own.sort(key=lambda process: process.name != "gpl-keeper")
        below = {child.pid for process in own for child in alive(process.pid)}
        pids = [process.pid for process in own]
        return pids + sorted(below - set(pids))

    def lose(self):
        """The machine is gone: peer, keeper, guards and jobs at once."""
        doomed = self.others()
        for pid in (self.process.pid, *doomed):  # stopped first: nobody sees another end
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        for pid in (*doomed, self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def end(self):
        if self.process and self.process.poll() is None:
            self.resume()
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.kill()
        deadline = time.monotonic() + 10
        while (left := self.others()) and time.monotonic() < deadline:
            for pid in left[:1]:  # the keeper ends its jobs; what is left then, ends too
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            time.sleep(0.02)

    # What its peer answers.

    def submit(self, *words, **options):
        done = self("submit", *words, **options)
        assert done.returncode == 0, done.stderr.decode()
        return int(done.stdout)

    def status(self, *words, **options):
        done = self("status", "--json", *words, **options)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def job(self, number):
        return self.status(str(number))["jobs"][0]

    def runs(self, number):
        return self.job(number)["state"] == "running"

    def peers(self):
        """By name, as this peer sees them."""
        done = self("peers", "--json")
        assert done.returncode == 0, done.stderr.decode()
        return {row["peer"]: row for row in json.loads(done.stdout)["peers"]}


class Cluster:
    """`count` peers lab1, lab2, ...: the first founds, the others join it by its address."""

    def __init__(self, gpl, base, count, settings=()):
        self.gpl, self.base, self.nodes = gpl, base, []
        try:
            for number in range(count):
                self.add(settings[number] if number < len(settings) else "")
            self.settle(count)
        except BaseException:
            self.end()
            raise

    def add(self, settings="", options=()):
        """One more, with those lines of configuration."""
        number = len(self.nodes) + 1
        node = Node(self.gpl, self.base / f"lab{number}", f"lab{number}")
        self.nodes.append(node)
        join = []
        if number > 1:
            first = self.nodes[0]
            shutil.copytree(first.place.config / "gpl", node.place.config / "gpl", dirs_exist_ok=True)
            join = [f"--join={first.address()}"]
        node.place.write_config(f'mdns = false\nlisten = "127.0.0.1:0"\n{settings}')
        node.start(*join, *options)
        # Who comes back listens where it did, as machines with a port of their own do.
        node.place.write_config(f'mdns = false\nlisten = "{node.address()}"\n{settings}')
        return node

    def settle(self, count=None):
        """All are up and seen, and of three or more three vote."""
        count = count or len(self.nodes)
        voters = {1: 1, 2: 1}.get(count, 3)

        def settled():
            for node in self.nodes:
                if node.process.poll() is not None:
                    continue
                parts = [row["part"] for row in node.peers().values() if row["state"] == "up"]
                if len(parts) != count or len([part for part in parts if part in ("leader", "voter")]) != voters:
                    return False
                if parts.count("leader") != 1:
                    return False
            return True
        eventually(settled, 20, "that all peers are there")
        return self

    def leader(self, asked=None):
        """The node that leads, as `asked` or whoever is alive says; None: nobody."""
        for node in [asked] if asked else self.nodes:
            if node.process.poll() is None:
                for name, row in node.peers().items():
                    if row["part"] == "leader" and row["state"] == "up":
                        return next(one for one in self.nodes if one.name == name)
        return None

    def followers(self):
        leader = self.leader()
        return [node for node in self.nodes if node is not leader]

    def end(self):
        for node in self.nodes:
            node.end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
