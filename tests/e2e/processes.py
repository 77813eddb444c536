"""Processes as /proc shows them, for checks of what a test has left behind."""
import os
from collections import namedtuple

Process = namedtuple("Process", "pid name state parent command")


def _read(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            text = stat.read()
        with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
            command = cmdline.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return None  # it has gone meanwhile
    name = text[text.index(b"(") + 1:text.rindex(b")")].decode(errors="replace")
    state, parent = text[text.rindex(b")") + 2:].split()[:2]
    return Process(pid, name, state.decode(), int(parent), command)


def children():
    """The pids of this process's own children: one quick look, to catch who is gone in a moment."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:
        return [int(pid) for pid in listed.read().split()]


def everybody():
    pids = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return [process for process in map(_read, pids) if process]


def descendants(pid=None):
    """All that `pid` (this process) has started, and what was handed to it, zombies included."""
    pid = pid or os.getpid()
    children = {}
    for process in everybody():
        children.setdefault(process.parent, []).append(process)
    found, pending = [], [pid]
    while pending:
        for child in children.get(pending.pop(), []):
            found.append(child)
            pending.append(child.pid)
    return found


def alive(pid=None):
    return [process for process in descendants(pid) if process.state not in "ZX"]


def zombies(pid=None):
    return [process for process in descendants(pid) if process.state == "Z"]


def guard_of(pid):
    """The guard below the gpl process `pid`, or None while it has not got that far."""
    for process in alive(pid):
        if process.name == "gpl-guard":
            return process.pid
    return None
