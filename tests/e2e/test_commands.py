"""What a command gets, and what of it comes back: beyond the rows of tests/cases/exec."""
import hashlib
import os
import random
import signal
import subprocess
import time

import pytest
from conftest import lines

PYTHON = "/usr/bin/python3"


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_clean_run_says_nothing_of_its_own(run):
    done = run("run", "--", "true")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("code", [1, 2, 3, 124, 125, 126, 127, 128, 130, 137, 143, 254, 255])
def test_every_exit_code_comes_back(run, code):
    done = run("run", "--", "sh", "-c", f"exit {code}")
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@pytest.mark.parametrize("name", ["HUP", "INT", "QUIT", "ILL", "ABRT", "FPE", "KILL", "SEGV",
                                  "PIPE", "ALRM", "TERM", "USR1", "USR2", "XCPU", "SYS"])
def test_a_job_that_a_signal_ended_gives_128_and_its_number(run, name):
    done = run("run", "--", "sh", "-c", f"ulimit -c 0; echo before; kill -{name} $$; sleep 5")
    number = getattr(signal, "SIG" + name)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, b"before\n", b"")


def test_a_realtime_signal_too(run):
    done = run("run", "--", "bash", "-c", "kill -64 $$; sleep 5")
    assert done.returncode == 128 + 64


def test_an_argument_of_100_kb_arrives(run):
    word = "x y'\"$" * (100 * 1024 // 6)
    done = run("run", "--", "printf", "%s", word)
    assert done.stdout == word.encode()


def test_many_arguments_arrive(run):
    words = [str(i) for i in range(20_000)]
    done = run("run", "--", "printf", "%s\n", *words)
    assert done.stdout.decode().split() == words


def test_words_that_are_no_utf_8_arrive(run):
    words = os.fsencode("caf") + b"\xe9\xff", b"\x80"
    done = run.command("sh", "-c", 'exec gpl run -- printf "%s|" "$1" "$2"', "sh",
                       *(os.fsdecode(word) for word in words))
    assert done.stdout == b"|".join(words) + b"|"


def test_2000_variables_arrive(run):
    options = [word for i in range(2000) for word in ("--env", f"V{i}=value {i}")]
    done = run("run", *options, "--", "env")
    got = set(lines(done.stdout))
    assert {f"V{i}=value {i}" for i in range(2000)} <= got


def test_an_empty_value_is_a_value(run):
    done = run("run", "--env", "EMPTY=", "--", "sh", "-c", 'echo "[${EMPTY-unset}]"')
    assert done.stdout == b"[]\n"


def test_a_job_may_close_its_stdout_and_run_on(run):
    done = run("run", "--", "sh", "-c", "echo out; exec >&-; sleep 0.3; echo err >&2; exit 9")
    assert (done.returncode, done.stdout, done.stderr) == (9, b"out\n", b"err\n")


def test_a_job_may_close_both_streams_and_run_on(run):
    done = run("run", "--", "sh", "-c", "echo out; exec >&- 2>&-; sleep 0.3; exit 9")
    assert (done.returncode, done.stdout, done.stderr) == (9, b"out\n", b"")


def test_50_mb_through_a_slow_reader_are_the_same_bytes(run):
    size = 50_000_000
    made = "import random,sys;r=random.Random(1);w=sys.stdout.buffer.write\n" \
           f"for i in range({size // 1_000_000}): w(r.randbytes(1_000_000))"
    job = run.start("run", "--", PYTHON, "-c", made)
    digest, got = hashlib.sha256(), 0
    while block := job.stdout.read1(1 << 20):
        digest.update(block)
        if got < 2_000_000:
            time.sleep(0.02)  # long enough for every buffer on the way to be full
        got += len(block)
    assert job.wait(60) == 0 and got == size
    wanted = hashlib.sha256()
    source = random.Random(1)
    for _ in range(size // 1_000_000):
        wanted.update(source.randbytes(1_000_000))
    assert digest.hexdigest() == wanted.hexdigest()
    assert job.stderr.read() == b""


def test_a_reader_of_stderr_that_is_slow_does_not_hold_up_stdout(run):
    noisy = "import sys\nsys.stdout.write('o' * 300000); sys.stdout.flush()\n" \
            "sys.stderr.write('e' * 3000000); sys.stdout.write('end')"
    job = run.start("run", "--", PYTHON, "-c", noisy)
    assert job.stdout.read(300_000) == b"o" * 300_000
    assert job.stderr.read() == b"e" * 3_000_000
    assert job.stdout.read() == b"end"
    assert job.wait(30) == 0


def test_both_streams_arrive_whole_and_apart(run):
    script = 'i=0; while [ $i -lt 2000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done'
    done = run("run", "--", "sh", "-c", script)
    assert lines(done.stdout) == [f"o{i}" for i in range(2000)]
    assert lines(done.stderr) == [f"e{i}" for i in range(2000)]


def test_both_streams_in_one_pipe_lose_nothing(run):
    script = 'i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done'
    done = run("run", "--", "sh", "-c", script, stderr=subprocess.STDOUT)
    got = lines(done.stdout)
    assert [line for line in got if line[0] == "o"] == [f"o{i}" for i in range(500)]
    assert [line for line in got if line[0] == "e"] == [f"e{i}" for i in range(500)]


def test_output_comes_while_the_job_runs(run):
    job = run.start("run", "--", "sh", "-c", "printf '\\r 10%%'; sleep 30")
    began = time.monotonic()
    assert job.stdout.read(5) == b"\r 10%"
    assert time.monotonic() - began < 5
    job.terminate()
    assert job.wait(10) == 143


def test_a_child_that_holds_stderr_delays_the_end_by_a_second_at_most(run):
    began = time.monotonic()
    done = run("run", "--", "bash", "-c", "sleep 30 >/dev/null & echo done; echo err >&2; exit 4")
    assert (done.returncode, done.stdout, done.stderr) == (4, b"done\n", b"err\n")
    assert time.monotonic() - began < 3


def test_what_a_child_writes_shortly_after_is_not_lost(run):
    done = run("run", "--", "sh", "-c", "(sleep 0.2; echo late) & echo first")
    assert done.stdout == b"first\nlate\n"


def test_a_text_without_a_first_line_is_run_by_the_shell(run):
    executable(run.work / "script", "echo ran with $1\nexit 5\n")
    done = run("run", "--", "./script", "a b")
    assert (done.returncode, done.stdout) == (5, b"ran with a b\n")


def test_a_script_with_a_first_line_gets_its_words(run):
    executable(run.work / "script", f"#!{PYTHON}\nimport sys\nprint(sys.argv)\n")
    done = run("run", "--", "./script", "a b", "")
    assert done.stdout == b"['./script', 'a b', '']\n"


@pytest.mark.parametrize("setup, command, code", [
    ("mkdir folder", "./folder", 126),
    ("printf '#!/no/such/interpreter\\n' >bad; chmod 755 bad", "./bad", 126),
    ("echo text >plain; chmod 644 plain", "./plain", 126),
    (":", "./absent", 127),
    (":", "/no/such/folder/program", 127),
    ("touch file", "./file/program", 127),
    (":", "no-such-program-gpl", 127),
    ("ln -s nowhere link", "./link", 127),
    ("mkdir bin; echo x >bin/tool; chmod 644 bin/tool", "bin/tool", 126),
])
def test_what_cannot_be_run_gives_126_or_127_and_its_name(run, setup, command, code):
    run.bash(setup)
    done = run("run", "--", command)
    assert done.returncode == code
    assert done.stdout == b""
    assert command.split("/")[-1].encode() in done.stderr
    assert lines(done.stderr)[-1].startswith("gpl: ")


def test_a_binary_of_another_machine_gives_126(run):
    elf = bytearray(b"\x7fELF\x02\x01\x01" + bytes(57))
    elf[16], elf[18] = 2, 0xF3  # an executable for RISC-V, with no segments
    (run.work / "foreign").write_bytes(elf)
    (run.work / "foreign").chmod(0o755)
    done = run("run", "--", "./foreign")
    # A shell that is handed the file (it is no known format) says the same in its own words.
    assert done.returncode in (126, 127, 2) and done.stderr


def test_the_command_is_looked_up_on_the_path_that_env_gives(run):
    (run.work / "tools").mkdir()
    executable(run.work / "tools" / "tool", "#!/bin/sh\necho mine\n")
    missing = run("run", "--", "tool")
    assert missing.returncode == 127
    found = run("run", "--env", "PATH=tools:/usr/bin:/bin", "--", "tool")
    assert (found.returncode, found.stdout) == (0, b"mine\n")


def test_a_file_on_path_that_is_not_executable_does_not_hide_one_that_is(run):
    for name in ("first", "second"):
        (run.work / name).mkdir()
        (run.work / name / "tool").write_text(f"#!/bin/sh\necho {name}\n")
    (run.work / "second" / "tool").chmod(0o755)
    done = run("run", "--env", "PATH=first:second:/bin:/usr/bin", "--", "tool")
    assert done.stdout == b"second\n"


def test_the_job_leads_a_session_of_its_own(run):
    script = "import os; print(os.getpid() == os.getsid(0) == os.getpgrp())"
    assert run("run", "--", PYTHON, "-c", script).stdout == b"True\n"


def test_signals_are_as_after_a_login_whatever_the_caller_ignores(run):
    script = "trap '' INT QUIT PIPE USR1 CHLD TSTP; exec gpl run -- " \
             "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    done = run.bash(script)
    assert [line.split()[1] for line in lines(done.stdout)] == ["0" * 16] * 2


def test_descriptors_that_the_caller_left_open_do_not_reach_the_job(run):
    done = run.bash("exec 7</dev/null 9>/dev/null 63</dev/null; gpl run -- ls /proc/self/fd")
    assert [number for number in lines(done.stdout) if int(number) > 3] == []


def test_umask_and_limits_are_the_callers(run):
    done = run.bash("umask 027; ulimit -n 77; gpl run -- bash -c 'umask; ulimit -n'")
    assert lines(done.stdout) == ["0027", "77"]


def test_gpl_can_run_in_a_job_of_gpl(run):
    done = run("run", "--env", "XDG_STATE_HOME", "--env", "XDG_CONFIG_HOME", "--",
               "gpl", "run", "--", "sh", "-c", "echo inner; exit 6")
    assert (done.returncode, done.stdout) == (6, b"inner\n")


def test_words_that_look_like_options_of_gpl_are_the_commands(run):
    done = run("run", "--", "printf", "%s,", "--json", "--", "--out", "[1,2]", "-x")
    assert done.stdout == b"--json,--,--out,[1,2],-x,"
