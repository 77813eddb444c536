"""gpl completion: each shell is asked what it would offer, by the shell's own means."""

import os
import pathlib
import pty
import select
import shutil
import subprocess
import time

import pytest

COMMANDS = {"run", "submit", "status", "explain", "wait", "logs", "attach", "cancel", "hold", "release", "exec",
            "rerun", "get", "history", "worker", "coordinator", "peers", "leave", "key", "doctor", "devices", "match",
            "completion", "wal"}
BASH_COMPLETION = pathlib.Path("/usr/share/bash-completion/bash_completion")


@pytest.fixture
def place(run):
    """`run`, with something in its folder to complete."""
    (run.work / "folder").mkdir()
    for name in ("job.toml", "notes.txt", "two words.txt"):
        (run.work / name).write_text("")
    run.env["TERM"] = "dumb"
    return run


def need(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")


def script(gpl, shell):
    return subprocess.run([gpl, "completion", shell], check=True, capture_output=True, text=True).stdout


def offered_by_bash(place, *words, before=""):
    """What bash's function fills COMPREPLY with when the last of `words` is being typed."""
    driver = f"""{before}
. <(gpl completion bash)
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${{#COMP_LINE}}
_gpl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = place.command("bash", "--norc", "-c", driver, "bash", *words, text=True)
    assert done.stderr == ""
    return {line for line in done.stdout.split("\n") if line}


def test_bash_offers_the_commands(place):
    offered = offered_by_bash(place, "gpl", "")
    assert COMMANDS | {"--help", "--version"} == offered


def test_bash_offers_no_command_of_a_later_version(place):
    assert offered_by_bash(place, "gpl", "to") == set()
    assert offered_by_bash(place, "gpl", "keep") == set()


def test_bash_offers_the_options_of_run(place):
    assert offered_by_bash(place, "gpl", "run", "--st") == {"--stdin", "--stage"}


def test_bash_offers_no_option_of_a_later_version(place):
    assert offered_by_bash(place, "gpl", "run", "--arr") == set()


def test_bash_offers_job_files_and_folders_to_run(place):
    assert offered_by_bash(place, "gpl", "run", "") == {"job.toml", "folder"}


def test_bash_offers_every_file_to_stage(place):
    everything = {"job.toml", "notes.txt", "two words.txt", "folder"}
    assert offered_by_bash(place, "gpl", "run", "--stage", "") == everything
    assert offered_by_bash(place, "gpl", "run", "--stage", "=", "no") == {"notes.txt"}
    assert offered_by_bash(place, "gpl", "run", "--stage", "=") == everything


def test_bash_offers_folders_to_into(place):
    assert offered_by_bash(place, "gpl", "get", "last", "--into", "") == {"folder"}


def test_bash_offers_nothing_where_a_free_value_stands(place):
    assert offered_by_bash(place, "gpl", "run", "--name", "") == set()


def test_bash_offers_commands_after_two_dashes(place):
    assert "sha256sum" in offered_by_bash(place, "gpl", "run", "--", "sha256s")


def test_bash_offers_files_to_the_command(place):
    assert offered_by_bash(place, "gpl", "run", "--quiet", "--", "cat", "no") == {"notes.txt"}
    assert offered_by_bash(place, "gpl", "run", "--", "./no") == {"./notes.txt"}


def test_bash_offers_no_option_of_gpl_to_the_command(place):
    assert offered_by_bash(place, "gpl", "run", "--", "cat", "--st") == set()


def test_bash_leaves_the_command_to_its_own_completion(place):
    if not BASH_COMPLETION.exists():
        pytest.skip("bash-completion is not installed")
    own = f". {BASH_COMPLETION}; _mine() {{ COMPREPLY=(mine); }}; complete -F _mine mine"
    assert offered_by_bash(place, "gpl", "run", "--", "mine", "m", before=own) == {"mine"}


@pytest.mark.keeps_files
def test_bash_offers_the_jobs_that_have_files(place):
    assert place("run", "--quiet", "--", "touch", "made").returncode == 0
    assert offered_by_bash(place, "gpl", "get", "") == {"last", "all", "1"}


def test_bash_function_works_under_the_strict_options(place):
    assert offered_by_bash(place, "gpl", "run", "--qu", before="set -u") == {"--quiet"}


def offered_by_fish(place, line):
    asked = "gpl completion fish | source; complete -C $argv[1]"
    done = place.command("fish", "--no-config", "-c", asked, line, text=True)
    assert done.stderr == ""
    return {row.split("\t")[0] for row in done.stdout.splitlines()}


def test_fish_takes_the_script(gpl):
    need("fish")
    subprocess.run(["fish", "--no-execute"], input=script(gpl, "fish"), text=True, check=True)


@pytest.mark.parametrize("line, offered", [
    ("gpl ", COMMANDS),
    ("gpl run --st", {"--stdin", "--stage"}),
    ("gpl run --arr", set()),
    ("gpl peers ", {"drain", "resume", "forget"}),
    ("gpl run --stage no", {"notes.txt"}),
    ("gpl get last --into ", {"folder/"}),
    ("gpl completion ", {"bash", "zsh", "fish"}),
    ("gpl wal c", {"check"}),
    ("gpl get l", {"last"}),
    ("gpl run -- cat no", {"notes.txt"}),
    ("gpl run -- sha256s", {"sha256sum"}),
])
def test_fish_offers(place, line, offered):
    need("fish")
    assert offered_by_fish(place, line) == offered


def test_fish_offers_job_files_to_run(place):
    need("fish")
    assert "job.toml" in offered_by_fish(place, "gpl run j")


def test_zsh_takes_the_script(gpl, tmp_path):
    need("zsh")
    (tmp_path / "_gpl").write_text(script(gpl, "zsh"))
    subprocess.run(["zsh", "-n", tmp_path / "_gpl"], check=True)


def line_of_zsh(place, typed, wanted, seconds=20):
    """What stands on an interactive zsh's terminal after `typed` and TAB, once `wanted` is there."""
    (place.home / ".zshrc").write_text(
        "PS1='> '; unsetopt beep zle_bracketed_paste; setopt list_packed\n"
        "autoload -Uz compinit; compinit -u -D\n"
        ". <(gpl completion zsh)\necho ready\n")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(place.work)
        os.execve(shutil.which("zsh"), ["zsh", "-i"], place.env)
    shown = b""

    def read_until(text):
        nonlocal shown
        deadline = time.monotonic() + seconds
        while text not in shown and time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 4096)
        return text in shown

    try:
        assert read_until(b"ready"), shown
        shown = b""
        os.write(terminal, typed.encode() + b"\t")
        found = read_until(wanted.encode())
        assert found, shown.decode(errors="replace")
    finally:
        os.kill(child, 9)
        os.close(terminal)
        os.waitpid(child, 0)


@pytest.mark.parametrize("typed, wanted", [
    ("gpl hi", "gpl history"),
    ("gpl run --std", "--stdin"),
    ("gpl run --stage no", "notes.txt"),
    ("gpl run jo", "job.toml"),
    ("gpl get last --into fo", "folder/"),
    ("gpl completion fi", "fish"),
    ("gpl run -- sha256s", "sha256sum"),
    ("gpl run -- cat no", "notes.txt"),
])
def test_zsh_completes(place, typed, wanted):
    need("zsh")
    line_of_zsh(place, typed, wanted)


def test_an_unknown_shell_is_a_usage_error(run):
    done = run("completion", "tcsh", text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "bash, zsh or fish" in done.stderr
