"""Strangers, and holders of lesser keys, against one worker: it goes on serving, within its memory, and they learn no
more than what gpl-protocol(7) lets them.

GPL_HOSTILE sets how many connections there are (2,000 else; 10,000 are what a release is tried with).
"""
import concurrent.futures
import contextlib
import itertools
import os
import random
import re
import socket
import statistics
import struct
import threading
import time

import noise_peer
import pytest
from conftest import eventually
from test_noise import HELLO, HELLO_HEAD, Wire

CONNECTIONS = int(os.environ.get("GPL_HOSTILE", "2000"))
# Measured: 8 MiB at most. A frame of a client may have 16 MiB, and takes some of that again to be read.
MEMORY_LIMIT_MIB = 64
THREADS = 16
HELD = 400  # more than the 256 handshakes at a time that a worker lets be, from more than one address
ANSWER_LIMIT_SECONDS = 10
LOG_LINES = 6  # a note a minute, and what the right client's jobs may say
OUTCOME = {outcome: noise_peer.hello(outcome) for outcome in
           (noise_peer.FINE, noise_peer.NO_PROTOCOL, noise_peer.REFUSED)}
MESSAGE_1_END = noise_peer.HELLO_BYTES + noise_peer.MESSAGE_1_BYTES
ANSWER_BYTES = noise_peer.HELLO_BYTES + noise_peer.MESSAGE_2_BYTES
REFUSED_ANSWER = 2
QUESTIONS = 32
LIST_JOBS, WAIT_FOR = 9, 8
FOLLOW_ATTEMPT, FETCH_MANIFEST, FETCH_CHUNK, ASK_JOB_NOTES = 27, 28, 29, 30


def pack(value):
    """msgpack, as far as questions need it."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        for top, head, form in ((1 << 7, b"", ">B"), (1 << 8, b"\xcc", ">B"), (1 << 16, b"\xcd", ">H"),
                                (1 << 32, b"\xce", ">I"), (1 << 64, b"\xcf", ">Q")):
            if value < top:
                return head + struct.pack(form, value)
    if isinstance(value, bytes):
        size = len(value)
        head = struct.pack(">BB", 0xc4, size) if size < 256 else struct.pack(">BI", 0xc6, size) \
            if size > 65535 else struct.pack(">BH", 0xc5, size)
        return head + value
    size = len(value)
    head = bytes([0x90 + size]) if size < 16 else struct.pack(">BH", 0xdc, size) if size < 65536 \
        else struct.pack(">BI", 0xdd, size)
    return head + b"".join(map(pack, value))


def message(kind, *fields):
    return b"\1" + pack([kind, list(fields)])


def question(number, kind, *fields):
    return b"\1" + pack([number, [kind, list(fields)]])


def framed(payload):
    return struct.pack("<I", len(payload)) + payload


class Closed(Exception):
    """The worker has closed the connection."""


class Hostile:
    """All ways to be hostile, each one connection: what it learns is asserted."""

    def __init__(self, address, key):
        self.address, self.key = address, key
        self.client, self.observer = key.derive("client"), key.derive("observer")
        self.strange = noise_peer.Key.of("peer", os.urandom(32))
        self.numbers = itertools.count()
        self.recorded = self.record()

    def connect(self, host=None):
        source = (host or f"127.0.0.{2 + next(self.numbers) % 100}", 0)
        return socket.create_connection(self.address, timeout=20, source_address=source)

    def record(self):
        """What a right client says, all of it."""
        said = []
        with self.connect() as connection:
            wire = Wire(connection)

            def exchange(data, size):
                said.append(data)
                return wire.exchange(data, size)
            wire.side = noise_peer.initiate(self.client, exchange)
            hello = wire.side.sends.seal(framed(HELLO))
            exchange(hello, 0)
            assert wire.frame().startswith(HELLO_HEAD)
        return b"".join(said)

    def told(self, connection):
        """All that it still says, until it closes."""
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                got += piece
        return got

    def say(self, *pieces):
        """What the worker tells who says this and then ends his side."""
        with self.connect() as connection:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError, OSError):
                for piece in pieces:
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
            return self.told(connection)

    @contextlib.contextmanager
    def session(self, key=None, greeted=True, **options):
        """A connection with a key that holds, and its hello said."""
        with contextlib.ExitStack() as opened:
            # So many strangers at once may push out who is just shaking hands: right clients come again.
            for last in (False, False, True):
                wire = Wire(opened.enter_context(self.connect()))
                try:
                    wire.side = noise_peer.initiate(key or self.client, wire.exchange, **options)
                    if greeted:
                        wire.send_frame(HELLO)
                        assert wire.frame().startswith(HELLO_HEAD)
                    break
                except noise_peer.Refused:
                    if last or not greeted:
                        raise
            yield wire

    def ends(self, wire):
        """The worker closes, and says nothing more."""
        assert self.told(wire.connection) == b""

    # Strangers.

    def no_key(self, random_):
        said = noise_peer.hello(random_.randint(1, 3)) + random_.randbytes(noise_peer.MESSAGE_1_BYTES)
        assert self.say(said) == OUTCOME[noise_peer.REFUSED]

    def wrong_key(self, random_):
        role = random_.choice(list(noise_peer.ROLES))
        key = self.strange if role == "peer" else self.strange.derive(role)
        self.refused(key, role)

    def wrong_role(self, random_):
        """The key is of this cluster, and not for what is claimed."""
        claimed, key = random_.choice([("peer", self.client), ("peer", self.observer), ("client", self.observer),
                                       ("observer", self.client)])
        self.refused(noise_peer.Key.of("client", key.secret + key.verifier), claimed)

    def refused(self, key, claimed):
        with self.connect() as connection:
            wire, heard = Wire(connection), []

            def exchange(data, size):
                heard.append(wire.exchange(data, size))
                return heard[-1]
            forged = noise_peer.Key.of("client", key.psk(key.role) + key.verifier)
            forged.psk = lambda role: forged.secret
            with pytest.raises(noise_peer.Refused, match="the key was refused"):
                noise_peer.initiate(forged, exchange, role=claimed, signature=bytes(64))
            assert b"".join(heard) + self.told(connection) == OUTCOME[noise_peer.REFUSED]

    def no_signature(self, random_):
        signature = random_.choice([bytes(64), random_.randbytes(64), self.strange.sign(random_.randbytes(32)),
                                    self.key.sign(random_.randbytes(32))])
        purpose = random_.choice([noise_peer.CLIENT, noise_peer.LINK, noise_peer.RELAY])
        with self.session(self.key, greeted=False, role="peer", purpose=purpose, signature=signature) as wire:
            self.ends(wire)

    def purpose_of_peers(self, random_):
        key = random_.choice([self.client, self.observer])
        purpose = random_.choice([0, noise_peer.LINK, noise_peer.RELAY, 4, 255])
        with self.session(key, greeted=False, purpose=purpose) as wire:
            self.ends(wire)

    def garbage(self, random_):
        assert self.say(b"G" + random_.randbytes(random_.choice([0, 1, 7, 55, 56, 200, 5000]))) == b""

    def strange_hello(self, random_):
        role, protocols, outcome = random_.choice([
            (0, (1, 1), noise_peer.REFUSED), (4, (1, 1), noise_peer.REFUSED), (255, (1, 9), noise_peer.REFUSED),
            (2, (2, 9), noise_peer.NO_PROTOCOL), (2, (0, 0), noise_peer.NO_PROTOCOL),
            (1, (65535, 65535), noise_peer.NO_PROTOCOL), (2, (9, 1), noise_peer.NO_PROTOCOL)])
        said = noise_peer.hello(role, protocols) + random_.randbytes(noise_peer.MESSAGE_1_BYTES)
        assert self.say(said) == OUTCOME[outcome]

    def replay_of_message_1(self, random_):
        answer = self.say(self.recorded[:MESSAGE_1_END])
        assert len(answer) == ANSWER_BYTES and answer.startswith(OUTCOME[noise_peer.FINE])

    def replay(self, random_):
        """All that a right client said."""
        answer = self.say(self.recorded)
        assert len(answer) == ANSWER_BYTES and answer.startswith(OUTCOME[noise_peer.FINE])

    def truncated(self, random_, at=itertools.count()):
        """What a right client would say, its own, cut off after each byte in turn."""
        cut = next(at) % len(self.recorded)
        with self.connect() as connection:
            wire, said = Wire(connection), 0

            def exchange(data, size):
                nonlocal said
                data = data[:cut - said]
                said += len(data)
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    connection.sendall(data)
                if said == cut:
                    raise Closed
                return wire.exchange(b"", size)
            with contextlib.suppress(Closed):
                side = noise_peer.initiate(self.client, exchange)
                exchange(side.sends.seal(framed(HELLO)), 0)
            connection.shutdown(socket.SHUT_WR)
            left = self.told(connection)
        assert len(left) == (ANSWER_BYTES if cut == MESSAGE_1_END else 0), cut

    # Holders of a client's key.

    def huge_lengths(self, random_):
        greeted = random_.random() < 0.5
        limit = 16 << 20 if greeted else 1024
        with self.session(greeted=greeted) as wire:
            length = random_.choice([0, limit + 1, 1 << 31, (1 << 32) - 1])
            wire.exchange(wire.side.sends.seal(struct.pack("<I", length) + random_.randbytes(900)), 0)
            self.ends(wire)

    def huge_promises(self, random_):
        """A long frame, or record, of which next to nothing comes."""
        with self.session() as wire:
            if random_.random() < 0.5:
                wire.exchange(wire.side.sends.seal(struct.pack("<I", 16 << 20) + random_.randbytes(100)), 0)
            else:
                wire.exchange(b"\xff\xff" + random_.randbytes(100), 0)
            wire.connection.shutdown(socket.SHUT_WR)
            self.ends(wire)

    def forged_record(self, random_):
        with self.session() as wire:
            size = random_.choice([0, 1, 16, 17, 200])
            wire.exchange(struct.pack(">H", size) + random_.randbytes(size), 0)
            self.ends(wire)

    def nonsense(self, random_):
        """Payloads that are no message are refused once, and that is the end."""
        with self.session() as wire:
            wire.send_frame(random_.choice([b"\1", b"\1\x92\1", b"\2"]) + random_.randbytes(random_.randint(0, 300)))
            assert wire.frame()[4] == REFUSED_ANSWER
            self.ends(wire)

    def random_questions(self, random_):
        """The right form, whatever the fields."""
        values = [0, 1, 2, (1 << 64) - 1, None, True, b"", b"x" * 32, [], [1], [b"x" * 32], [[1, 1]], [0, []]]
        with self.session() as wire:
            for number in range(1, 4):
                fields = random_.choices(values, k=random_.randint(0, 4))
                wire.send_frame(question(number, random_.randrange(1, QUESTIONS), *fields))
            wire.connection.shutdown(socket.SHUT_WR)
            self.told(wire.connection)

    def as_a_peer_would(self, random_):
        """Questions that peers ask each other, of this one."""
        asked = random_.choice([
            (FOLLOW_ATTEMPT, [1, 1], 1, 0, 0, 0, False), (FETCH_MANIFEST, b"x" * 32, 0), (FETCH_CHUNK, b"x" * 32),
            (ASK_JOB_NOTES, 1)])
        with self.session() as wire:
            wire.send_frame(question(1, *asked))
            answer = wire.frame()
            assert answer[4] == REFUSED_ANSWER and b"not for a client to ask" in answer, answer

    def link_messages(self, random_):
        """A link's messages on a connection that is none."""
        with self.session(greeted=random_.random() < 0.5) as wire:
            wire.send_frame(random_.choice([
                message(0, 1, 1, b"name", b"1", 1, 1, 1, False, False), message(2, 1), message(4, [[1, b"", []]]),
                message(11, True)]))
            assert wire.frame()[4] == REFUSED_ANSWER
            self.ends(wire)

    def observing(self, random_):
        """An observer's key is for looking."""
        with self.session(self.observer) as wire:
            wire.send_frame(question(1, *random_.choice([(12, 1, None), (13, 1), (16, 1, 0, 9), (4,), (8, [1])])))
            answer = wire.frame()
            assert answer[4] == REFUSED_ANSWER and b"observer" in answer, answer

    KINDS = [no_key, wrong_key, wrong_role, no_signature, purpose_of_peers, garbage, strange_hello, replay_of_message_1,
             replay, truncated, truncated, truncated, huge_lengths, huge_promises, forged_record, nonsense,
             random_questions, as_a_peer_would, link_messages, observing]


class Process:
    """What a process holds."""

    def __init__(self, pid):
        self.pid = pid

    def _mib(self, name):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return int(re.search(rf"{name}:\s+(\d+) kB", status.read())[1]) / 1024

    def most_memory(self):
        return self._mib("VmHWM")

    def memory(self):
        return self._mib("VmRSS")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


class RightClient(threading.Thread):
    """Asks and runs jobs over both ways in, until it is told to stop."""

    def __init__(self, run, address, key):
        super().__init__()
        self.run_gpl, self.took, self.failed, self.over = run, [], [], threading.Event()
        elsewhere = run.base / "elsewhere"
        (elsewhere / "gpl").mkdir(parents=True)
        path = elsewhere / "gpl" / "cluster.key"
        path.write_text(key.line + "\n")
        path.chmod(0o600)
        (elsewhere / "gpl" / "gpl.toml").write_text("mdns = false\n")
        far = {"env": {"XDG_CONFIG_HOME": str(elsewhere), "XDG_STATE_HOME": str(elsewhere)}}
        at = ":".join(map(str, address))
        self.commands = [(("status",), {}), (("run", "--", "echo", "here"), {}),
                         (("status", "--peers", at), far), (("run", "--peers", at, "--", "echo", "there"), far)]

    def run(self):
        while not self.over.is_set():
            for words, options in self.commands:
                began = time.monotonic()
                done = self.run_gpl(*words, **options)
                self.took.append(time.monotonic() - began)
                if done.returncode != 0:
                    self.failed.append((words, done))

    def stop(self):
        self.over.set()
        self.join()
        return self.took


@pytest.fixture
def key(run, peer):
    return noise_peer.Key((run.config / "gpl" / "cluster.key").read_text())


@pytest.fixture
def address(peer):
    host, port = re.search(r"listening on (\S+):(\d+)", peer.log.read_text()).groups()
    return host, int(port)


def hold_open(hostile, sockets):
    """Silent ones, from many addresses: the oldest go before they have said anything, the rest after 5 s."""
    began = time.monotonic()
    held = [sockets.enter_context(hostile.connect(f"127.0.1.{1 + number % 8}")) for number in range(HELD)]
    slow = [sockets.enter_context(hostile.connect(f"127.0.2.{1 + number}")) for number in range(8)]
    said = hostile.recorded
    while slow and time.monotonic() < began + 15:
        for connection in list(slow):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(said[:1])
            connection.settimeout(0.001)
            with contextlib.suppress(TimeoutError):
                assert hostile.told(connection) == b""
                slow.remove(connection)
        said = said[1:]
        time.sleep(1)
    assert not slow, "who says a byte a second is let be"
    for connection in held:
        connection.settimeout(10)
        assert hostile.told(connection) == b""


def test_hostile_connections_leave_a_worker_serving(run, peer, key, address):
    worker, hostile = Process(peer.process.pid), Hostile(address, key)
    for kind in dict.fromkeys(Hostile.KINDS):  # whatever it keeps from its first time on
        kind(hostile, random.Random(1))
    descriptors, lines = worker.descriptors(), peer.log.read_text().count("\n")
    right = RightClient(run, address, key.derive("client"))
    right.start()
    began = time.monotonic()
    try:
        with contextlib.ExitStack() as sockets, concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            silent = pool.submit(hold_open, hostile, sockets)
            kinds = itertools.islice(itertools.cycle(Hostile.KINDS), CONNECTIONS - HELD - 8)
            tried = [pool.submit(kind, hostile, random.Random(number)) for number, kind in enumerate(kinds)]
            for done in tried:
                done.result()
            silent.result()
    finally:
        took = right.stop()
    print(f"{CONNECTIONS} connections in {time.monotonic() - began:.1f} s; the right client was answered {len(took)} "
          f"times, in {statistics.median(took):.2f} s, at most {max(took):.2f} s; memory {worker.memory():.1f} MiB, at "
          f"most {worker.most_memory():.1f} MiB")
    assert not right.failed
    assert max(took) < ANSWER_LIMIT_SECONDS
    assert worker.most_memory() < MEMORY_LIMIT_MIB
    eventually(lambda: worker.descriptors() <= descriptors, 10, "that no descriptors are left")
    assert peer.log.read_text().count("\n") - lines <= LOG_LINES, peer.log.read_text()


def test_lists_are_bounded_by_what_a_person_asks_for(peer, key, address):
    """Of 16 MiB of queries each would be a walk over all jobs."""
    worker, hostile = Process(peer.process.pid), Hostile(address, key)
    for asked in [(LIST_JOBS, [[2, 0, 0, True]] * 200_000, False), (WAIT_FOR, list(range(1 << 16, 1 << 19)))]:
        with hostile.session() as wire:
            wire.send_frame(question(1, *asked))
            answer = wire.frame()
            assert answer[4] == REFUSED_ANSWER and b"at once" in answer, answer
        with hostile.session(hostile.observer) as wire:
            wire.send_frame(question(1, *asked))  # an observer has nothing as long to ask
            hostile.ends(wire)
    assert worker.most_memory() < MEMORY_LIMIT_MIB
