"""gpl key: what it prints, makes, takes over and refuses, and who can read the file."""
import os
import pty
import stat

import noise_peer
import pytest
from conftest import lines


@pytest.fixture
def key_file(run):
    return run.config / "gpl" / "cluster.key"


def said(done):
    text = done.stderr.decode()
    assert text.startswith("gpl: "), text
    return text


def cluster_key():
    return noise_peer.Key.of("peer", os.urandom(32))


def put(key_file, text, mode=0o600):
    key_file.parent.mkdir(mode=0o700, exist_ok=True)
    key_file.write_text(text)
    key_file.chmod(mode)


def test_new_makes_a_key_that_its_owner_alone_can_read(run, key_file):
    done = run("key", "new")
    assert (done.returncode, done.stdout) == (0, b"")
    assert str(key_file) in said(done)
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    key = noise_peer.Key(key_file.read_text())
    assert key.role == "peer"
    assert key.fingerprint in said(done)
    assert key.line.split()[1] not in said(done)
    assert [path.name for path in key_file.parent.glob("cluster*")] == ["cluster.key"]


def test_new_leaves_a_key_that_is_there(run, key_file):
    assert run("key", "new").returncode == 0
    before = key_file.read_bytes()
    done = run("key", "new")
    assert (done.returncode, done.stdout) == (1, b"")
    assert str(key_file) in said(done) and "gpl key show" in said(done)
    assert key_file.read_bytes() == before


def test_of_many_that_make_a_key_at_once_one_does(run, key_file):
    started = [run.start("key", "new") for _ in range(8)]
    codes = sorted(process.wait(timeout=30) for process in started)
    for process in started:
        process.stdout.close()
        process.stderr.close()
    assert codes == [0] + [1] * 7
    assert noise_peer.Key(key_file.read_text()).role == "peer"
    assert [path.name for path in key_file.parent.glob("cluster*")] == ["cluster.key"]


def test_show_prints_the_line_and_nothing_else(run, key_file):
    key = cluster_key()
    put(key_file, f"  {key.line}\n")
    done = run("key", "show")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{key.line}\n".encode(), b"")


def test_show_on_a_terminal_says_that_it_is_a_secret(run, key_file):
    put(key_file, cluster_key().line + "\n")
    leader, follower = pty.openpty()
    try:
        done = run("key", "show", stdout=follower)
        os.close(follower)
        assert done.returncode == 0
        assert "secret" in said(done) and len(lines(done.stderr)) == 1
        assert os.read(leader, 4096).decode().strip() == key_file.read_text().strip()
    finally:
        os.close(leader)


@pytest.mark.parametrize("words", [["show"], ["derive", "client"]])
def test_without_a_key_it_is_said_how_to_have_one(run, words):
    done = run("key", *words)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "gpl key new" in said(done) and "gpl key set" in said(done)


def test_set_takes_what_show_prints(run, key_file):
    key = cluster_key()
    done = run("key", "set", input=f"{key.line}\n".encode())
    assert (done.returncode, done.stdout) == (0, b"")
    assert key.fingerprint in said(done) and "gpl worker --join" in said(done)
    assert key.line.split()[1] not in said(done)
    assert run("key", "show").stdout == f"{key.line}\n".encode()
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["{}", "\n\n {}\r\n", "{}\nmore\n"])
def test_set_takes_one_line(run, text):
    key = cluster_key()
    assert run("key", "set", "--quiet", input=text.format(key.line).encode()).stderr == b""
    assert run("key", "show").stdout == f"{key.line}\n".encode()


def test_set_on_a_terminal_says_what_to_paste(run):
    key = cluster_key()
    leader, follower = pty.openpty()
    process = run.start("key", "set", stdin=follower)
    os.close(follower)
    try:
        assert b"paste" in process.stderr.readline()
        os.write(leader, f"{key.line}\n".encode())
        process.communicate(timeout=30)
        assert process.returncode == 0
    finally:
        os.close(leader)
    assert run("key", "show").stdout == f"{key.line}\n".encode()


@pytest.mark.parametrize("spoil", [
    lambda line: "", lambda line: " \n", lambda line: line[:-1], lambda line: line + "A",
    lambda line: line[:-1] + ("A" if line[-1] != "A" else "B"), lambda line: line.replace("-1 ", "-2 "),
    lambda line: line.split()[1], lambda line: "x" * 5000, lambda line: "ssh-ed25519 AAAA you@there",
])
def test_set_refuses_what_is_no_key_and_repeats_none_of_it(run, key_file, spoil):
    secret = cluster_key().line.split()[1]
    done = run("key", "set", input=spoil(f"gpl-cluster-key-1 {secret}").encode())
    assert (done.returncode, done.stdout) == (1, b"")
    assert not any(secret[at:at + 6] in said(done) for at in range(len(secret) - 6))
    assert not key_file.exists()


def test_set_says_the_same_key_again_is_fine(run, key_file):
    key = cluster_key()
    put(key_file, key.line + "\n")
    before = key_file.stat().st_ino
    done = run("key", "set", input=key.line.encode())
    assert done.returncode == 0 and "already" in said(done)
    assert key_file.stat().st_ino == before


def test_set_replaces_another_key_only_when_forced(run, key_file):
    old, new = cluster_key(), cluster_key()
    put(key_file, old.line + "\n")
    done = run("key", "set", input=new.line.encode())
    assert done.returncode == 1
    assert old.fingerprint in said(done) and "--force" in said(done)
    assert run("key", "show").stdout == f"{old.line}\n".encode()
    assert run("key", "set", "--force", input=new.line.encode()).returncode == 0
    assert run("key", "show").stdout == f"{new.line}\n".encode()


def test_a_machine_that_belongs_to_a_cluster_keeps_its_key(run, key_file, peer):
    before = key_file.read_bytes()
    new = cluster_key()
    for options, way_out in (([], "--force"), (["--force"], "gpl leave")):
        done = run("key", "set", *options, input=new.line.encode())
        assert done.returncode == 1 and way_out in said(done)
        assert key_file.read_bytes() == before
    assert run("key", "set", input=before).returncode == 0
    assert run("leave").returncode == 0
    assert run("key", "set", "--force", input=new.line.encode()).returncode == 0
    assert run("key", "show").stdout == f"{new.line}\n".encode()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
@pytest.mark.parametrize("words", [["show"], ["new"], ["set"], ["derive", "client"]])
def test_a_file_that_others_can_read_is_refused(run, key_file, words, mode):
    key = cluster_key()
    put(key_file, key.line + "\n", mode)
    done = run("key", *words, input=key.line.encode())
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"chmod 600 {key_file}" in said(done)


def test_a_damaged_file_is_told_and_replaced_when_forced(run, key_file):
    put(key_file, "gpl-cluster-key-1 nonsense\n")
    done = run("key", "show")
    assert done.returncode == 1 and str(key_file) in said(done) and "nonsense" not in said(done)
    key = cluster_key()
    done = run("key", "set", input=key.line.encode())
    assert done.returncode == 1 and "--force" in said(done)
    assert run("key", "set", "--force", input=key.line.encode()).returncode == 0
    assert run("key", "show").stdout == f"{key.line}\n".encode()


@pytest.mark.parametrize("role", ["client", "observer"])
def test_derive_prints_the_key_of_a_role(run, key_file, role):
    key = cluster_key()
    put(key_file, key.line + "\n")
    done = run("key", "derive", role)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == f"{key.derive(role).line}\n".encode()
    put(key_file, done.stdout.decode())
    done = run("key", "derive", role)
    assert (done.returncode, done.stdout) == (1, b"")
    assert "takes the cluster key" in said(done)


def test_a_derived_key_is_set_and_shown(run):
    client = cluster_key().derive("client")
    done = run("key", "set", input=client.line.encode())
    assert done.returncode == 0 and "worker" not in said(done)
    assert run("key", "show").stdout == f"{client.line}\n".encode()


@pytest.mark.parametrize("words", [
    [], ["nonsense"], ["show", "x"], ["new", "x"], ["derive"], ["derive", "peer"], ["derive", "nobody"],
    ["derive", "client", "observer"], ["show", "--force"], ["show", "--nonsense"],
])
def test_usage_errors_give_2(run, key_file, words):
    done = run("key", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    said(done)
    assert not key_file.exists()


@pytest.mark.parametrize("word", ["rotate", "revoke"])
def test_what_a_later_version_has_is_named(run, word):
    done = run("key", word)
    assert done.returncode == 2 and word in said(done) and "later version" in said(done)


@pytest.mark.parametrize("words", [["set"], []])
def test_a_key_among_the_words_is_refused_and_not_repeated(run, key_file, words):
    key = cluster_key()
    done = run("key", *words, *key.line.split())
    assert done.returncode == 2 and key.line.split()[1] not in said(done)
    assert not key_file.exists()


def test_the_folder_is_made_for_its_owner_alone(run):
    other = run.base / "other"
    assert run("key", "new", env={"XDG_CONFIG_HOME": str(other)}).returncode == 0
    for folder in (other, other / "gpl"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_is_told(run):
    other = run.base / "other"
    other.write_text("")
    done = run("key", "new", env={"XDG_CONFIG_HOME": str(other)})
    assert done.returncode == 1 and str(other) in said(done)


def test_help(run):
    done = run("key", "--help", text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: gpl key show|new|set|derive client|observer" in done.stdout
