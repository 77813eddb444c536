"""Live connections over TCP between gpl and a peer or client that is not gpl: noise_peer.py."""
import contextlib
import os
import re
import socket
import struct
import threading

import noise_peer
import pytest

# gpl-protocol(7): question 0, hello (oldest protocol, newest, version).
HELLO = bytes([1, 0x92, 0, 0x92, 0, 0x93, 1, 1, 0xc4, 1]) + b"x"
HELLO_HEAD = HELLO[:6]


class Wire:
    """A socket, and the records on it once both ends have shaken hands."""

    def __init__(self, connection):
        self.connection, self.side = connection, None
        connection.settimeout(20)

    def exchange(self, data, size):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.connection.sendall(data)
        out = b""
        while len(out) < size:
            try:
                got = self.connection.recv(size - len(out))
            except ConnectionResetError:
                got = b""
            if not got:
                raise noise_peer.Refused("closed")
            out += got
        return out

    def send_frame(self, payload):
        self.exchange(self.side.sends.seal(struct.pack("<I", len(payload)) + payload), 0)

    def frame(self):
        held = b""
        while len(held) < 4 or len(held) < 4 + struct.unpack("<I", held[:4])[0]:
            head = self.exchange(b"", 2)
            held += self.side.receives.open(head + self.exchange(b"", struct.unpack(">H", head)[0]))
        return held[4:]

    def closed(self):
        try:
            return self.exchange(b"", 1) == b""
        except noise_peer.Refused:
            return True


@pytest.fixture
def key(run, peer):
    return noise_peer.Key((run.config / "gpl" / "cluster.key").read_text())


@pytest.fixture
def connect(peer):
    """A function that connects to the worker."""
    host, port = re.search(r"listening on (\S+):(\d+)", peer.log.read_text()).groups()
    with contextlib.ExitStack() as sockets:
        yield lambda: Wire(sockets.enter_context(socket.create_connection((host, int(port)), timeout=20)))


@pytest.mark.parametrize("role", ["peer", "client", "observer"])
def test_a_client_that_is_not_gpl_is_served(connect, key, role):
    wire = connect()
    wire.side = noise_peer.initiate(key if role == "peer" else key.derive(role), wire.exchange)
    wire.send_frame(HELLO)
    assert wire.frame().startswith(HELLO_HEAD)


@pytest.mark.parametrize("role", ["peer", "client", "observer"])
def test_who_has_another_key_is_told_that_and_no_more(connect, role):
    key = noise_peer.Key.of("peer", os.urandom(32))
    wire = connect()
    with pytest.raises(noise_peer.Refused, match="the key was refused"):
        noise_peer.initiate(key if role == "peer" else key.derive(role), wire.exchange)
    assert wire.closed()


def test_who_has_no_signature_is_no_peer(connect, key):
    wire = connect()
    wire.side = noise_peer.initiate(key, wire.exchange, role="peer", purpose=noise_peer.LINK, signature=bytes(64))
    assert wire.closed()


def test_a_client_may_not_speak_as_a_peer(connect, key):
    wire = connect()
    wire.side = noise_peer.initiate(key.derive("client"), wire.exchange, purpose=noise_peer.LINK)
    assert wire.closed()


def asked(run, own, **answering):
    """What a peer that is not gpl hears from `gpl status`, and what that says."""
    (run.config / "gpl" / "cluster.key").write_text(own.line + "\n")
    (run.config / "gpl" / "cluster.key").chmod(0o600)
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)

        def serve():
            connection, _ = server.accept()
            with connection:
                wire = Wire(connection)
                try:
                    wire.side = noise_peer.respond(exchange=wire.exchange, **answering)
                    heard.append((wire.side.role, wire.side.purpose, wire.frame()))
                except Exception as error:  # noqa: BLE001: whatever it is, the test looks at it
                    heard.append(error)

        thread = threading.Thread(target=serve)
        thread.start()
        done = run("status", "--peers", f"127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    return heard[0], done


@pytest.mark.parametrize("role", ["peer", "client", "observer"])
def test_a_peer_that_is_not_gpl_is_asked(run, role):
    cluster = noise_peer.Key.of("peer", os.urandom(32))
    heard, done = asked(run, cluster if role == "peer" else cluster.derive(role), key=cluster)
    assert heard[:2] == (role, noise_peer.CLIENT), heard
    assert heard[2].startswith(HELLO_HEAD)
    assert done.returncode == 125  # it closed without an answer


def test_who_poses_as_a_peer_is_not_asked(run):
    client = noise_peer.Key.of("peer", os.urandom(32)).derive("client")
    heard, done = asked(run, client, key=client, signature=bytes(64))
    assert isinstance(heard, noise_peer.Refused)
    assert done.returncode == 125
    assert b"does not prove that it is a peer" in done.stderr
