"""gpl run in shell scripts: pipes, loops, closed and full outputs, terminals."""
import os
import pty
import select
import subprocess
import time

import pytest
from conftest import eventually, lines

PYTHON = "/usr/bin/python3"


def test_or_and_and(run):
    done = run.bash("gpl run -- false || echo no; gpl run -- true && echo yes")
    assert lines(done.stdout) == ["no", "yes"]


def test_a_failing_job_ends_a_script_under_set_e(run):
    done = run.bash("set -e; gpl run -- sh -c 'exit 5'; echo never")
    assert (done.returncode, done.stdout) == (5, b"")


def test_if_and_while_take_it_as_a_condition(run):
    done = run.bash("n=0; while gpl run -- test $n -lt 3; do n=$((n+1)); done; echo $n;"
                    "if ! gpl run -- false; then echo not; fi")
    assert lines(done.stdout) == ["3", "not"]


def test_a_while_read_loop_is_not_eaten(run):
    done = run.bash("printf '1\\n2\\n3\\n' | while read -r x; do gpl run -- cat; echo got $x; done")
    assert lines(done.stdout) == ["got 1", "got 2", "got 3"]


def test_command_substitution_takes_the_output_alone(run):
    done = run.bash('x=$(gpl run -- printf "a\\nb"); echo "[$x]"')
    assert done.stdout == b"[a\nb]\n"


def test_a_job_in_the_middle_of_a_pipeline(run):
    done = run.bash("set -o pipefail; seq 5 | gpl run --stdin -- tac | head -2; "
                    "echo ${PIPESTATUS[@]}")
    assert lines(done.stdout) == ["5", "4", "0 0 0"]


def test_two_jobs_in_one_pipeline(run):
    done = run.bash("gpl run -- seq 20000 | gpl run --stdin -- md5sum; echo ${PIPESTATUS[@]};"
                    "seq 20000 | md5sum")
    first, codes, wanted = lines(done.stdout)
    assert codes == "0 0" and first == wanted


def test_20_mb_of_stdin_arrive(run):
    done = run("run", "--stdin", "--", "sha256sum", input=b"0123456789abcdef" * 1_250_000)
    alone = subprocess.run(["sha256sum"], input=b"0123456789abcdef" * 1_250_000,
                           capture_output=True, check=True)
    assert done.stdout == alone.stdout


def test_a_job_that_does_not_read_its_stdin_ends_all_the_same(run):
    done = run.bash("yes | gpl run --stdin -- echo hi; echo ${PIPESTATUS[@]}")
    assert lines(done.stdout) == ["hi", "141 0"]


def test_stdin_is_a_file_when_the_callers_is(run):
    (run.base / "input").write_text("from a file\n")
    with open(run.base / "input", encoding="utf-8") as file:
        assert run("run", "--stdin", "--", "cat", stdin=file).stdout == b"from a file\n"


def test_without_stdin_the_job_reads_the_end_at_once(run):
    read, write = os.pipe()  # an open pipe in which nothing comes
    try:
        done = run("run", "--", "sh", "-c", "cat; echo end", stdin=read, timeout=10)
    finally:
        os.close(read)
        os.close(write)
    assert done.stdout == b"end\n"


def test_a_reader_that_leaves_ends_the_job_with_141(run):
    done = run.bash("gpl run -- yes | head -1; echo ${PIPESTATUS[@]}")
    assert lines(done.stdout) == ["y", "141 0"]
    assert done.stderr == b""


def test_a_reader_that_leaves_ends_a_job_that_ignores_sigpipe(run):
    loop = "import signal,time;signal.signal(signal.SIGPIPE, signal.SIG_IGN)\n" \
           "while True:\n  print('y'); time.sleep(0.01)"
    done = run.command("bash", "-c", 'gpl run -- "$@" | head -1; echo ${PIPESTATUS[@]}', "bash",
                       PYTHON, "-c", loop)
    assert lines(done.stdout)[-1] == "141 0"


def test_a_job_whose_reader_has_left_but_that_prints_no_more_ends_as_it_likes(run):
    done = run.bash("gpl run -- sh -c 'sleep 0.3; exit 4' | true; echo ${PIPESTATUS[@]}")
    assert lines(done.stdout) == ["4 0"]


def test_a_closed_stderr_of_a_pipeline_stops_the_job_too(run):
    done = run.bash("{ gpl run -- sh -c 'while :; do echo x >&2; done' 2>&1 >/dev/null; "
                    "echo $? >code; } | head -1")
    assert done.stdout == b"x\n"
    assert (run.work / "code").read_text() == "141\n"


def test_a_stdout_that_is_closed_from_the_start_counts_as_a_reader_that_left(run):
    done = run.bash("gpl run -- sh -c 'while :; do echo x; sleep 0.01; done' >&-; echo $? >&2")
    assert lines(done.stderr)[-1] == "141"


def test_a_closed_stdout_does_not_matter_to_a_job_that_prints_nothing(run):
    done = run.bash("gpl run -- sh -c 'sleep 0.3; exit 3' >&-; echo $?")
    assert done.stdout == b"3\n"


def test_closed_streams_do_not_send_output_into_other_files(run):
    # Descriptor 1 or 2 of a careless program would be the next file that it opens.
    script = "gpl run -- sh -c 'echo out; echo err >&2; exit 3' "
    for closing in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
        run.bash(script + closing)
    assert list(run.work.iterdir()) == []


def test_closed_stdin_and_stderr_leave_the_job_alone(run):
    done = run.bash("gpl run -- sh -c 'cat; echo out; exit 3' <&- 2>&-; echo $?")
    assert lines(done.stdout) == ["out", "3"]


def test_stdin_that_is_closed_and_passed_on_is_at_its_end(run):
    done = run.bash("gpl run --stdin -- sh -c 'cat; echo end' <&-; echo $?")
    assert lines(done.stdout) == ["end", "0"]


@pytest.mark.keeps_files
def test_a_full_disk_under_stdout_does_not_stop_the_job(run):
    done = run.bash(f"gpl run -- sh -c 'echo one; sleep 0.2; echo two; touch {run.base}/ran'"
                    " >/dev/full")
    assert (run.base / "ran").exists()
    assert done.returncode == 125
    assert b"cannot write to standard output: No space left on device" in done.stderr
    kept = run("get", "last", "--into", "kept")
    assert kept.returncode == 0
    outputs = list((run.work / "kept").glob("*.stdout"))
    assert len(outputs) == 1 and outputs[0].read_bytes() == b"one\ntwo\n"


@pytest.mark.keeps_files
def test_a_full_disk_under_stdout_leaves_a_failing_jobs_code(run):
    assert run.bash("gpl run -- sh -c 'echo one; exit 3' >/dev/full").returncode == 3


@pytest.mark.keeps_files
def test_a_full_disk_under_stderr_is_survived_too(run):
    done = run.bash("gpl run -- sh -c 'echo out; echo err >&2; echo more' 2>/dev/full")
    assert lines(done.stdout) == ["out", "more"]
    assert run("get", "last", "--into", "kept").returncode == 0
    assert [path.read_bytes() for path in (run.work / "kept").glob("*.stderr")] == [b"err\n"]


def test_output_into_a_file_is_appended_to_when_the_caller_appends(run):
    run.bash("echo first >log; gpl run --no-stage -- echo second >>log; echo third >>log",
             cwd=run.base)
    assert (run.base / "log").read_text() == "first\nsecond\nthird\n"


def test_output_into_a_file_that_others_write_to_as_well(run):
    run.bash("{ echo a; gpl run --no-stage -- echo b; echo c; } >log 2>&1", cwd=run.base)
    assert (run.base / "log").read_text() == "a\nb\nc\n"


def test_a_socket_as_stdout_works(run):
    import socket
    ours, theirs = socket.socketpair()
    job = run.start("run", "--", "seq", "20000", stdout=theirs)
    theirs.close()
    got = b""
    while block := ours.recv(65536):
        got += block
    assert job.wait(10) == 0 and len(got.split()) == 20000


def test_the_callers_streams_stay_blocking(run):
    # A description that is left O_NONBLOCK breaks whoever writes there next.
    done = run.bash("gpl run -- echo x; /usr/bin/python3 -c 'import os,sys;"
                    "sys.stderr.write(str([os.get_blocking(n) for n in (0, 1, 2)]))'")
    assert done.stderr == b"[True, True, True]"


class Terminal:
    """A pseudo terminal with gpl in its foreground; `text` is what appeared on it."""

    def __init__(self, run, *words):
        self.text = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(run.work)
            os.execve(run.gpl, [run.gpl, *words], run.env)

    def read_until(self, wanted, seconds=10):
        deadline = time.monotonic() + seconds
        while wanted not in self.text and time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.1)[0] and not self._read():
                break
        assert wanted in self.text, self.text

    def _read(self):
        try:
            block = os.read(self.fd, 65536)
        except OSError:
            return False  # EIO: nobody has it open any more
        self.text += block
        return bool(block)

    def end(self):
        while self._read():
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


def test_output_to_a_terminal_appears_as_the_job_wrote_it(run):
    terminal = Terminal(run, "run", "--", "sh", "-c", "echo out; echo err >&2; seq 3000; exit 6")
    assert terminal.end() == 6
    text = terminal.text.replace(b"\r\n", b"\n")
    assert text.count(b"out\n") == 1 and text.count(b"err\n") == 1
    assert text.replace(b"err\n", b"") == b"out\n" + b"".join(b"%d\n" % i for i in range(1, 3001))


def test_stdin_from_a_terminal_is_passed_on(run):
    terminal = Terminal(run, "run", "--stdin", "--", "sh", "-c", "echo ask; read x; echo got:$x")
    terminal.read_until(b"ask")
    os.write(terminal.fd, b"answer\n")
    terminal.read_until(b"got:answer")
    assert terminal.end() == 0


def test_ctrl_c_on_a_terminal_reaches_the_job_once(run):
    trap = "n=0; trap 'n=$((n+1)); echo caught $n; sleep 0.3; exit 7' INT; echo ready;" \
           "while :; do sleep 0.05; done"
    terminal = Terminal(run, "run", "--", "bash", "-c", trap)
    terminal.read_until(b"ready")
    os.write(terminal.fd, b"\x03")
    assert terminal.end() == 7
    assert terminal.text.count(b"caught") == 1


def test_a_second_ctrl_c_ends_it_at_once(run):
    terminal = Terminal(run, "run", "--", "bash", "-c",
                        "trap 'echo caught' INT; echo ready; while :; do sleep 0.05; done")
    terminal.read_until(b"ready")
    os.write(terminal.fd, b"\x03")
    terminal.read_until(b"caught")
    began = time.monotonic()
    os.write(terminal.fd, b"\x03")
    assert terminal.end() == 130
    assert time.monotonic() - began < 3


def test_a_terminal_that_is_closed_ends_the_job(run):
    terminal = Terminal(run, "run", "--", "sh", "-c", "echo ready; sleep 60")
    terminal.read_until(b"ready")
    os.close(terminal.fd)
    eventually(lambda: os.waitpid(terminal.pid, os.WNOHANG)[0], 5, "the end after the hangup")
