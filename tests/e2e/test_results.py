"""Results that --out names, in the caller's folder."""
import os
import signal
import subprocess
import time

import pytest
from conftest import as_nobody, as_root, eventually, lines, make_git

PYTHON = "/usr/bin/python3"
MAKE = "mkdir -p out/deep; echo a >out/a.txt; echo b >out/deep/b.txt; echo c >out/c.bin;" \
       "echo l >log"


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("patterns, wanted", [
    (["out"], ["out/a.txt", "out/c.bin", "out/deep/b.txt"]),
    (["out/"], ["out/a.txt", "out/c.bin", "out/deep/b.txt"]),
    (["./out"], ["out/a.txt", "out/c.bin", "out/deep/b.txt"]),
    (["out/*.txt"], ["out/a.txt"]),
    (["out/**/*.txt"], ["out/a.txt", "out/deep/b.txt"]),
    (["**/*.txt"], ["out/a.txt", "out/deep/b.txt"]),
    (["out/[ab].*"], ["out/a.txt"]),
    (["out/?.bin", "log"], ["log", "out/c.bin"]),
    (["*"], ["log", "out/a.txt", "out/c.bin", "out/deep/b.txt"]),
    (["."], ["log", "out/a.txt", "out/c.bin", "out/deep/b.txt"]),
    (["out/deep"], ["out/deep/b.txt"]),
])
@pytest.mark.keeps_files
def test_out_brings_back_what_matches(run, patterns, wanted):
    options = [word for pattern in patterns for word in ("--out", pattern)]
    done = run("run", *options, "--", "sh", "-c", MAKE)
    assert done.returncode == 0
    assert tree(run.work) == wanted


def test_on_a_run_whose_results_were_all_asked_for_there_are_no_words(run):
    done = run("run", "--out", "*", "--", "sh", "-c", MAKE)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_pattern_that_matches_nothing_is_told(run):
    done = run("run", "--out", "*.png", "--", "true")
    assert done.returncode == 0
    assert len(lines(done.stderr)) == 1 and b"*.png" in done.stderr


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../x", "a/../../x", ""])
def test_a_pattern_that_leads_out_is_a_usage_error(run, pattern):
    done = run("run", "--out", pattern, "--", "touch", str(run.base / "ran"))
    assert done.returncode == 2 and done.stderr.startswith(b"gpl: ")
    assert not (run.base / "ran").exists()


def test_modes_and_times_are_kept(run):
    run("run", "--out", "*", "--", "sh", "-c",
        "echo x >tool; chmod 750 tool; echo y >data; chmod 444 data; touch -d 2020-01-02 data")
    assert (run.work / "tool").stat().st_mode & 0o7777 == 0o750
    assert (run.work / "data").stat().st_mode & 0o7777 == 0o444
    assert time.gmtime((run.work / "data").stat().st_mtime)[:3] == (2020, 1, 2)


def test_links_come_back_as_links(run):
    run("run", "--out", "*", "--", "sh", "-c",
        "echo x >file; ln -s file link; ln -s /no/where gone")
    assert os.readlink(run.work / "link") == "file"
    assert os.readlink(run.work / "gone") == "/no/where"


def test_odd_names_come_back(run):
    names = ["a b", "it's", "n\nl", "-rf", "é", os.fsdecode(b"\xff"), "*", "x" * 255]
    script = "import sys\nfor name in sys.argv[1:]: open(name, 'w').write('x')"
    done = run("run", "--out", ".", "--", PYTHON, "-c", script, *names)
    assert done.returncode == 0 and done.stderr == b""
    assert tree(run.work) == sorted(names)


def test_results_of_a_failing_job_come_back_too(run):
    done = run("run", "--out", "*", "--", "sh", "-c", "echo x >partial; exit 4")
    assert done.returncode == 4
    assert tree(run.work) == ["partial"]


@pytest.mark.parametrize("end, code", [("kill -9 $$", 137), ("kill -SEGV $$", 139)])
def test_results_of_a_job_that_a_signal_ended_come_back_too(run, end, code):
    script = f"ulimit -c 0; echo x >partial; {end}; sleep 9"
    done = run("run", "--out", "*", "--", "sh", "-c", script)
    assert done.returncode == code
    assert tree(run.work) == ["partial"]


def test_results_come_back_at_a_time_limit_and_after_an_interrupt(run):
    done = run("run", "--out", "*", "--time-limit", "1s", "--", "sh", "-c", "echo x >one; sleep 60")
    assert done.returncode == 124
    job = run.start("run", "--out", "*", "--", "sh", "-c", "echo x >two; echo ready; exec sleep 60")
    assert job.stdout.readline() == b"ready\n"
    job.send_signal(signal.SIGINT)
    assert job.wait(10) == 130
    job.communicate()
    assert tree(run.work) == ["one", "two"]


def test_results_come_back_when_the_reader_has_left(run):
    run.bash("gpl run --out '*' -- sh -c 'echo x >file; exec yes' | head -1")
    assert "file" in tree(run.work)


def test_a_changed_file_replaces_the_callers_in_one_step(run):
    path = run.work / "data"
    path.write_text("old\n" * 100)
    with open(path, encoding="utf-8") as reader:
        done = run("run", "--out", "data", "--", "sh", "-c", "echo new >data")
        assert reader.read() == "old\n" * 100  # who had it open still reads what it was
    assert done.returncode == 0 and path.read_text() == "new\n"
    assert tree(run.work) == ["data"]


def test_files_that_the_job_left_alone_are_not_touched_in_the_callers_folder(run):
    (run.work / "data").write_text("staged\n")
    before = (run.work / "data").stat()
    job = run.start("run", "--out", "*", "--", "sh", "-c", "echo ready; sleep 0.4; echo x >new")
    assert job.stdout.readline() == b"ready\n"
    (run.work / "data").write_text("edited meanwhile\n")
    assert job.wait(10) == 0
    job.communicate()
    assert (run.work / "data").read_text() == "edited meanwhile\n"
    assert (run.work / "data").stat().st_ino == before.st_ino


def test_a_file_that_others_write_to_while_it_is_taken_is_no_result(run):
    with open(run.work / "earlier", "wb") as file:  # taken first, so that log changes meanwhile
        file.write(b"x" * (100 << 20))
    append = "import time\nf=open('log','ab',0)\nwhile True: f.write(b'y'); time.sleep(0.001)"
    writer = subprocess.Popen([PYTHON, "-c", append], cwd=run.work)
    try:
        eventually((run.work / "log").exists)
        before = (run.work / "log").stat().st_ino
        run("run", "--quiet", "--out", "*", "--", "true")
        # Else what the caller has written since then would be lost.
        assert (run.work / "log").stat().st_ino == before
    finally:
        writer.kill()
        writer.wait()


def test_a_removed_file_stays_in_the_callers_folder(run):
    (run.work / "data").write_text("x")
    run("run", "--out", "*", "--", "rm", "data")
    assert tree(run.work) == ["data"]


@pytest.mark.keeps_files
def test_nothing_is_written_through_a_link_that_leads_out(run):
    (run.base / "elsewhere").mkdir()
    (run.work / "out").symlink_to(run.base / "elsewhere")
    done = run("run", "--out", "out", "--", "sh", "-c", "rm -f out; mkdir out; echo x >out/file")
    assert list((run.base / "elsewhere").iterdir()) == []
    assert done.returncode == 125
    assert b"out" in done.stderr and b"leads out" in done.stderr
    assert run("get", "last", "--into", "kept").returncode == 0
    assert (run.work / "kept" / "out" / "file").read_text() == "x\n"


@pytest.mark.keeps_files
def test_nothing_is_written_through_a_deep_link_or_dots(run):
    (run.base / "elsewhere").mkdir()
    (run.work / "a").mkdir()
    (run.work / "a" / "b").symlink_to("../../elsewhere")
    done = run("run", "--out", "a", "--", "sh", "-c", "rm -f a/b; mkdir -p a/b/c; echo x >a/b/c/f")
    assert list((run.base / "elsewhere").iterdir()) == []
    assert done.returncode == 125


def test_a_result_that_is_a_link_in_the_callers_folder_replaces_the_link(run):
    (run.base / "precious").write_text("precious\n")
    (run.work / "result").symlink_to(run.base / "precious")
    done = run("run", "--out", "result", "--", "sh", "-c", "rm -f result; echo new >result")
    assert done.returncode == 0
    assert (run.base / "precious").read_text() == "precious\n"
    assert not (run.work / "result").is_symlink()
    assert (run.work / "result").read_text() == "new\n"


def test_a_link_inside_the_callers_folder_is_followed(run):
    (run.work / "real").mkdir()
    (run.work / "out").symlink_to("real")
    run("run", "--out", "out", "--", "sh", "-c", "rm -f out; mkdir out; echo x >out/file")
    assert (run.work / "real" / "file").read_text() == "x\n"


def test_a_job_that_makes_a_link_cannot_make_gpl_write_through_it(run):
    (run.base / "elsewhere").mkdir()
    done = run("run", "--out", "*", "--", "sh", "-c",
               f"ln -s {run.base}/elsewhere out; echo x >out/file; echo y >other")
    assert done.returncode == 0
    # The job itself wrote there; gpl brings the link, and nothing of what is behind it.
    assert (run.base / "elsewhere" / "file").exists()
    assert os.readlink(run.work / "out") == str(run.base / "elsewhere")


@as_root
@pytest.mark.keeps_files
def test_125_when_results_cannot_be_written_and_the_command_succeeded(run):
    run.give_to_nobody()
    os.chown(run.work, 0, 0)
    for script, code in (("echo x >file", 125), ("echo x >file; exit 3", 3)):
        done = run.command(*as_nobody(), run.gpl, "run", "--out", "*", "--", "sh", "-c", script)
        assert done.returncode == code
        assert b"cannot bring back file" in done.stderr and b"Permission denied" in done.stderr
        got = run.command(*as_nobody(), run.gpl, "get", "last", "--into", str(run.tmp / "kept"))
        assert got.returncode == 0, got.stderr
        assert (run.tmp / "kept" / "file").read_text() == "x\n"
        (run.tmp / "kept" / "file").unlink()
        (run.tmp / "kept").rmdir()


@pytest.mark.keeps_files
def test_a_folder_in_the_way_of_a_result_is_told_and_nothing_is_lost(run):
    (run.work / "name").mkdir()
    done = run("run", "--out", "name", "--", "sh", "-c", "rmdir name; echo x >name")
    assert done.returncode == 125 and b"name" in done.stderr
    assert run("get", "last", "--into", "kept").returncode == 0
    assert (run.work / "kept" / "name").read_text() == "x\n"


def test_a_callers_folder_that_is_gone_at_the_end_loses_nothing(run):
    folder = run.work / "gone"
    folder.mkdir()
    job = run.start("run", "--out", "*", "--", "sh", "-c", "echo ready; sleep 0.3; echo x >file",
                    cwd=folder)
    assert job.stdout.readline() == b"ready\n"
    folder.rmdir()
    err = job.stderr.read()
    assert job.wait(10) == 125 and b"gone" in err
    job.stdout.close()
    assert run("get", "last").returncode == 0
    assert (run.work / "file").read_text() == "x\n"
    for path in run.jobs():
        subprocess.run(["rm", "-r", path], check=True)


@pytest.mark.keeps_files
def test_files_of_no_stage_stay_where_they_are(run):
    done = run("run", "--no-stage", "--", "sh", "-c", "echo x >file")
    assert (done.returncode, done.stderr) == (0, b"")
    assert tree(run.work) == ["file"] and run.jobs() == []


@pytest.mark.keeps_files
def test_a_job_in_a_work_tree_brings_back_ignored_files_as_well(run):
    git = make_git(run.work)
    (run.work / ".gitignore").write_text("*.o\n")
    git("add", ".")
    run("run", "--out", "*.o", "--", "sh", "-c", "echo x >a.o")
    assert (run.work / "a.o").exists()


@pytest.mark.keeps_files
def test_an_empty_file_and_a_file_of_100_mb_come_back(run):
    done = run("run", "--out", "*", "--", "sh", "-c",
               "touch empty; head -c 100000000 /dev/zero >large")
    assert done.returncode == 0
    assert (run.work / "empty").stat().st_size == 0
    assert (run.work / "large").stat().st_size == 100_000_000


def test_2000_files_come_back(run):
    done = run("run", "--out", "out", "--", "bash", "-c",
               "mkdir out; for i in {1..2000}; do echo $i >out/$i; done")
    assert done.returncode == 0 and len(tree(run.work)) == 2000
