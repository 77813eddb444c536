#!/usr/bin/python3
"""peer.py [--gpl BINARY] [--rounds N] [--queued N] [--idle SECONDS]: a peer on this machine.

What `gpl run` and `gpl submit` cost against a running peer, beside the embedded run and the bare
command, in turn; the syncs from a submit to its start, counted by strace; submits a second, one by
one and many at a time; memory with a long queue; and what an idle peer takes.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))
submitter = os.path.join(here, "../../build/tests/bench/peer_submit")


def seconds(argv, env, cwd):
    began = time.perf_counter()
    subprocess.run(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def processes(base):
    """The peer's and the keeper's pids: those whose environment names this state."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if base.encode() not in open(f"/proc/{entry}/environ", "rb").read():
                continue
            name = open(f"/proc/{entry}/comm").read().strip()
            is_peer = b"\0worker\0" in open(f"/proc/{entry}/cmdline", "rb").read()
            if is_peer or name == "gpl-keeper":  # what the keeper forks for a moment is younger
                found[name] = min(int(entry), found.get(name, int(entry)))
        except OSError:
            pass
    return found


def memory_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def cpu_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gpl", default=os.path.join(here, "../../build/gpl"))
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--queued", type=int, default=100_000)
    options.add_argument("--idle", type=int, default=60)
    asked = options.parse_args()
    gpl = os.path.abspath(asked.gpl)
    with tempfile.TemporaryDirectory(prefix="gpl-bench-") as base:
        bare = os.path.join(base, "true")
        subprocess.run(["gcc", "-O2", "-static", "-nostdlib", "-s", "-o", bare,
                        os.path.join(here, "true_without_libc.c")], check=True)
        cwd = os.path.join(base, "work")
        os.mkdir(cwd)
        env = dict(os.environ, HOME=base, XDG_STATE_HOME=base + "/state", XDG_CONFIG_HOME=base + "/config")
        env.pop("GPL_PEERS", None)
        subprocess.run([gpl, "worker", "--detach"], env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=True)
        try:
            measure(gpl, bare, base, cwd, env, asked)
        finally:
            subprocess.run([gpl, "leave", "--end-jobs"], env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=False)


def measure(gpl, bare, base, cwd, env, asked):
    commands = collections.OrderedDict([
        ("true without libc", [bare]),
        ("gpl run --local -- true", [gpl, "run", "--local", "--", bare]),
        ("gpl run -- true (peer)", [gpl, "run", "--", bare]),
        ("gpl submit -- true", [gpl, "submit", "--", bare]),
    ])
    times = {name: [] for name in commands}
    for _ in range(asked.rounds + 2):
        for name, argv in commands.items():
            times[name].append(seconds(argv, env, cwd))
    median = {name: statistics.median(taken[2:]) for name, taken in times.items()}
    for name, value in median.items():
        print("%-28s %8.0f us" % (name, value * 1e6))
    print("ratio gpl run through the peer / embedded  %.2f" %
          (median["gpl run -- true (peer)"] / median["gpl run --local -- true"]))
    subprocess.run([gpl, "wait", "all"], env=env, cwd=cwd, check=False)

    pids = processes(base)
    peer, keeper = pids["gpl"], pids["gpl-keeper"]
    log = os.path.join(base, "strace")
    tracer = subprocess.Popen(["strace", "-f", "-q", "-ttt", "-e", "trace=fdatasync,fsync,execve", "-o", log,
                               "-p", str(peer), "-p", str(keeper)], stderr=subprocess.DEVNULL)
    time.sleep(1)
    job = subprocess.run([gpl, "submit", "--", bare], env=env, cwd=cwd, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run([gpl, "wait", job.decode().strip()], env=env, cwd=cwd, check=True)
    time.sleep(0.5)
    tracer.terminate()
    tracer.wait()
    calls = re.findall(r"^\d+ +[\d.]+ (\w+)\(", open(log).read(), re.MULTILINE)
    started = calls.index("execve") if "execve" in calls else len(calls)
    print("syncs from submit to start %d, in all until the outcome is in the log %d" %
          (sum(call != "execve" for call in calls[:started]), sum(call != "execve" for call in calls)))

    began = time.perf_counter()
    for _ in range(asked.rounds):
        subprocess.run([gpl, "submit", "--", bare], env=env, cwd=cwd, stdout=subprocess.DEVNULL, check=True)
    print("gpl submit in a loop: %.0f a second" % (asked.rounds / (time.perf_counter() - began)))
    subprocess.run([gpl, "wait", "all"], env=env, cwd=cwd, check=False)
    before = cpu_seconds(peer) + cpu_seconds(keeper), time.perf_counter()
    time.sleep(asked.idle)
    used = cpu_seconds(peer) + cpu_seconds(keeper) - before[0]
    print("idle for %d s: %.3f %% of a core; memory of the peer %.1f MiB, of the keeper %.1f MiB" %
          (asked.idle, 100 * used / (time.perf_counter() - before[1]), memory_kib(peer) / 1024, memory_kib(keeper) / 1024))
    if not os.access(submitter, os.X_OK):
        return
    [sock] = [os.path.join(folder, "peer.sock") for folder, _, files in os.walk(base + "/state") if "peer.sock" in files]
    subprocess.run([submitter, sock, "2000", "1"], check=True)
    held = memory_kib(peer)
    env2 = dict(env)
    subprocess.run([submitter, sock, str(2000 + asked.queued), "64"], env=env2, check=True)
    print("memory of the peer with %d jobs queued: %.1f MiB (%.0f bytes a job)" %
          (asked.queued, memory_kib(peer) / 1024, (memory_kib(peer) - held) * 1024 / asked.queued))


main()
