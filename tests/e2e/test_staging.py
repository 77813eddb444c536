"""What of a folder arrives in the private copy: beyond the rows of tests/cases/stage."""
import os
import pathlib
import subprocess
import time

import pytest
from conftest import NOBODY, as_nobody, as_root, eventually, lines
from processes import alive

PYTHON = "/usr/bin/python3"


def listing(run, *options, **more):
    """The paths in the private copy, folders with a slash."""
    done = run("run", *options, "--", "find", ".", "-mindepth", "1", "(", "-type", "d", "-printf",
               "%P/\\0", "-o", "-printf", "%P\\0", ")", **more)
    assert done.returncode == 0, done.stderr
    return sorted(os.fsdecode(path) for path in done.stdout.split(b"\0")[:-1])


def test_an_empty_folder_is_an_empty_folder(run):
    assert listing(run) == []


def test_the_command_runs_in_a_private_copy(run):
    (run.work / "file").write_text("before\n")
    done = run("run", "--quiet", "--out", "nothing", "--", "sh", "-c",
               "pwd; echo after >file; rm -f file; mkdir new; cd new; pwd")
    first, second = lines(done.stdout)
    assert first != str(run.work) and second == first + "/new"
    assert (run.work / "file").read_text() == "before\n"
    assert [path.name for path in run.work.iterdir()] == ["file"]


def test_editing_the_folder_while_the_job_runs_changes_nothing_for_it(run):
    (run.work / "program").write_text("version 1\n")
    job = run.start("run", "--", "sh", "-c", "echo ready; sleep 0.5; cat program")
    assert job.stdout.readline() == b"ready\n"
    (run.work / "program").write_text("version 2\n")
    assert job.stdout.read() == b"version 1\n"
    assert job.wait(10) == 0


def test_hidden_files_empty_files_and_deep_folders_arrive(run):
    deep = pathlib.Path(*["d"] * 200)
    (run.work / deep).mkdir(parents=True)
    (run.work / deep / "end").write_text("deep\n")
    (run.work / ".hidden").write_text("")
    (run.work / ".config").mkdir()
    (run.work / ".config" / "a").write_text("a")
    (run.work / "empty").touch()
    assert set(listing(run)) >= {".hidden", ".config/", ".config/a", "empty", str(deep / "end")}
    assert run("run", "--", "cat", str(deep / "end")).stdout == b"deep\n"


def test_names_of_255_bytes_and_of_any_bytes_arrive(run):
    names = [b"n" * 255, b"caf\xe9", b"\xff\xfe", "é".encode() * 127, b"a\nb", b"-n", b" ",
             b"\x01"]
    for name in names:
        (run.work / os.fsdecode(name)).write_text("x")
    assert listing(run) == sorted(os.fsdecode(name) for name in names)


def test_a_path_of_almost_4096_bytes_arrives(run):
    # Made and removed step by step: as one path it is longer than the kernel takes.
    run.bash("for i in $(seq 18); do d=$(printf '%0200d' $i); mkdir $d; cd -P $d || exit; done;"
             "echo bottom >file")
    done = run("run", "--", "bash", "-c", "for i in $(seq 18); do cd */ || exit; done; cat file")
    assert done.stdout == b"bottom\n", done.stderr


def test_times_and_modes_arrive(run):
    for mode in (0o600, 0o644, 0o755, 0o444, 0o500, 0o664):
        path = run.work / f"m{mode:o}"
        path.write_text("x")
        path.chmod(mode)
        os.utime(path, ns=(1_500_000_000_123_456_789, 1_400_000_000_987_654_321))
    (run.work / "folder").mkdir(mode=0o750)
    os.utime(run.work / "folder", (1_300_000_000, 1_300_000_000))
    show = ["find", ".", "-mindepth", "1", "-printf", "%P %m %T@\n"]
    wanted = run.command(*show).stdout
    assert sorted(lines(run("run", "--", *show).stdout)) == sorted(lines(wanted))


def test_setuid_setgid_and_sticky_bits_do_not_arrive(run):
    (run.work / "tool").write_text("#!/bin/sh\n")
    (run.work / "tool").chmod(0o6755)
    (run.work / "folder").mkdir()
    (run.work / "folder").chmod(0o3755)
    done = run("run", "--", "stat", "-c", "%a", "tool", "folder")
    assert done.stdout == b"755\n755\n"


def test_hard_links_arrive_as_files_with_the_same_content(run):
    (run.work / "one").write_text("content\n")
    os.link(run.work / "one", run.work / "two")
    assert run("run", "--", "cat", "one", "two").stdout == b"content\n" * 2


def test_a_change_in_the_copy_does_not_reach_the_original_through_a_hard_link(run):
    (run.base / "elsewhere").write_text("original\n")
    os.link(run.base / "elsewhere", run.work / "file")
    run("run", "--quiet", "--out", "file2", "--", "sh", "-c", "echo changed >>file; rm file")
    assert (run.base / "elsewhere").read_text() == "original\n"


def test_a_sparse_file_stays_sparse_and_whole(run):
    with open(run.work / "sparse", "wb") as file:
        file.write(b"begin")
        file.seek(3 << 30)
        file.write(b"middle")
        file.truncate(5 << 30)
    began = time.monotonic()
    done = run("run", "--", "sh", "-c", "stat -c %s sparse; du -k sparse | cut -f1;"
               "head -c 5 sparse; tail -c +3221225473 sparse | head -c 6")
    size, used, text = lines(done.stdout)
    assert (int(size), text) == (5 << 30, "beginmiddle") and int(used) < 1000
    assert time.monotonic() - began < 10


def test_a_large_file_is_the_same(run):
    with open(run.work / "large", "wb") as file:
        for i in range(80):
            file.write(os.urandom(1 << 20) if i % 2 else bytes(1 << 20))
    wanted = subprocess.run(["sha256sum", "large"], cwd=run.work, capture_output=True, check=True)
    assert run("run", "--", "sha256sum", "large").stdout == wanted.stdout


def test_what_an_ordinary_user_may_not_read_is_named_and_left_out(run):
    run.give_to_nobody()
    run.command(*as_nobody(), "sh", "-c",
                "echo x >open; echo x >closed; chmod 0 closed; mkdir shut; echo x >shut/in;"
                "chmod 0 shut")
    done = run.command(*as_nobody(), run.gpl, "run", "--", "ls", "-A")
    assert done.returncode == 0
    assert "open" in lines(done.stdout) and "closed" not in lines(done.stdout)
    said = [line for line in lines(done.stderr) if line.startswith("gpl: not staged: ")]
    assert sorted(line.split()[3] for line in said) == ["closed", "shut"]


def test_a_device_is_named_and_left_out(run):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    run.command("mknod", "null", "c", "1", "3")
    (run.work / "file").touch()
    done = run("run", "--", "ls")
    assert done.stdout == b"file\n"
    assert lines(done.stderr) == ["gpl: not staged: null is a device"]


def test_many_things_that_are_left_out_take_few_lines(run):
    for i in range(40):
        os.mkfifo(run.work / f"pipe{i}")
    done = run("run", "--", "true")
    assert 1 < len(lines(done.stderr)) < 10
    assert "35 more" in done.stderr.decode() or "more of the kind" in done.stderr.decode()


def test_files_that_vanish_while_they_are_taken_do_not_matter(run):
    (run.work / "stays").write_text("x")
    churn = "import os\nwhile True:\n  for k in range(40): open(f'v{k}', 'w').close()\n" \
            "  for k in range(40): os.unlink(f'v{k}')"
    writer = subprocess.Popen([PYTHON, "-c", churn], cwd=run.work)
    try:
        for _ in range(30):
            done = run("run", "--", "cat", "stays")
            assert (done.returncode, done.stdout) == (0, b"x")
            assert all("was written to while" in line or "more of the kind" in line
                       for line in lines(done.stderr)), done.stderr
    finally:
        writer.kill()
        writer.wait()


def test_a_file_that_is_written_to_while_it_is_taken_is_named(run):
    with open(run.work / "log", "wb") as file:
        file.write(b"x" * (200 << 20))
    append = "f=open('log','ab',0)\nwhile True: f.write(b'y'*100)"
    writer = subprocess.Popen([PYTHON, "-c", append], cwd=run.work)
    try:
        eventually(lambda: (run.work / "log").stat().st_size > (200 << 20), 5, "the first write")
        done = run("run", "--", "sh", "-c", "tr -d xy <log | wc -c")
    finally:
        writer.kill()
        writer.wait()
    assert done.stdout == b"0\n"
    assert lines(done.stderr) == ["gpl: log was written to while it was taken"]


def test_links_arrive_as_links(run):
    run.bash("echo x >file; mkdir dir; ln -s file good; ln -s dir/ folder; ln -s /etc/hostname out;"
             "ln -s ../work/file round")
    done = run("run", "--", "sh", "-c", "for l in good folder out round; do readlink $l; done")
    assert lines(done.stdout) == ["file", "dir/", "/etc/hostname", "../work/file"]
    said = "\n".join(lines(done.stderr))
    assert "out is a link to /etc/hostname" in said
    assert "good" not in said and "folder" not in said


def test_stage_takes_what_a_link_leads_to(run):
    (run.base / "data").mkdir()
    (run.base / "data" / "file").write_text("content\n")
    (run.work / "link").symlink_to(run.base / "data")
    done = run("run", "--stage", "link", "--", "cat", "link/file")
    assert (done.returncode, done.stdout) == (0, b"content\n"), done.stderr


def test_stage_of_a_path_that_is_not_there_is_refused(run):
    done = run("run", "--stage", "absent", "--", "true")
    assert done.returncode in (2, 125)
    assert b"absent" in done.stderr


def test_no_stage_runs_in_the_folder_itself(run):
    done = run("run", "--no-stage", "--", "sh", "-c", "pwd; echo x >made")
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines(done.stdout) == [str(run.work)]
    assert (run.work / "made").read_text() == "x\n"


def test_no_stage_and_stage_exclude_each_other(run):
    done = run("run", "--no-stage", "--stage", "x", "--", "true")
    assert done.returncode == 2 and b"stage" in done.stderr


@pytest.mark.parametrize("place", ["home", "passwd home", "root"])
def test_from_the_home_folder_and_from_the_root_nothing_is_staged(run, place):
    (run.home / "file").write_text("x")
    folder = {"home": run.home, "root": "/",
              "passwd home": os.path.expanduser(f"~{os.environ.get('USER', 'root')}")}[place]
    done = run("run", "--", "sh", "-c", "pwd; ls -A", cwd=folder)
    assert done.returncode == 0
    assert len(lines(done.stdout)) == 1 and lines(done.stdout)[0] != str(folder)
    assert len(lines(done.stderr)) == 1
    assert done.stderr.startswith(b"gpl: ") and b"--stage" in done.stderr


def test_from_the_home_folder_stage_takes_what_it_names_alone(run):
    (run.home / "file").write_text("x")
    (run.home / "other").write_text("x")
    done = run("run", "--stage", "file", "--", "ls", "-A", cwd=run.home)
    assert (done.stdout, done.stderr) == (b"file\n", b"")


def test_a_link_to_the_home_folder_is_the_home_folder(run):
    (run.base / "alias").symlink_to(run.home)
    (run.home / "file").write_text("x")
    done = run("run", "--", "ls", "-A", cwd=run.base / "alias",
               env={"PWD": str(run.base / "alias")})
    assert done.stdout == b"" and b"nothing is staged" in done.stderr


def test_more_than_1_gib_is_refused_with_the_largest_folders(run):
    for name, mib in (("small", 1), ("huge", 900), ("large", 300)):
        (run.work / name).mkdir()
        run.command("fallocate", "-l", f"{mib}M", f"{name}/file")
    done = run("run", "--", "touch", str(run.base / "ran"))
    assert done.returncode == 125 and not (run.base / "ran").exists()
    said = done.stderr.decode()
    assert "1 GiB" in said or "1.0 GiB" in said
    assert said.index("'huge'") < said.index("'large'") < said.index("'small'")
    assert "--stage ." in said
    assert "--data" not in said  # which this version refuses


def test_more_than_1_gib_is_taken_when_stage_insists(run):
    run.command("fallocate", "-l", "1100M", "file")
    done = run("run", "--stage", ".", "--", "stat", "-c", "%s", "file", timeout=120)
    assert (done.returncode, done.stdout) == (0, b"%d\n" % (1100 << 20)), done.stderr


def test_holes_do_not_count_for_the_limit(run):
    with open(run.work / "sparse", "wb") as file:
        file.truncate(20 << 30)
    assert run("run", "--", "stat", "-c", "%s", "sparse").stdout == b"%d\n" % (20 << 30)


def test_what_is_ignored_does_not_count_for_the_limit(run):
    (run.work / ".gplignore").write_text("data\n")
    (run.work / "data").mkdir()
    run.command("fallocate", "-l", "1100M", "data/file")
    assert run("run", "--", "ls").stdout == b""


def test_more_than_100000_files_are_refused(run):
    for d in range(101):
        (run.work / f"d{d}").mkdir()
        source = run.base / f"file{d // 60}"  # links are made faster, up to 65,000 of a file
        source.touch()
        for f in range(1000):
            os.link(source, run.work / f"d{d}" / str(f))
    done = run("run", "--", "true")
    assert done.returncode == 125
    said = done.stderr.decode()
    assert "101000 files" in said and "100000 files" in said and "--stage ." in said
    (run.work / ".gplignore").write_text("d*\n!d7\n")
    assert run("run", "--", "sh", "-c", "ls; ls d7 | wc -l").stdout == b"d7\n1000\n"


def test_the_copy_and_the_temporary_folder_of_a_job_are_private(run):
    done = run("run", "--", "sh", "-c", "stat -c %a ../ \"$TMPDIR\"")
    assert done.stdout == b"700\n700\n"


@as_root
def test_another_users_folder_is_run_in_by_a_user_who_may_only_read_it(run):
    run.give_to_nobody()
    os.chown(run.work, 0, 0)
    (run.work / "file").write_text("x\n")
    done = run.command(*as_nobody(), run.gpl, "run", "--", "sh", "-c", "cat file; id -u")
    assert (done.returncode, done.stdout) == (0, b"x\n%d\n" % NOBODY), done.stderr


def test_a_folder_that_the_job_made_unreadable_is_removed_all_the_same(run):
    run.give_to_nobody()
    done = run.command(*as_nobody(), run.gpl, "run", "--", "sh", "-c",
                       "mkdir -p a/b $TMPDIR/c/d; chmod 0 a/b a $TMPDIR/c/d $TMPDIR/c")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_fifo_in_a_folder_that_stage_names_is_never_opened(run):
    (run.work / "d").mkdir()
    os.mkfifo(run.work / "d" / "pipe")
    done = run("run", "--stage", "d", "--", "ls", "d", timeout=5)
    assert done.stdout == b"" and b"d/pipe" in done.stderr
    assert alive() == []
