"""Writes a log as gpl-wal(5) says, byte by byte, without any of gpl's code."""
import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63,
                      0x27D4EB2F165667C5)


def rotate(value, bits):
    return ((value << bits) | (value >> (64 - bits))) & MASK


def step(lane, value):
    return rotate((lane + value * P2) & MASK, 31) * P1 & MASK


def xxh64(data, seed=0):
    """XXH64, from its specification."""
    at = 0
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed & MASK, (seed - P1) & MASK]
        while at + 32 <= len(data):
            lanes = [step(lane, value) for lane, value in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        digest = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            digest = ((digest ^ step(0, lane)) * P1 + P4) & MASK
    else:
        digest = (seed + P5) & MASK
    digest = (digest + len(data)) & MASK
    while at + 8 <= len(data):
        digest = (rotate(digest ^ step(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4) & MASK
        at += 8
    if at + 4 <= len(data):
        digest = (rotate(digest ^ (struct.unpack_from("<I", data, at)[0] * P1 & MASK), 23) * P2 + P3) & MASK
        at += 4
    for byte in data[at:]:
        digest = rotate(digest ^ (byte * P5 & MASK), 11) * P1 & MASK
    digest = (digest ^ digest >> 33) * P2 & MASK
    digest = (digest ^ digest >> 29) * P3 & MASK
    return digest ^ digest >> 32


class Segment:
    """One segment of generation 1, its batches one after the other."""

    SIZE = 64 * 1024

    def __init__(self, number=1, first_batch=1, next_index=1, previous_end=0):
        header = struct.pack("<8sIIQQQQQQ24x", b"GPL-WAL\n", 1, 0, number, 1, self.SIZE, first_batch, next_index,
                             previous_end)
        self.bytes = header + struct.pack("<Q", xxh64(header))
        self.batch = first_batch - 1
        self.name = f"wal-{number:020}"

    def records(self, *records, flags=0):
        """One batch of (type, index, payload). `flags`: more than the page has."""
        self.batch += 1
        for k, (kind, index, payload) in enumerate(records):
            seed = len(self.bytes)
            last = 1 if k == len(records) - 1 else 0
            head = struct.pack("<IBBHQQQ", len(payload), kind, last | flags, 0, 1, self.batch, index)
            record = head + struct.pack("<Q", xxh64(head, seed)) + payload + b"\0" * (-len(payload) % 8)
            self.bytes += record + struct.pack("<Q", xxh64(record, seed))
        return self

    def write(self, folder):
        (folder / self.name).write_bytes(self.bytes.ljust(self.SIZE, b"\0"))


def entry(index, term, data, kind=1):
    return 1, index, struct.pack("<QB", term, kind) + data


def hard_state(term, vote):
    return 2, 0, struct.pack("<QQ", term, vote)


def mark(index, term, voters):
    return 3, index, struct.pack("<Q", term) + struct.pack(f"<II{len(voters)}Q", len(voters), 0, *voters)


def snapshot_name(index, term):
    return f"snapshot-{index:020}-{term:020}"


def snapshot(index, term, voters, parts, version=1):
    configuration = struct.pack(f"<II{len(voters)}Q", len(voters), 0, *voters)
    head = b"GPL-SNAP" + struct.pack("<IIQQ", version, len(configuration), index, term) + configuration
    sums = struct.pack("<Q", xxh64(head))
    out = head + sums
    for number, part in enumerate(parts):
        piece = struct.pack("<Q", len(part)) + part
        digest = struct.pack("<Q", xxh64(piece, number))
        out += piece + digest
        sums += digest
    count = struct.pack("<Q", len(parts))
    return out + struct.pack("<Q", 0) + count + struct.pack("<Q", xxh64(sums + count))
