"""The binary on its own: nothing of a system around it."""
import os
import shutil
import stat
import subprocess
import time

import pytest
from conftest import as_root, lines
from processes import alive

pytestmark = as_root

# A name server that knows one name, in a network namespace of its own, around a command.
NAME_SERVER = """
import socket, subprocess, sys, threading
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
def serve():
    while True:
        query, peer = server.recvfrom(512)
        end = query.index(b"\\0", 12)
        question, kind = query[12:end + 5], query[end + 1:end + 3]
        name = b"\\6gpuone\\7example\\0"
        known = query[12:end + 1].lower() == name and kind == b"\\0\\1"
        answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\x0a\\x01\\x02\\x03" if known else b""
        flags = b"\\x81\\x80" if query[12:end + 1].lower() == name else b"\\x81\\x83"
        server.sendto(query[:2] + flags + b"\\0\\1" + bytes([0, int(known)]) + b"\\0\\0\\0\\0"
                      + question + answer, peer)
threading.Thread(target=serve, daemon=True).start()
sys.exit(subprocess.run(sys.argv[1:]).returncode)
"""


@pytest.fixture
def jail(run):
    """A folder with the binary alone; jail(WORDS...) runs it there."""
    root = run.base / "root"
    root.mkdir()
    shutil.copy(run.gpl, root / "gpl")

    def inside(*words, before=(), **env):
        settings = {"PATH": "/", "XDG_STATE_HOME": "/state", "XDG_CONFIG_HOME": "/config", **env}
        if not (root / "tmp").exists():
            settings["TMPDIR"] = "/"
        return run.command(*before, "env", "-i", *(f"{k}={v}" for k, v in settings.items()),
                           shutil.which("chroot"), str(root), "/gpl", *words)
    inside.root = root
    return inside


def left(root):
    return sorted(str(path.relative_to(root)) for path in root.rglob("*")
                  if path.is_file() and path.name not in ("gpl", "last", "swept"))


def test_it_starts_in_an_empty_folder(jail):
    done = jail("--version")
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.startswith(b"gpl ")
    done = jail("match", ">=2.1,<3", "--version", "2.4.0+cu121")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"true\n", b"")


def test_it_runs_a_command_in_an_empty_folder(jail):
    done = jail("run", "--no-stage", "--local", "--", "/gpl", "--version")
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.startswith(b"gpl ")
    assert left(jail.root) == []


@pytest.fixture
def furnished(jail):
    """The same with /dev/null and /tmp, as the smallest containers have them; /proc is missing."""
    for name in ("dev", "tmp"):
        (jail.root / name).mkdir()
    os.mknod(jail.root / "dev" / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    return jail


def test_it_runs_commands_without_proc(furnished):
    done = furnished("run", "--", "/gpl", "match", ">=2", "--version", "1")
    assert (done.returncode, done.stdout) == (1, b"false\n")
    assert len(lines(done.stderr)) == 1
    assert done.stderr.startswith(b"gpl: nothing is staged from /")
    done = furnished("run", "--no-stage", "--", "/gpl", "--nonsense")
    assert done.returncode == 2 and b"nonsense" in done.stderr
    done = furnished("run", "--no-stage", "--", "/absent")
    assert done.returncode == 127 and b"/absent" in done.stderr
    assert left(furnished.root) == []


# Runs on for a minute in a child of the same group; with a word, its first process does so too.
SLEEPER = """
#include <unistd.h>
int main(int argc, char** argv) {
  (void)argv;
  write(1, "begun\\n", 6);
  if (fork() == 0 || argc > 1) sleep(60);
  return 5;
}
"""


@pytest.fixture
def sleeper(run, furnished):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (run.base / "sleeper.c").write_text(SLEEPER)
    subprocess.run([compiler, "-static", "-o", furnished.root / "sleeper", run.base / "sleeper.c"],
                   check=True)
    return "/sleeper"


def test_without_proc_a_time_limit_ends_all_of_a_job(furnished, sleeper):
    began = time.monotonic()
    done = furnished("run", "--no-stage", "--time-limit", "1s", "--", sleeper, "both")
    assert (done.returncode, done.stdout) == (124, b"begun\n")
    assert alive() == []
    assert time.monotonic() - began < 5  # SIGTERM is enough


def test_without_proc_a_leftover_child_ends_with_the_job(furnished, sleeper):
    began = time.monotonic()
    done = furnished("run", "--no-stage", "--", sleeper)
    assert (done.returncode, done.stdout) == (5, b"begun\n")
    assert alive() == [] and time.monotonic() - began < 4


# Without a network: nobody answers there.
ALONE = ["unshare", "-n"]


@pytest.fixture
def keyed(jail):
    """The same with a cluster's key, without which no peers are asked."""
    done = jail("key", "new", HOME="/")
    assert done.returncode == 0, done.stderr
    return jail


def test_a_host_name_of_etc_hosts_is_resolved(keyed):
    (keyed.root / "etc").mkdir()
    (keyed.root / "etc" / "hosts").write_text("127.0.0.1 localhost\n10.9.8.7 lab1 lab1.example\n")
    done = keyed("run", "--peers", "lab1:7001", "--", "x", before=ALONE)
    assert done.returncode == 125
    assert b"lab1" in done.stderr and b"10.9.8.7" in done.stderr and b"7001" in done.stderr


def test_a_host_name_is_resolved_by_dns(keyed):
    (keyed.root / "etc").mkdir()
    (keyed.root / "etc" / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    around = ["unshare", "-n", "/usr/bin/python3", "-c", NAME_SERVER]
    done = keyed("run", "--peers", "gpuone.example", "--", "x", before=around)
    assert done.returncode == 125
    assert b"gpuone.example" in done.stderr and b"10.1.2.3" in done.stderr
    done = keyed("run", "--peers", "gputwo.example", "--", "x", before=around)
    assert done.returncode == 125
    assert b"cannot resolve" in done.stderr and b"gputwo.example" in done.stderr


def test_a_nsswitch_of_the_host_loads_no_modules(keyed):
    (keyed.root / "etc").mkdir()
    (keyed.root / "etc" / "nsswitch.conf").write_text(
        "hosts: mymachines resolve myhostname files dns\npasswd: sss systemd ldap files\n")
    (keyed.root / "etc" / "hosts").write_text("10.9.8.7 lab1\n")
    done = keyed("run", "--peers", "lab1", "--", "x", before=ALONE)
    assert done.returncode == 125 and b"10.9.8.7" in done.stderr


def test_a_user_of_etc_passwd_is_known(furnished):
    (furnished.root / "etc").mkdir()
    (furnished.root / "etc" / "passwd").write_text("root:x:0:0::/somewhere:/bin/odd\n")
    done = furnished("run", "--", "/gpl", "--version", XDG_STATE_HOME="", XDG_CONFIG_HOME="")
    assert done.returncode == 0, done.stderr
    assert (furnished.root / "somewhere" / ".local" / "state" / "gpl").is_dir()
