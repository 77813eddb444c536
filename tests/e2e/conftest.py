"""What the end-to-end tests share: the binary, an isolated environment, and a look for leftovers.

Every test has a folder of its own with an empty home, configuration, state and TMPDIR. After it,
no process that it started may be alive, TMPDIR must be empty, and no job may have kept anything,
unless the test is marked `keeps_files`.
"""
import contextlib
import ctypes
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import pytest
from processes import alive, children, zombies

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOBODY = 65534
PR_SET_CHILD_SUBREAPER = 36

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def pytest_configure(config):
    config.addinivalue_line("markers", "keeps_files: files of a job are kept after the test")
    # Whatever a killed gpl leaves is handed to this process, where the leak check finds it.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A shell starts what it puts in the background with these ignored, and no child could trap them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup


def eventually(condition, seconds=5.0, what="the condition"):
    """Polls until `condition()` is true, and returns what it gave."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds} s"
        time.sleep(0.01)


def lines(data):
    return data.decode(errors="replace").splitlines()


def as_nobody():
    """What comes before a command so that it runs as an ordinary user."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class Place:
    """A test's own folder, and ways to run gpl in it.

    `work` is the current folder of what is run. `gpl` is first on PATH, so that shell scripts say
    `gpl run -- ...`.
    """

    def __init__(self, gpl, base):
        self.gpl, self.base = gpl, base
        self.home, self.config, self.state, self.tmp, self.work, self.bin = (
            base / name for name in ("home", "config", "state", "tmp", "work", "bin"))
        for folder in (self.home, self.config, self.state, self.tmp, self.work, self.bin):
            folder.mkdir(mode=0o700)
        for folder in (base, self.work, self.bin):
            folder.chmod(0o755)
        (self.bin / "gpl").symlink_to(gpl)
        # A worker says and hears nothing beyond this machine.
        self.write_config('mdns = false\nlisten = "127.0.0.1:0"\n')
        self.env = {
            "PATH": f"{self.bin}:{PATH}",
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.config),
            "XDG_STATE_HOME": str(self.state),
            "TMPDIR": str(self.tmp),
        }

    def give_to_nobody(self):
        for folder in (self.home, self.config, self.state, self.tmp, self.work):
            if os.geteuid() == 0:
                os.chown(folder, NOBODY, NOBODY)

    def _options(self, options):
        options.setdefault("cwd", self.work)
        options["env"] = dict(self.env, **(options.get("env") or {}))
        return options

    def command(self, *words, **options):
        """Runs a command that need not be gpl; bytes in and out."""
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("timeout", 60)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.run([str(word) for word in words], **self._options(options))

    def __call__(self, *words, **options):
        return self.command(self.gpl, *words, **options)

    def bash(self, script, **options):
        return self.command("bash", "-c", script, **options)

    def start(self, *words, command=None, **options):
        """gpl in the background, its output in pipes; the caller waits for it."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        prefix = [str(word) for word in command or []]
        return subprocess.Popen([*prefix, self.gpl, *words], **self._options(options))

    def jobs(self):
        """The folders of jobs in the state."""
        return [path for path in self.state.glob("gpl/*/jobs/*") if path.name.isdigit()]

    def write_config(self, text):
        (self.config / "gpl").mkdir(exist_ok=True)
        path = self.config / "gpl" / "gpl.toml"
        path.write_text(text)
        return path


@pytest.fixture(scope="session")
def gpl():
    """The absolute path of the binary: build/gpl, or what GPL_BINARY names."""
    path = pathlib.Path(os.environ.get("GPL_BINARY", ROOT / "build" / "gpl")).resolve()
    assert os.access(path, os.X_OK), f"{path} is not there: scripts/build makes it"
    return str(path)


def _reap():
    """Zombies that were handed to this process; those of Popen are waited for by their tests."""
    for process in zombies():
        if process.parent == os.getpid():
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


def _left():
    """What is alive. Who hands over to a child and ends, again and again, shows by its zombies."""
    before = children()
    if not before:
        return []
    found = alive()
    if not found:
        time.sleep(0.05)
        found = alive() or sorted(set(children()) - set(before))
    return found


def _wait_until_none_is_alive(seconds):
    """Those that are still alive then, and are killed."""
    deadline = time.monotonic() + seconds
    left = _left()
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = _left()
    # Some start themselves again and again, and must not reach the next test.
    deadline = time.monotonic() + 10
    while left and children() and time.monotonic() < deadline:
        for pid in children():
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)
    return left


@pytest.fixture
def run(gpl, request):
    """A `Place`: run("run", "--", "true") is `gpl run -- true` in an isolated environment."""
    # Where a real person works, and on a file system that holds modes and long names.
    base = pathlib.Path(tempfile.mkdtemp(prefix="gpl-e2e-"))
    place = Place(gpl, base)
    yield place
    try:
        survivors = _wait_until_none_is_alive(1.0)
        _reap()
        assert not survivors, f"processes are left: {survivors}"
        temporary = [str(path) for path in place.tmp.rglob("*")]
        assert not temporary, f"temporary files are left: {temporary}"
        if not request.node.get_closest_marker("keeps_files"):
            kept = [str(path) for job in place.jobs() for path in [job, *job.rglob("*")]]
            assert not kept, f"jobs have left files: {kept[:20]}"
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", base], stderr=subprocess.DEVNULL, check=False)
        # rm copes with paths that are longer than a system call takes.
        subprocess.run(["rm", "-rf", base], check=False)


class Peer:
    """`gpl worker` in a test's place: started, killed, restarted; its keeper outlives it."""

    def __init__(self, place, *options):
        self.place, self.options, self.process = place, options, None

    def start(self, wait=True):
        # To a file: a pipe that nobody reads would stop it.
        self.log = self.place.base / "peer.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.place.gpl, "worker", *self.options], env=self.place.env, cwd=self.place.base,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if wait:
            eventually(self.serves, 20, "that the peer serves")
        return self

    def serves(self):
        assert self.process.poll() is None, self.log.read_text()
        return "cluster" in self.log.read_text()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.log.write_text("")
        return self.start(wait=False)

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=20)

    def keeper(self):
        """Its pid, or None."""
        for process in alive():
            if process.name == "gpl-keeper":
                return process.pid
        return None

    def state(self):
        [folder] = self.place.state.glob("gpl/*")
        return folder

    def end(self):
        if self.process and self.process.poll() is None:
            self.stop()
        deadline = time.monotonic() + 10
        while (pid := self.keeper()) and time.monotonic() < deadline:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
            time.sleep(0.02)
            _reap()


@pytest.fixture
def peer(run):
    """A peer that serves; `peer.place` is `run`."""
    peer = Peer(run)
    peer.start()
    yield peer
    peer.end()


@pytest.fixture
def env(run):
    """The isolated environment of `run`."""
    return run.env


@pytest.fixture
def work(run):
    """The folder in which `run` runs."""
    return run.work


def make_git(folder):
    """A git work tree whose commits need no configuration of the caller."""
    def git(*words, cwd=folder):
        settings = ["user.name=t", "user.email=t@example.org", "protocol.file.allow=always",
                    "commit.gpgsign=false", "init.defaultBranch=main"]
        options = [part for setting in settings for part in ("-c", setting)]
        subprocess.run(["git", *options, *words], cwd=cwd, check=True, capture_output=True,
                       env={"PATH": PATH, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"})
    git("init", "-q")
    return git
