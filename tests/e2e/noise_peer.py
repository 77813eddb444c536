"""The other end of gpl's connections between machines, written from gpl-protocol(7) alone over an independent
implementation of Noise (dissononce): keys, hellos, handshake and records, of either side.
"""
import base64
import hashlib
import struct

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from dissononce.cipher.chachapoly import ChaChaPolyCipher
from dissononce.dh.keypair import KeyPair
from dissononce.dh.x25519.x25519 import X25519DH
from dissononce.hash.blake2b import Blake2bHash
from dissononce.processing.handshakepatterns.interactive.XX import XXHandshakePattern
from dissononce.processing.impl.cipherstate import CipherState
from dissononce.processing.impl.handshakestate import HandshakeState
from dissononce.processing.impl.symmetricstate import SymmetricState
from dissononce.processing.modifiers.psk import PSKPatternModifier

ROLES = {"peer": 1, "client": 2, "observer": 3}
WORDS = {"peer": "gpl-cluster-key-1", "client": "gpl-client-key-1", "observer": "gpl-observer-key-1"}
SIGNING = 4
CLIENT, LINK, RELAY = 1, 2, 3
FINE, NO_PROTOCOL, REFUSED = 0, 1, 2
HELLO_BYTES, SIGNATURE_BYTES, TAG_BYTES = 8, 64, 16
MESSAGE_1_BYTES, MESSAGE_2_BYTES = 48, 168
RECORD_LIMIT = 65535
RECORDS_A_KEY = 1 << 20
SIGNED = b"gpl-peer-static-1"
PSK0 = PSKPatternModifier(0)


class Refused(Exception):
    """The other side is not what it should be."""


def digest(data):
    return hashlib.blake2b(data, digest_size=32).digest()


class Key:
    """A key's line, read: `secret` is the cluster key, or the role's pre-shared key."""

    def __init__(self, line):
        word, text = line.split()
        self.role = {word: role for role, word in WORDS.items()}[word]
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        body, check = data[:-4], data[-4:]
        assert check == digest(word.encode() + body)[:4], "the check of the key does not match"
        assert len(body) == (32 if self.role == "peer" else 64)
        self.secret = body[:32]
        if self.role == "peer":
            self.signing = Ed25519PrivateKey.from_private_bytes(self.subkey(SIGNING))
            self.verifier = self.signing.public_key().public_bytes(
                serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        else:
            self.verifier = body[32:]

    @classmethod
    def of(cls, role, body):
        word = WORDS[role]
        data = body + digest(word.encode() + body)[:4]
        return cls(word + " " + base64.urlsafe_b64encode(data).rstrip(b"=").decode())

    def subkey(self, number):
        """crypto_kdf of libsodium."""
        return hashlib.blake2b(b"", digest_size=32, key=self.secret, salt=struct.pack("<Q", number) + bytes(8),
                               person=b"gpl-key1" + bytes(8)).digest()

    @property
    def line(self):
        body = self.secret if self.role == "peer" else self.secret + self.verifier
        word = WORDS[self.role]
        data = body + digest(word.encode() + body)[:4]
        return word + " " + base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    @property
    def fingerprint(self):
        return digest(self.verifier)[:8].hex()

    def derive(self, role):
        return Key.of(role, self.subkey(ROLES[role]) + self.verifier)

    def psk(self, role):
        if self.role == "peer":
            return self.subkey(ROLES[role])
        assert self.role == role
        return self.secret

    def sign(self, static):
        return self.signing.sign(SIGNED + static)

    def check(self, static, signature):
        try:
            Ed25519PublicKey.from_public_bytes(self.verifier).verify(signature, SIGNED + static)
        except InvalidSignature as error:
            raise Refused("its static key is not signed by this cluster") from error


def hello(word, protocols=(1, 1)):
    return b"gpl" + struct.pack(">BHH", word, *protocols)


def read_hello(data):
    if data[:3] != b"gpl":
        raise Refused("it is no gpl")
    word, oldest, newest = struct.unpack(">BHH", data[3:])
    return word, (oldest, newest)


def newest_common(one, other):
    newest = min(one[1], other[1])
    return newest if newest >= max(one[0], other[0]) else None


class Records:
    """One direction of a channel."""

    def __init__(self, state, records_a_key=RECORDS_A_KEY):
        self.state, self.records_a_key, self.count = state, records_a_key, 0

    @classmethod
    def of_key(cls, key, records_a_key):
        state = CipherState(ChaChaPolyCipher())
        state.initialize_key(key)
        return cls(state, records_a_key)

    def _counted(self):
        self.count += 1
        if self.count % self.records_a_key == 0:
            # Noise's Rekey (sections 4.2 and 11.3): 32 bytes, and the nonce stays as it is; dissononce's own keeps 48
            # and begins anew.
            key = self.state.cipher.encrypt(self.state._key, (1 << 64) - 1, b"", bytes(32))
            self.state.initialize_key(key[:32])
            self.state.set_nonce(self.count)

    def seal(self, plain):
        out = b""
        most = RECORD_LIMIT - TAG_BYTES
        for at in range(0, len(plain), most):
            record = self.state.encrypt_with_ad(b"", plain[at:at + most])
            self._counted()
            out += struct.pack(">H", len(record)) + record
        return out

    def open(self, stream):
        """What a stream of whole records holds."""
        plain = b""
        while stream:
            (length,) = struct.unpack(">H", stream[:2])
            assert TAG_BYTES < length <= len(stream) - 2
            plain += self.state.decrypt_with_ad(b"", stream[2:2 + length])
            self._counted()
            stream = stream[2 + length:]
        return plain


class _Side:
    def __init__(self, key, protocols):
        self.key, self.protocols = key, protocols
        self.own = X25519DH().generate_keypair()
        self.noise = HandshakeState(SymmetricState(CipherState(ChaChaPolyCipher()), Blake2bHash()), X25519DH())
        self.sends = self.receives = self.remote = self.protocol = None

    @property
    def own_static(self):
        return self.own.public.data

    def begin(self, initiator, prologue, role):
        pair = KeyPair(self.own.public, self.own.private)
        self.noise.initialize(PSK0.modify(XXHandshakePattern()), initiator, prologue, s=pair,
                              psks=[self.key.psk(role)])

    def write(self, payload):
        out = bytearray()
        self.states = self.noise.write_message(payload, out)
        return bytes(out)

    def read(self, message):
        payload = bytearray()
        self.states = self.noise.read_message(message, payload)
        return bytes(payload)

    def established(self, initiator):
        first, second = (Records(state) for state in self.states)
        self.sends, self.receives = (first, second) if initiator else (second, first)
        self.remote = self.noise.rs.data


def initiate(key, exchange, role=None, purpose=CLIENT, protocols=(1, 1), signature=None):
    """Shakes hands as the initiator. `exchange(data, size)` sends `data` and gives the next `size` bytes."""
    role = role or key.role
    side = _Side(key, protocols)
    first = hello(ROLES[role], protocols)
    side.begin(True, first, role)
    answer = exchange(first + side.write(b""), HELLO_BYTES)
    outcome, theirs = read_hello(answer)
    if outcome != FINE:
        raise Refused({NO_PROTOCOL: "no protocol", REFUSED: "the key was refused"}.get(outcome, outcome))
    said = side.read(exchange(b"", MESSAGE_2_BYTES))
    if said[:HELLO_BYTES] != answer:
        raise Refused("its hello was changed")
    key.check(side.noise.rs.data, said[HELLO_BYTES:])
    side.protocol = newest_common(protocols, theirs)
    payload = bytes([purpose])
    if role == "peer":
        payload += signature if signature is not None else key.sign(side.own_static)
    exchange(side.write(payload), 0)
    side.established(True)
    return side


def respond(key, exchange, protocols=(1, 1), signature=None):
    """Shakes hands as a peer that was connected to. A derived key can do so too: as an impostor, without a signature
    that holds."""
    side = _Side(key, protocols)
    first = exchange(b"", HELLO_BYTES)
    number, theirs = read_hello(first)
    message = exchange(b"", MESSAGE_1_BYTES)
    side.protocol = newest_common(protocols, theirs)
    if side.protocol is None:
        exchange(hello(NO_PROTOCOL, protocols), 0)
        raise Refused("no protocol")
    side.role = {number: role for role, number in ROLES.items()}[number]
    side.begin(False, first, side.role)
    side.read(message)
    own = hello(FINE, protocols)
    signed = signature if signature is not None else key.sign(side.own_static)
    size = 48 + 1 + TAG_BYTES + (SIGNATURE_BYTES if side.role == "peer" else 0)
    said = side.read(exchange(own + side.write(own + signed), size))
    side.purpose = said[0]
    if side.role == "peer":
        key.check(side.noise.rs.data, said[1:])
    side.established(False)
    return side
