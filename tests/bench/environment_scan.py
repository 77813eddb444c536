#!/usr/bin/python3
"""environment_scan.py [--gpl BINARY] [--distributions N] [--rounds N]: what reading an environment costs.

Lays out a site-packages with N distributions (500 unless told), among them a few frameworks, then
runs `gpl devices --json --environment DIR` in a home without anything. Prints the files opened and
the bytes read below the environment, counted by strace, and the median time that a warm scan adds
to the same command on an environment with nothing in it.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
FRAMEWORKS = ["torch", "jax", "jaxlib", "numpy", "transformers", "onnxruntime-gpu"]


def lay_out(root, count):
    """A description of 20 KB each, as real packages have: it must not be read whole."""
    site = os.path.join(root, "lib/python3.11/site-packages")
    os.makedirs(site)
    names = FRAMEWORKS + [f"package-{number}" for number in range(count - len(FRAMEWORKS))]
    for name in names[:count]:
        folder = os.path.join(site, f"{name.replace('-', '_')}-1.2.3.dist-info")
        os.mkdir(folder)
        requires = "".join(f"Requires-Dist: other-{i}>=1\n" for i in range(20))
        with open(os.path.join(folder, "METADATA"), "w", encoding="utf-8") as file:
            file.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n{requires}\n" + "text\n" * 4000)
        os.makedirs(os.path.join(site, name.replace("-", "_")), exist_ok=True)


def count(argv, env, root, log):
    """Files opened and bytes read below `root`."""
    subprocess.run([shutil.which("strace"), "-f", "-y", "-e", "trace=openat,open,read,pread64", "-o", log, *argv], env=env,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    opened = folders = read = missing = 0
    for line in open(log, encoding="utf-8", errors="replace"):
        if root not in line:
            continue
        answer = re.search(r"= (-?\d+)", line)
        if re.search(r" open(at)?\(", line):
            if answer and int(answer[1]) < 0:
                missing += 1
            elif "O_DIRECTORY" in line:
                folders += 1
            else:
                opened += 1
        elif answer and int(answer[1]) > 0:
            read += int(answer[1])
    return opened, folders, missing, read


def milliseconds(argv, env):
    began = time.perf_counter()
    subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - began)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gpl", default=os.path.join(HERE, "../../build/gpl"))
    options.add_argument("--distributions", type=int, default=500)
    options.add_argument("--rounds", type=int, default=30)
    asked = options.parse_args()
    gpl = os.path.abspath(asked.gpl)
    with tempfile.TemporaryDirectory(prefix="gpl-bench-") as base:
        base = os.path.realpath(base)
        full, empty, home = (os.path.join(base, name) for name in ("full", "empty", "home"))
        os.mkdir(home)
        lay_out(full, asked.distributions)
        os.makedirs(os.path.join(empty, "lib/python3.11/site-packages"))
        env = {"PATH": "/nonexistent", "HOME": home, "XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}

        def command(root):
            return [gpl, "devices", "--json", "--environment", root]

        answer = json.loads(subprocess.run(command(full), env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout)
        found = next(e for e in answer["environments"] if e["root"] == full)["frameworks"]
        print(f"frameworks found: {', '.join(sorted(found))}")
        opened, folders, missing, read = count(command(full), env, full, os.path.join(base, "strace"))
        print(f"{asked.distributions} distributions: {opened} files and {folders} folders opened, {missing} opens of what is not there, {read} bytes read")
        with_packages, without = [], []
        for _ in range(asked.rounds):
            with_packages.append(milliseconds(command(full), env))
            without.append(milliseconds(command(empty), env))
        spent = statistics.median(with_packages) - statistics.median(without)
        print(f"warm: {statistics.median(with_packages):.1f} ms with them, {statistics.median(without):.1f} ms without: the scan takes {spent:.1f} ms (goal: under 30)")


main()
