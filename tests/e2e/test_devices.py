"""gpl devices, with a stand-in for nvidia-smi that answers as real machines did."""
import json
import os
import shutil
import time

import pytest
from conftest import CASES
from processes import alive

NVIDIA = CASES / "nvidia"
MIB = 1 << 20
KEYS = {
    "": ["schema", "host", "accelerators", "environments", "problems"],
    "host": ["name", "os", "arch", "kernel", "cpus", "memory_bytes"],
    "accelerators": ["id", "kind", "vendor", "name", "index", "uuid", "memory_bytes",
                     "unified_memory", "compute_capability", "driver", "pci", "mig_mode",
                     "partitions", "usable", "problems", "memory_used_bytes", "holds"],
    "partitions": ["uuid", "profile", "memory_bytes", "gpu_instance"],
    "problems": ["source", "exit", "message"],
}


def rows():
    with open(NVIDIA / "nvidia_dev.jsonl", encoding="utf-8") as file:
        return {row["id"]: row for row in map(json.loads, file)}


ROWS = rows()


class Machine:
    """A machine whose nvidia-smi answers as a case says."""

    def __init__(self, run):
        self.run, self.case, self.log = run, run.base / "case.json", run.base / "log"
        self.tool = run.bin / "nvidia-smi"
        run.env.update(FAKE_SMI_CASE=str(self.case), FAKE_SMI_LOG=str(self.log))

    def install(self, case, path=None, mode=0o755):
        self.tool = path or self.tool
        shutil.copy(NVIDIA / "fake_nvidia_smi.py", self.tool)
        self.tool.chmod(mode)
        self.case.write_text(json.dumps(case))

    def report(self, *options):
        """The object, of its problems the tool's own: the machine may have others."""
        done = self.run("devices", "--json", *options)
        assert (done.returncode, done.stderr) == (0, b"")
        report = json.loads(done.stdout)
        report["problems"] = [row for row in report["problems"] if row["source"] == "nvidia-smi"]
        return report

    def table(self):
        done = self.run("devices")
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode().splitlines()

    def runs(self):
        """The words of each run of the tool so far."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def machine(run):
    return Machine(run)


def memory_mib(card):
    """What the driver said of its own memory: of a unified one that is nothing."""
    known = card["memory_bytes"] is not None and not card["unified_memory"]
    return card["memory_bytes"] // MIB if known else None


# What each `expect` of a row is about: from the report, its cards, its slices and the wanted value.
FACTS = {
    "gpus": lambda report, cards, slices, want: len([c for c in cards if not c["degraded"]]),
    "names": lambda report, cards, slices, want: [c["name"] for c in cards],
    "memory_mib": lambda report, cards, slices, want: [memory_mib(c) for c in cards],
    "cc": lambda report, cards, slices, want: [c["compute_capability"] for c in cards],
    "mig": lambda report, cards, slices, want: [c["mig_mode"] for c in cards],
    "mig_devices": lambda report, cards, slices, want: len(slices),
    "mig_uuid_prefix": lambda report, cards, slices, want:
        want if all(s["uuid"].startswith(want) for s in slices) else slices,
    "unified": lambda report, cards, slices, want: all(c["unified_memory"] for c in cards),
    "driver": lambda report, cards, slices, want: " ".join(sorted({c["driver"] for c in cards})),
    "degraded": lambda report, cards, slices, want: [c["index"] for c in cards if c["degraded"]],
    "usable": lambda report, cards, slices, want: [c["index"] for c in cards if c["usable"]],
    "unusable": lambda report, cards, slices, want: [c["index"] for c in cards if not c["usable"]],
    "exit": lambda report, cards, slices, want: report["problems"][0]["exit"],
}
SAID = ("error_contains", "message_contains", "warning_contains")


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row["id"] + "-" + row["title"])
def test_a_machine_is_reported_as_it_is(machine, row):
    machine.install(row["case"])
    if "WSL2" in row["title"]:
        elsewhere = machine.run.base / "wsl-nvidia-smi"
        machine.tool.rename(elsewhere)
        machine.run.env["GPL_NVIDIA_SMI"] = str(elsewhere)
    began = time.monotonic()
    report = machine.report()
    took = time.monotonic() - began
    cards, want = report["accelerators"], dict(row["expect"])
    for card in cards:
        card["degraded"] = card["index"] in want.get("degraded", [])
    slices = [part for card in cards for part in card["partitions"]]
    said = json.dumps([report["problems"], [card["problems"] for card in cards]])
    assert took < want.pop("max_seconds", 30)
    for word in (want.pop(key) for key in SAID if key in want):
        assert word.lower() in said.lower()
    for key, value in want.items():
        assert FACTS[key](report, cards, slices, value) == value, key


def test_the_object_has_its_keys_in_their_order(machine):
    case = dict(ROWS["A03"]["case"], stderr="a word\n")
    machine.install(case)
    report = machine.report()
    assert list(report) == KEYS[""]
    assert report["schema"] == 1
    assert list(report["host"]) == KEYS["host"]
    assert list(report["accelerators"][0]) == KEYS["accelerators"]
    assert list(report["accelerators"][0]["partitions"][0]) == KEYS["partitions"]
    assert list(report["problems"][0]) == KEYS["problems"]


def test_without_a_tool_there_are_no_cards_and_no_problem(machine):
    machine.run.env["PATH"] = str(machine.run.bin)
    report = machine.report()
    assert report["problems"] == []
    assert [card for card in report["accelerators"] if card["kind"] == "cuda"] == []
    assert 1 <= report["host"]["cpus"] <= len(os.sched_getaffinity(0))


def test_a_tool_that_is_not_executable_is_a_problem_in_words(machine):
    machine.install(ROWS["A01"]["case"], mode=0o644)
    (problem,) = machine.report()["problems"]
    assert problem["source"] == "nvidia-smi" and problem["exit"] is None
    assert "not executable" in problem["message"]


def test_a_tool_that_hangs_is_run_once_and_nothing_of_it_is_left(machine):
    machine.install({"sleep": 3600, "hold": 3600})
    began = time.monotonic()
    (problem,) = machine.report("--timeout", "500ms")["problems"]
    assert time.monotonic() - began < 5
    assert problem == {"source": "nvidia-smi", "exit": None, "message": "timed out"}
    assert len(machine.runs()) == 1
    assert alive() == []


def test_a_child_that_holds_the_pipe_delays_nobody(machine):
    machine.install(dict(ROWS["A01"]["case"], hold=3600))
    began = time.monotonic()
    assert len(machine.report()["accelerators"]) == 1
    assert time.monotonic() - began < 5


def test_each_field_that_the_driver_does_not_know_costs_one_more_run(machine):
    machine.install(dict(ROWS["A05"]["case"], known_absent=["compute_cap", "mig.mode.current"]))
    report = machine.report()
    assert [card["name"] for card in report["accelerators"]] == ["Tesla V100-SXM2-16GB"] * 2
    assert report["problems"] == []
    assert len(machine.runs()) == 3


def test_a_bad_card_beside_a_card_in_mig_mode_hides_no_slice(machine):
    case = dict(ROWS["A03"]["case"])
    case["gpus"] = [{"bad": ROWS["A08"]["case"]["gpus"][1]["bad"]}, dict(case["gpus"][0], index="1")]
    machine.install(case)
    bad, good = machine.report()["accelerators"]
    assert (bad["index"], bad["usable"], bad["driver"]) == (0, False, good["driver"])
    assert (good["index"], good["usable"], len(good["partitions"])) == (1, True, 4)
    assert [part["gpu_instance"] for part in good["partitions"]] == [2, 3, 9, 10]


def test_slices_without_the_xml_keep_their_uuids(machine):
    machine.install(dict(ROWS["A03"]["case"], fail_xml={"stdout": "no\n", "exit": 255}))
    report = machine.report()
    parts = report["accelerators"][0]["partitions"]
    assert len(parts) == 4 and all(part["memory_bytes"] is None for part in parts)
    assert report["problems"] == [{"source": "nvidia-smi", "exit": 255, "message": "no"}]


def test_two_compute_instances_of_one_gpu_instance_say_so(machine):
    case = json.loads(json.dumps(ROWS["A03"]["case"]))
    for number, part in enumerate(case["gpus"][0]["mig"]):
        part.update(gi=2 + number // 2, ci=number % 2)
    machine.install(case)
    parts = machine.report()["accelerators"][0]["partitions"]
    assert [part["gpu_instance"] for part in parts] == [2, 2, 3, 3]


def test_the_table_says_unknown_and_why_a_card_is_unusable(machine):
    machine.install(ROWS["A08"]["case"])
    table = machine.table()
    (bad,) = [line for line in table if line.startswith("cuda:1")]
    assert bad.split()[1:3] == ["unknown", "unknown"]
    assert bad.endswith("unusable: " + ROWS["A08"]["case"]["gpus"][1]["bad"])
    (problem,) = [line for line in table if line.startswith("problem: nvidia-smi: ")]
    assert "Unknown Error" in problem and problem.endswith("(exit 255)")


def test_slices_are_rows_below_their_card(machine):
    machine.install(ROWS["A03"]["case"])
    table = machine.table()
    at = next(i for i, line in enumerate(table) if line.startswith("cuda:0"))
    assert [line.split()[0] for line in table[at + 1:at + 5]] == [
        "3g.40gb", "2g.20gb", "1g.10gb", "1g.10gb"]
    assert all(line.startswith("  ") for line in table[at + 1:at + 5])
    assert all(line == line.rstrip() for line in table)


def test_what_a_tool_prints_cannot_drive_a_terminal(machine):
    case = json.loads(json.dumps(ROWS["A01"]["case"]))
    case["gpus"][0]["name"] = "evil \x1b[2J card"
    machine.install(dict(case, post="\x1b]0;title\x07\n"))
    assert not any(c < " " for line in machine.table() for c in line)


def test_quiet_prints_what_can_be_used(machine):
    machine.install(ROWS["A09"]["case"])
    assert machine.run("devices", "--quiet").stdout == b"cuda:1\n"
    machine.install(ROWS["A03"]["case"])
    assert machine.run("devices", "--quiet").stdout.count(b"MIG-") == 4


@pytest.mark.parametrize("words", [["x"], ["--timeout", "5"], ["--nosuch"], ["--environment"]])
def test_a_wrong_word_is_a_usage_error(run, words):
    done = run("devices", *words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"gpl: devices: ")


def test_help_names_the_options(run):
    done = run("devices", "--help")
    assert done.returncode == 0
    for option in (b"--json", b"--quiet", b"--environment DIR", b"--timeout DUR"):
        assert option in done.stdout
