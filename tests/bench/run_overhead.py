#!/usr/bin/python3
"""run_overhead.py [--gpl BINARY] [--rounds N]: what `gpl run -- true` costs beyond `true`.

Times whole processes in turn (A B C, A B C, ...), so that a slow moment of the machine meets all of
them, and prints medians and ratios; then the system calls of one run, counted by strace. Everything
happens in a temporary folder with its own state.
"""

import argparse
import collections
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

here = os.path.dirname(os.path.realpath(__file__))


def seconds(argv, env, cwd):
    began = time.perf_counter()
    subprocess.run(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def count_calls(argv, env, cwd, log):
    """System calls by process, in the order in which the processes appear."""
    subprocess.run(["strace", "-f", "-o", log, *argv], env=env, cwd=cwd, stdin=subprocess.DEVNULL, check=True)
    calls = collections.OrderedDict()
    for line in open(log):
        found = re.match(r"(\d+) +(\w+)\(", line)
        if found:
            calls.setdefault(found[1], collections.Counter())[found[2]] += 1
    return list(calls.values())


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gpl", default=os.path.join(here, "../../build/gpl"))
    options.add_argument("--rounds", type=int, default=100)
    asked = options.parse_args()
    gpl = os.path.abspath(asked.gpl)

    with tempfile.TemporaryDirectory(prefix="gpl-bench-") as base:
        bare = os.path.join(base, "true")
        subprocess.run(["gcc", "-O2", "-static", "-nostdlib", "-s", "-o", bare, os.path.join(here, "true_without_libc.c")], check=True)
        empty = os.path.join(base, "empty-c++")
        open(empty + ".cc", "w").write("int main() { return 0; }\n")
        subprocess.run(["g++", "-O2", "-fPIE", "-static-pie", "-s", "-o", empty, empty + ".cc"], check=True)
        cwd = os.path.join(base, "work")
        os.mkdir(cwd)
        env = dict(os.environ, HOME=base, XDG_STATE_HOME=base + "/state", XDG_CONFIG_HOME=base + "/config")
        env.pop("GPL_PEERS", None)

        commands = collections.OrderedDict([
            ("true without libc", [bare]),
            ("env true", ["/usr/bin/env", "true"]),
            ("empty static-pie C++", [empty]),
            ("gpl --version", [gpl, "--version"]),
            ("gpl run -- true without libc", [gpl, "run", "--", bare]),
            ("gpl run -- true", [gpl, "run", "--", "true"]),
        ])
        times = {name: [] for name in commands}
        for _ in range(asked.rounds + 2):
            for name, argv in commands.items():
                times[name].append(seconds(argv, env, cwd))
        median = {name: statistics.median(taken[2:]) for name, taken in times.items()}
        for name, value in median.items():
            print("%-30s %8.0f us" % (name, value * 1e6))
        ratio = lambda one, other: median[one] / median[other]
        print("ratio gpl --version / empty static-pie C++        %.2f" % ratio("gpl --version", "empty static-pie C++"))
        print("ratio gpl run -- true / env true                  %.2f" % ratio("gpl run -- true", "env true"))
        print("ratio gpl run -- true / true, both without libc   %.2f" % ratio("gpl run -- true without libc", "true without libc"))

        try:
            calls = count_calls([gpl, "run", "--", bare], env, cwd, os.path.join(base, "strace"))
        except FileNotFoundError:
            print("strace is not installed: no counts", file=sys.stderr)
            return
        for who, counter in zip(["gpl", "guard", "command"], calls):
            shown = ", ".join("%s %d" % pair for pair in counter.most_common())
            print("%-8s %3d system calls: %s" % (who, sum(counter.values()), shown))


main()
