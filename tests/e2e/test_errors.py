"""What goes wrong is said with what, where and the way out, and has the exit code of its kind."""
import os
import subprocess

import pytest
from conftest import NOBODY, as_nobody, as_root, lines


def said(done):
    """gpl's own words, which every error has."""
    text = done.stderr.decode()
    assert text.startswith("gpl: "), text
    assert text.endswith("\n")
    return text


@pytest.mark.parametrize("words", [
    ["run"], ["run", "--"], ["run", "--name", "x"], ["run", "python", "train.py"],
    ["run", "--env", "A=1", "python"], ["run", "--name"],
    ["run", "--time-limit", "soon", "--", "x"],
    ["run", "--time-limit", "0s", "--", "x"], ["run", "--", ""],
    ["run", "--name", "a\nb", "--", "x"], ["run", "a.toml", "b.toml"], ["match"],
    ["match", ">=1"], ["nonsense"], ["history", "extra"],
])
def test_usage_errors_give_2(run, words):
    (run.work / "a.toml").write_text('command = ["true"]\n')
    done = run(*words)
    assert done.returncode == 2
    assert done.stdout == b""
    said(done)


def test_no_words_at_all_show_what_there_is(run):
    done = run()
    assert done.returncode == 2 and b"gpl run" in done.stderr


def test_a_command_without_dashes_is_shown_how_to_write_it(run):
    done = run("run", "python", "train.py", "--lr", "0.1")
    assert done.returncode == 2
    assert "gpl run -- python train.py --lr 0.1" in said(done)


@pytest.mark.parametrize("words, near", [
    (["run", "--tim-limit", "1s", "--", "x"], "--time-limit"),
    (["run", "--no-stge", "--", "x"], "--no-stage"),
    (["run", "--outt=x", "--", "x"], "--out"),
    (["get", "last", "--forse"], "--force"),
    (["history", "--jsn"], "--json"),
    (["histroy"], "history"),
    (["rnu"], "run"),
])
def test_what_is_unknown_is_told_with_the_nearest(run, words, near):
    done = run(*words)
    assert done.returncode == 2
    assert "did you mean" in said(done) and near in said(done)


@pytest.mark.parametrize("words", [
    ["--array", "0-9"], ["--each-line", "f"], ["--nodes", "2"], ["--launcher", "mpirun"],
])
def test_options_of_a_later_version_are_refused_with_a_word(run, words):
    done = run("run", *words, "--", "touch", str(run.base / "ran"))
    assert done.returncode == 125
    assert words[0] in said(done) and "later version" in said(done)
    assert not (run.base / "ran").exists()


@pytest.mark.parametrize("words", [
    ["--retries", "1"], ["--on-loss", "wait"], ["--priority", "1"], ["--after", "1"], ["--allow-pending"],
])
def test_options_that_need_a_cluster_are_refused_without_one(run, words):
    done = run("run", *words, "--", "touch", str(run.base / "ran"))
    assert done.returncode == 2
    assert words[0] in said(done) and "gpl worker" in said(done)
    assert not (run.base / "ran").exists()


@pytest.mark.parametrize("command", ["call", "map", "top", "data"])
def test_commands_of_a_later_version_are_refused_with_a_word(run, command):
    done = run(command)
    assert done.returncode == 2
    assert command in said(done) and "later version" in said(done)


def test_an_unknown_key_of_the_configuration_names_the_line_and_the_nearest(run):
    path = run.write_config('# a comment\n\nforward_evn = ["A"]\n')
    done = run("run", "--", "true")
    assert done.returncode in (2, 125)
    assert f"{path}:3" in said(done) and "forward_evn" in said(done) and "forward_env" in said(done)


@pytest.mark.parametrize("text", ['forward_env = "A"', "forward_env = [1]", "forward_env = [", "=",
                                  'forward_env = ["A=B"]', "\x00"])
def test_a_configuration_that_makes_no_sense_is_told_with_its_line(run, text):
    path = run.write_config("\n" + text + "\n")
    done = run("run", "--", "touch", str(run.base / "ran"))
    assert done.returncode in (2, 125)
    assert f"{path}:" in said(done)
    assert not (run.base / "ran").exists()


def test_peers_of_the_configuration_are_asked_when_there_is_a_key(run):
    run.write_config('mdns = false\npeers = ["127.0.0.1:1"]\n')
    assert run("run", "--", "true").returncode == 0
    assert run("key", "new").returncode == 0
    done = run("run", "--", "touch", str(run.base / "ran"))
    assert done.returncode == 125 and "127.0.0.1:1" in said(done)
    assert not (run.base / "ran").exists()


def test_a_configuration_that_cannot_be_read_is_told(run):
    path = run.write_config("")
    path.chmod(0)
    run.give_to_nobody()
    path.parent.chmod(0o755)
    done = run.command(*as_nobody(), run.gpl, "run", "--", "true")
    assert done.returncode == 125
    assert str(path) in said(done) and "Permission denied" in said(done)


def test_a_state_folder_that_cannot_be_made_is_told_with_the_way_out(run):
    run.give_to_nobody()
    settings = ["env", "-u", "XDG_STATE_HOME", "-u", "XDG_CONFIG_HOME", "HOME=/nonexistent"]
    done = run.command(*as_nobody(), *settings, run.gpl, "run", "--", "true")
    assert done.returncode == 125
    assert "/nonexistent" in said(done) and "XDG_STATE_HOME" in said(done)


def test_a_state_folder_that_may_not_be_written_is_told_with_the_way_out(run):
    run.give_to_nobody()
    run.state.chmod(0o500)
    done = run.command(*as_nobody(), run.gpl, "run", "--", "true")
    assert done.returncode == 125
    assert str(run.state) in said(done) and "XDG_STATE_HOME" in said(done)


def test_a_file_where_the_state_folder_should_be_is_told(run):
    (run.state / "gpl").write_text("")
    done = run("run", "--", "true")
    assert done.returncode == 125 and str(run.state) in said(done)


@pytest.fixture
def small_disk(run):
    """A script's start that puts 2 MB under the state folder, in a mount namespace of its own."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    mount = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=2m none "$XDG_STATE_HOME"']
    if subprocess.run(mount, env=run.env, capture_output=True, check=False).returncode != 0:
        pytest.skip("tmpfs cannot be mounted here")

    def with_small_disk(script):
        return run.command(*mount[:-1], mount[-1] + " && " + script)
    return with_small_disk


def test_a_disk_that_is_full_before_the_command_starts_is_told_and_nothing_is_left(run, small_disk):
    with open(run.work / "large", "wb") as file:
        file.write(os.urandom(4 << 20))
    done = small_disk(f"{{ gpl run -- touch {run.base}/ran; echo $?;"
                      'find "$XDG_STATE_HOME" -path "*/jobs/[0-9]*"; }')
    assert lines(done.stdout) == ["125"]
    assert "large" in said(done) and "No space left" in said(done)
    assert not (run.base / "ran").exists()


def test_a_disk_that_the_job_fills_is_the_jobs_own_affair(run, small_disk):
    done = small_disk("{ gpl run --out made -- sh -c 'head -c 5000000 /dev/zero >made';"
                      'echo $?; find "$XDG_STATE_HOME" -path "*/jobs/[0-9]*"; }')
    assert lines(done.stdout) == ["1"]
    assert b"No space left" in done.stderr
    assert 0 < (run.work / "made").stat().st_size < 5_000_000


def test_a_full_disk_does_not_lose_what_a_job_has_made(run, small_disk):
    fill = "echo x >result; for f in 1 2 3; do dd if=/dev/zero of=fill$f bs=512; done 2>/dev/null"
    done = small_disk(f"{{ gpl run -- sh -c '{fill}; exit 0'; gpl history >/dev/null;"
                      "gpl get last result --into kept; cat kept/result; }")
    assert lines(done.stdout) == ["x"], done.stderr


def test_a_cluster_key_without_a_peer_is_never_a_silent_local_run(run):
    for make in (lambda: run("key", "new"), lambda: (run.config / "gpl" / "cluster.key").write_text("x")):
        make()
        done = run("run", "--", "touch", str(run.base / "ran"))
        assert done.returncode == 125 and not (run.base / "ran").exists()
        assert "cluster.key" in said(done) and "--local" in said(done)
    assert run("run", "--local", "--", "true").returncode == 0


@pytest.mark.parametrize("way", ["GPL_PEERS", "--peers"])
def test_peers_that_cannot_be_asked_are_named(run, way):
    def asked(peers):
        if way == "--peers":
            return run("run", "--peers", peers, "--", "touch", str(run.base / "ran"))
        return run("run", "--", "touch", str(run.base / "ran"), env={"GPL_PEERS": peers})
    done = asked("localhost:7000")
    assert done.returncode == 125 and "gpl key set" in said(done)
    assert run("key", "new").returncode == 0
    done = asked("no-such-host.invalid")
    assert done.returncode == 125 and "no-such-host.invalid" in said(done)
    done = asked("localhost:7000")
    assert done.returncode == 125 and "--local" in said(done)
    assert "127.0.0.1" in said(done) or "::1" in said(done)
    assert asked("host:notaport").returncode in (2, 125)
    assert not (run.base / "ran").exists()


def test_local_counts_for_more_than_peers(run):
    done = run("run", "--local", "--", "echo", "here", env={"GPL_PEERS": "no-such-host.invalid"})
    assert (done.returncode, done.stdout) == (0, b"here\n")


def test_a_current_folder_that_was_removed_is_told(run):
    done = run.bash("mkdir gone; cd gone; rmdir ../gone; gpl run -- true; echo $?")
    assert lines(done.stdout) == ["125"]
    assert "folder" in said(done)


def test_a_current_folder_that_may_not_be_read_is_told(run):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    run.give_to_nobody()
    (run.work / "shut").mkdir()
    os.chown(run.work / "shut", NOBODY, NOBODY)
    done = run.command(*as_nobody(), "sh", "-c", "cd shut; chmod 0 .; exec gpl run -- true")
    assert done.returncode == 125
    said(done)


def test_when_no_process_can_be_made_it_is_told(run):
    run.give_to_nobody()
    done = run.command(*as_nobody(), "bash", "-c", "ulimit -u 1; exec gpl run -- true")
    assert done.returncode == 125
    said(done)


def test_when_no_descriptor_is_left_it_is_told(run):
    done = run.bash("ulimit -n 8; gpl run -- true")
    assert done.returncode == 125
    assert "Too many open files" in said(done)


def test_errors_of_gpl_are_not_hushed_by_quiet(run):
    done = run("run", "--quiet", "--gpus", "1", "--", "true")
    assert done.returncode == 125 and done.stderr != b""


def test_help_fits_a_screen_and_begins_with_examples(run):
    done = run("run", "--help")
    assert done.returncode == 0 and done.stderr == b""
    text = lines(done.stdout)
    assert len(text) < 60 and max(map(len, text)) <= 100
    assert any(line.startswith("  gpl run -- ") for line in text[:6])
    for option in ("--out", "--env", "--stage", "--no-stage", "--stdin", "--time-limit", "--name",
                   "--json", "--quiet", "--local"):
        assert option in done.stdout.decode()
    assert "--array" not in done.stdout.decode()


@pytest.mark.parametrize("command", ["run", "get", "history", "match", "completion"])
def test_every_command_has_help(run, command):
    done = run(command, "--help")
    assert done.returncode == 0 and f"gpl {command}" in done.stdout.decode()


def test_the_version_is_told(run):
    done = run("--version")
    assert done.returncode == 0 and done.stdout.startswith(b"gpl ")
    assert done.stderr == b""


def test_a_full_disk_under_a_listing_is_told(run):
    done = run.bash("gpl --version >/dev/full")
    assert done.returncode == 1 and "No space left" in said(done)


def test_control_characters_of_names_do_not_reach_the_terminal(run):
    (run.work / "a\x1b[31mred").symlink_to("/no/where")
    done = run("run", "--", "true")
    assert b"\x1b" not in done.stderr and b"red" in done.stderr
    done = run("run", "--", "no-such\x1b[31m-program")
    assert done.returncode == 127 and b"\x1b" not in done.stderr


@pytest.mark.parametrize("words", [["run", "--no\x1bsense", "--", "x"], ["run", "a\x1b", "b"],
                                   ["get", "last", "--no\x1bsense"], ["no\x1bsense"],
                                   ["match", ">=\x1b", "--version", "1"]])
def test_control_characters_of_a_wrong_word_do_not_reach_the_terminal(run, words):
    done = run(*words)
    assert done.returncode == 2 and b"\x1b" not in done.stderr


@as_root
def test_as_an_ordinary_user_everything_works(run):
    run.give_to_nobody()
    (run.work / "file").write_text("x\n")
    done = run.command(*as_nobody(), run.gpl, "run", "--out", "new", "--", "sh", "-c",
                       "cat file; id -u; echo y >new; setsid sleep 30 & exit 7")
    assert done.returncode == 7 and lines(done.stdout) == ["x", str(NOBODY)]
    assert (run.work / "new").stat().st_uid == NOBODY
