"""gpl wal check and dump, on logs that wal_writer.py makes from the format's own page."""
import json
import os
import re
import resource
import subprocess

import pytest
from conftest import ROOT
from wal_writer import Segment, entry, hard_state, mark, snapshot, snapshot_name, xxh64

NO_COMMANDS = b"\x01\x90"  # in the format of the log's commands, version 1: an empty list
EMPTY_STATE = b"\x01\x92\x00\x95\x01\x01\x00\x01\x00"  # the counters of a state in which nothing was ever done


def small_log():
    segment = Segment().records(hard_state(0, 0), mark(0, 0, [7]))
    segment.records(hard_state(3, 7), entry(1, 3, b"", kind=0))
    segment.records(entry(2, 3, NO_COMMANDS), entry(3, 3, NO_COMMANDS))
    return segment


def facts(done):
    return dict(re.split(r" {2,}", line.strip(), maxsplit=1) for line in done.stdout.splitlines())


def dumped(run, log, code):
    """The records, and the last object."""
    done = run("wal", "dump", "--json", str(log), text=True)
    assert done.returncode == code, done.stderr
    *records, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert list(end) == ["schema", "end", "file", "offset", "message"], end
    return records, end


@pytest.fixture
def log(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    return folder


def test_xxh64_is_the_one_of_its_specification():
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"Nobody inspects the spammish repetition") == 0xFBCEA83C8A378BF1


def test_check_says_what_is_in_a_whole_log(run, log):
    small_log().write(log)
    done = run("wal", "check", str(log), text=True)
    assert (done.returncode, done.stderr) == (0, "")
    said = facts(done)
    assert said["verdict"] == "whole"
    assert (said["term"], said["vote"], said["voters"]) == ("3", "for 7", "7")
    assert re.search(r"\b1\b.*\b3\b", said["entries"]), said


def test_check_cuts_a_torn_tail_and_calls_it_whole(run, log):
    segment = small_log()
    whole = len(segment.bytes)
    segment.records(entry(4, 3, b"x" * 1000))
    segment.bytes = segment.bytes[:whole + 600]
    segment.write(log)
    done = run("wal", "check", str(log), text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "whole" in done.stdout
    assert str(whole) in done.stdout, "where it is cut"


@pytest.mark.parametrize("command", [("check",), ("dump",), ("dump", "--json")])
def test_damage_is_told_with_its_place_and_the_way_out(run, log, command):
    segment = small_log()
    broken = bytearray(segment.bytes)
    at = segment.bytes.index(NO_COMMANDS) - 100
    broken[at] ^= 4
    segment.bytes = bytes(broken)
    segment.write(log)
    before = (log / segment.name).read_bytes()
    done = run("wal", *command, str(log), text=True)
    assert done.returncode == 1
    assert segment.name in done.stderr
    assert re.search(r"\b\d{2,}\b", done.stderr.replace(segment.name, ""))
    assert "move the folder away" in done.stderr or "copy" in done.stderr
    assert (log / segment.name).read_bytes() == before
    assert sorted(path.name for path in log.iterdir()) == [segment.name]


def test_dump_prints_a_line_a_record(run, log):
    segment = small_log().records(entry(4, 3, b"\x01not commands"))
    segment.write(log)
    done = run("wal", "dump", str(log), text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 1 + 7, done.stdout
    assert "hard-state" in lines[1] and "vote for 7" in lines[3]
    assert b"\x01not commands".hex() in done.stdout


def test_dump_prints_objects_and_ends_with_how_the_log_does(run, log):
    small_log().write(log)
    done = run("wal", "dump", "--json", str(log), text=True)
    assert (done.returncode, done.stderr) == (0, "")
    *records, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert [record["index"] for record in records if record.get("kind") in ("noop", "command")] == [1, 2, 3]
    assert end["schema"] == 1 and end["end"] == "clean"


@pytest.mark.parametrize("words", [[], ["look"], ["check"], ["dump"], ["dump", "a", "b"], ["check", "--json", "a"], ["dump", "--all", "a"]])
def test_wrong_usage_is_2(run, words):
    done = run("wal", *words, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gpl: ")


@pytest.mark.parametrize("what", ["missing", "file", "empty", "other"])
def test_what_is_no_log_is_1(run, log, what):
    folder = log
    if what == "missing":
        folder = log / "nowhere"
    elif what == "file":
        folder = log / "file"
        folder.write_text("x")
    elif what == "other":
        (log / "notes.txt").write_text("x")
    done = run("wal", "check", str(folder), text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("gpl: ") and str(folder) in done.stderr


def refused(run, log, *words, command=("check",)):
    done = run("wal", *command, str(log), text=True)
    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("gpl: wal: ")
    for word in words:
        assert word in done.stderr
    return done


def test_what_the_checksums_do_not_show_and_no_peer_could_start_from_is_told_with_its_place(run, log):
    segment = Segment().records(hard_state(0, 0), mark(0, 0, [7])).records(hard_state(9, 7), entry(1, 9, NO_COMMANDS))
    at = len(segment.bytes)
    segment.records(entry(2, 1, NO_COMMANDS)).write(log)
    refused(run, log, f"{segment.name} is damaged at offset {at}: entry 2 is of term 1")


def test_a_command_that_no_peer_can_read_is_told_unless_it_was_replaced_or_is_in_a_snapshot(run, log):
    segment = small_log()
    at = len(segment.bytes)
    segment.records(entry(4, 3, b"\x01not commands")).write(log)
    refused(run, log, f"{segment.name} is damaged at offset {at}: entry 4 holds commands that cannot be read")
    (log / snapshot_name(4, 3)).write_bytes(snapshot(4, 3, [7], [EMPTY_STATE]))
    assert run("wal", "check", str(log), text=True).returncode == 0
    (log / snapshot_name(4, 3)).unlink()
    segment.records(entry(4, 3, NO_COMMANDS)).write(log)
    assert run("wal", "check", str(log), text=True).returncode == 0
    small_log().records(entry(4, 3, b"\x02other format")).write(log)
    refused(run, log, f"{segment.name} was written by a newer gpl: at offset {at} is commands that cannot be read")


@pytest.mark.parametrize(("part", "words"), [(b"\x01junk", "is damaged at offset 0: "), (b"\x02junk", "was written by a newer gpl")])
def test_a_snapshot_that_holds_no_state_is_told(run, log, part, words):
    small_log().write(log)
    (log / snapshot_name(2, 3)).write_bytes(snapshot(2, 3, [7], [part]))
    refused(run, log, f"{snapshot_name(2, 3)} {words}")


@pytest.mark.parametrize(("records", "flags", "how"), [
    ([entry(4, 3, b"acked")], 2, "damaged"), ([(0, 0, b"")], 0, "damaged"), ([(9, 0, b"")], 0, "newer"),
])
def test_a_record_with_impossible_fields_is_no_torn_tail(run, log, records, flags, how):
    segment = small_log()
    at = len(segment.bytes)
    segment.records(*records, flags=flags).write(log)
    refused(run, log, segment.name, str(at))
    kept, end = dumped(run, log, 1)
    assert len(kept) == 6
    assert (end["end"], end["file"], end["offset"]) == (how, segment.name, at)


def test_damage_where_a_running_peer_writes_says_so(run, log):
    first = small_log()
    second = Segment(number=2, first_batch=first.batch + 1, next_index=4, previous_end=len(first.bytes))
    second.records(hard_state(3, 7)).records((0, 0, b""))
    first.write(log)
    second.write(log)
    assert "if its peer is running, look again after it has stopped" in refused(run, log, second.name).stderr
    first.bytes = first.bytes[:-8] + b"\0" * 8
    first.write(log)
    assert "if its peer is running" not in refused(run, log, first.name).stderr


def test_dump_prints_what_is_before_a_segment_that_cannot_be_used(run, log):
    first = small_log()
    first.write(log)
    second = Segment(number=2, first_batch=first.batch + 1, next_index=4, previous_end=len(first.bytes))
    second.bytes = second.bytes[:30] + b"x" + second.bytes[31:]
    second.write(log)
    records, end = dumped(run, log, 1)
    assert len(records) == 6
    assert (end["end"], end["file"], end["offset"]) == ("damaged", second.name, 0)


def test_dump_prints_all_records_when_a_snapshot_is_of_a_newer_version(run, log):
    small_log().write(log)
    name = snapshot_name(2, 3)
    (log / name).write_bytes(b"GPL-SNAP" + bytes([2, 0, 0, 0]) + b"\xff" * 40)
    records, end = dumped(run, log, 1)
    assert len(records) == 6
    assert (end["end"], end["file"], end["offset"]) == ("newer", name, 8)
    assert "start that gpl" in end["message"]


def test_dump_ends_with_an_object_whatever_happened(run, log):
    assert dumped(run, log, 1) == ([], {"schema": 1, "end": "unreadable", "file": None, "offset": None,
                                        "message": dumped(run, log, 1)[1]["message"]})
    segment = small_log()
    whole = len(segment.bytes)
    segment.records(entry(4, 3, b"x" * 1000))
    segment.bytes = segment.bytes[:whole + 600]
    segment.write(log)
    _, end = dumped(run, log, 0)
    assert (end["end"], end["file"], end["offset"]) == ("torn", segment.name, whole)


def test_a_damaged_snapshot_that_is_not_needed_is_told_and_there_is_nothing_to_do(run, log):
    small_log().write(log)
    name = snapshot_name(2, 3)
    (log / name).write_bytes(b"GPL-SNAP")
    done = refused(run, log, f"{name} is damaged at offset 8", "there is nothing to do")
    assert "The way out" not in done.stdout + done.stderr
    assert facts(done)["verdict"].startswith("a snapshot is damaged")
    records, end = dumped(run, log, 1)
    assert len(records) == 6
    assert (end["end"], end["file"], end["offset"]) == ("damaged", name, 8)


def test_check_tells_the_facts_that_a_peer_would_start_with(run, log):
    small_log().write(log)
    (log / snapshot_name(2, 3)).write_bytes(snapshot(2, 3, [7], [EMPTY_STATE]))
    said = facts(run("wal", "check", str(log), text=True))
    assert said["snapshot"].endswith(", and 1 entry after it")
    (log / snapshot_name(9, 8)).write_bytes(snapshot(9, 8, [7, 8], [EMPTY_STATE]))
    done = run("wal", "check", str(log), text=True)
    said = facts(done)
    assert (done.returncode, said["verdict"], said["voters"]) == (0, "whole", "7, 8")
    assert (said["entries"], said["term"], said["vote"]) == ("none after 9", "8", "none")
    assert said["snapshot"].endswith(", and no entry after it")


@pytest.mark.parametrize("words", [["-h"], ["check", "-h"], ["dump", "-h"], ["dump", "--help"]])
def test_help(run, words):
    done = run("wal", *words, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: gpl wal check FOLDER..." in done.stdout


def test_check_takes_several_folders_and_the_highest_exit_code(run, log, tmp_path):
    small_log().write(log)
    other = tmp_path / "other"
    other.mkdir()
    done = run("wal", "check", str(log), str(log), text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("whole") == 2 and done.stdout.startswith(f"{log}:\n")
    done = run("wal", "check", str(other), str(log), text=True)
    assert done.returncode == 1
    assert str(other) in done.stderr and done.stdout.count("whole") == 1


@pytest.mark.parametrize(("make", "words"), [
    (lambda path: path.symlink_to("/etc/hostname"), "a link"), (lambda path: path.mkdir(), "a folder"),
    (os.mkfifo, "a pipe"),
])
def test_what_is_no_file_is_told(run, log, make, words):
    make(log / "wal-00000000000000000001")
    refused(run, log, f"is {words}, and of a log all are plain files", "put the file itself there")


def test_a_folder_without_a_log_says_the_way_out(run, log):
    refused(run, log, "holds no log", "name the folder")
    (log / snapshot_name(2, 3)).write_bytes(snapshot(2, 3, [7], [EMPTY_STATE]))
    refused(run, log, "only snapshots", "The way out: ")


def test_a_name_of_a_folder_cannot_write_to_the_terminal(run, tmp_path):
    folder = tmp_path / "a\u009b31m\u202e\x1b\nb"
    folder.mkdir()
    done = refused(run, folder, "a\\u009b31m\\u202e\\u001b\\u000ab holds no log")
    assert done.stderr.count("\n") == 1
    done = run("wal", "check", str(folder), str(folder), text=True)
    assert not set("\u009b\u202e\x1b") & set(done.stdout + done.stderr)


def test_too_little_memory_is_told_in_a_sentence(gpl, env, log):
    small_log().write(log)
    head = snapshot(2, 3, [7], [])[:-24]
    with open(log / snapshot_name(2, 3), "wb") as file:  # a part of 16 MiB, with hardly a byte on disk
        file.write(head + (1 << 24).to_bytes(8, "little"))
        file.truncate(1 << 25)
    limit = 20 << 20
    done = subprocess.run([gpl, "wal", "check", str(log)], env=env, capture_output=True, text=True, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    assert done.returncode == 1
    assert "not enough memory" in done.stderr


def test_the_page_of_the_format_is_there():
    assert "# RECORDS AND BATCHES" in (ROOT / "man" / "gpl-wal.5.scd").read_text()
