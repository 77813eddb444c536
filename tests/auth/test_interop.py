"""gpl's handshake and channel against an independent implementation of Noise, in both directions.

GPL_NOISE_TOOL is the path of noise_tool, which drives ours; tests/e2e/noise_peer.py is the other side.
"""
import os
import pathlib
import subprocess
import sys

import pytest
from dissononce.exceptions.decrypt import DecryptFailedException

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import noise_peer  # noqa: E402

CLUSTER = noise_peer.Key.of("peer", os.urandom(32))


def key_for(role):
    return CLUSTER if role == "peer" else CLUSTER.derive(role)


class Tool:
    """noise_tool, and the bytes between it and the other side."""

    def __init__(self, *words, key=None):
        self.process = subprocess.Popen([os.environ["GPL_NOISE_TOOL"], *map(str, words)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pending, self.to_tool, self.failed, self.established, self.want = b"", b"", None, None, None
        if key is not None:
            self.tell(key.line)
            self.listen()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=20)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def listen(self):
        """What it says until it waits, or has ended one way or the other."""
        self.want = 0
        for line in self.process.stdout:
            word, rest = line.split(maxsplit=1)
            if word == "send":
                self.pending += bytes.fromhex(rest)
            elif word == "want":
                self.want = int(rest)
                return
            elif word == "established":
                self.established = rest.split()
                return
            else:
                assert word == "failed", line
                self.failed = rest
                return

    def exchange(self, data, size):
        """The other side's words to the tool, in just the pieces that it wants; its answer."""
        self.to_tool += data
        while self.want and len(self.to_tool) >= self.want and not self.failed:
            piece, self.to_tool = self.to_tool[:self.want], self.to_tool[self.want:]
            self.tell(piece.hex())
            self.listen()
        if len(self.pending) < size:
            raise noise_peer.Refused("closed: " + str(self.failed))
        piece, self.pending = self.pending[:size], self.pending[size:]
        return piece

    def ask(self, word, data):
        self.tell(f"{word} {data.hex()}")
        answer = self.process.stdout.readline().strip()
        return None if answer.startswith("failed") else bytes.fromhex(answer)


def talk(tool, side):
    """Both directions of the channel, more than a record at a time too."""
    for size in (1, 100, 65519, 65520, 200000):
        text = os.urandom(size)
        assert tool.ask("open", side.sends.seal(text)) == text
        assert side.receives.open(tool.ask("seal", text)) == text
    record = side.sends.seal(b"once")
    assert tool.ask("open", record) == b"once"
    assert tool.ask("open", record) is None


@pytest.mark.parametrize(("role", "purpose"), [("peer", noise_peer.CLIENT), ("peer", noise_peer.LINK),
                                               ("peer", noise_peer.RELAY), ("client", noise_peer.CLIENT),
                                               ("observer", noise_peer.CLIENT)])
def test_ours_initiates(role, purpose):
    with Tool("initiate", role, purpose, key=key_for(role)) as tool:
        side = noise_peer.respond(CLUSTER, tool.exchange)
        assert (side.role, side.purpose, side.protocol) == (role, purpose, 1)
        assert tool.established == [role, str(purpose), "1", side.remote.hex(), side.own_static.hex()]
        talk(tool, side)


@pytest.mark.parametrize(("role", "purpose"), [("peer", noise_peer.CLIENT), ("peer", noise_peer.LINK),
                                               ("peer", noise_peer.RELAY), ("client", noise_peer.CLIENT),
                                               ("observer", noise_peer.CLIENT)])
def test_ours_responds(role, purpose):
    with Tool("respond", key=CLUSTER) as tool:
        side = noise_peer.initiate(key_for(role), tool.exchange, purpose=purpose)
        assert tool.established == [role, str(purpose), "1", side.remote.hex(), side.own_static.hex()]
        talk(tool, side)


def test_ours_refuses_another_key():
    with Tool("respond", key=CLUSTER) as tool:
        with pytest.raises(noise_peer.Refused, match="the key was refused"):
            noise_peer.initiate(noise_peer.Key.of("peer", os.urandom(32)), tool.exchange)
        assert tool.failed and tool.pending == b""


def test_theirs_refuses_another_key():
    with Tool("initiate", "client", noise_peer.CLIENT, key=key_for("client")) as tool:
        with pytest.raises(DecryptFailedException):
            noise_peer.respond(noise_peer.Key.of("peer", os.urandom(32)), tool.exchange)


@pytest.mark.parametrize("protocols", [(2, 3), (0, 0)])
def test_ours_tells_its_range_when_no_protocol_is_common(protocols):
    with Tool("respond", key=CLUSTER) as tool:
        with pytest.raises(noise_peer.Refused, match="no protocol"):
            noise_peer.initiate(CLUSTER, tool.exchange, protocols=protocols)
        assert "no protocol in common" in tool.failed
    with Tool("initiate", "client", noise_peer.CLIENT, key=key_for("client")) as tool:
        with pytest.raises(noise_peer.Refused, match="no protocol"):
            noise_peer.respond(CLUSTER, tool.exchange, protocols=protocols)
        assert "no protocol in common" in tool.failed


def test_a_client_key_cannot_pose_as_a_peer_that_connects():
    """Whoever came by the peers' pre-shared key alone has no signature that holds."""
    with Tool("respond", key=CLUSTER) as tool:
        noise_peer.initiate(CLUSTER, tool.exchange, role="peer", purpose=noise_peer.LINK, signature=bytes(64))
        assert tool.established is None and "does not prove" in tool.failed


@pytest.mark.parametrize("role", ["client", "observer"])
def test_a_derived_key_cannot_pose_as_a_peer_that_answers(role):
    with Tool("initiate", role, noise_peer.CLIENT, key=key_for(role)) as tool:
        with pytest.raises(noise_peer.Refused):
            noise_peer.respond(key_for(role), tool.exchange, signature=bytes(64))
        assert "does not prove that it is a peer" in tool.failed


def test_a_client_may_not_open_a_link():
    with Tool("respond", key=CLUSTER) as tool:
        noise_peer.initiate(key_for("client"), tool.exchange, purpose=noise_peer.LINK)
        assert tool.established is None and tool.failed


@pytest.mark.parametrize("records_a_key", [1, 3])
def test_keys_are_changed_after_the_same_record(records_a_key):
    key = os.urandom(32)
    with Tool("channel", key.hex(), records_a_key) as tool:
        sends = noise_peer.Records.of_key(key, records_a_key)
        receives = noise_peer.Records.of_key(key, records_a_key)
        for number in range(10):
            text = b"record %d" % number
            assert tool.ask("open", sends.seal(text)) == text
            assert receives.open(tool.ask("seal", text)) == text


@pytest.mark.parametrize("role", ["client", "observer"])
def test_a_derived_key_of_theirs_is_read_by_ours(role):
    with Tool("initiate", role, noise_peer.CLIENT, key=key_for(role)) as tool:
        assert len(tool.pending) == noise_peer.HELLO_BYTES + noise_peer.MESSAGE_1_BYTES
