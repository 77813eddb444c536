"""What a job asks of a machine: GPUs that nobody else gets, frameworks, refusals and --explain."""
import json
import os
import pathlib
import shutil
import signal

import pytest
from conftest import CASES, NOBODY, as_nobody, as_root, eventually

PYTHON = "/usr/bin/python3"
TORCH = pathlib.Path("/usr/lib/python3/dist-packages/torch")
SHOW = 'echo "$CUDA_VISIBLE_DEVICES|$CUDA_DEVICE_ORDER|$GPL_GPUS"'


def card(index, **facts):
    return {"index": str(index), "uuid": f"GPU-0000000{index}-1111-2222-3333-444444444444",
            "name": "NVIDIA RTX 4090", "memory.total": "24564", "memory.used": "12",
            "compute_cap": "8.9", "mig.mode.current": "[N/A]",
            "pci.bus_id": f"00000000:0{index + 1}:00.0", "utilization.gpu": "0",
            "temperature.gpu": "31", "pstate": "P8", **facts}


class Machine:
    """A machine with these cards, whose lock folder is the test's own."""

    def __init__(self, run):
        self.run = run
        self.locks = run.base / "locks"
        self.locks.mkdir()
        self.locks.chmod(0o1777)
        run.env["FAKE_SMI_CASE"] = str(run.base / "case.json")
        shutil.copy(CASES / "nvidia" / "fake_nvidia_smi.py", run.bin / "nvidia-smi")
        (run.bin / "nvidia-smi").chmod(0o755)
        self.have(card(0), card(1))

    def have(self, *cards):
        path = pathlib.Path(self.run.env["FAKE_SMI_CASE"])
        path.write_text(json.dumps({"driver": "550.54", "gpus": cards}))
        path.chmod(0o644)

    @property
    def inside(self):
        new = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
        return [*new, "sh", "-c", 'mount --bind "$0" /run/lock && exec "$@"', str(self.locks)]

    def __call__(self, *words, as_user=(), **options):
        return self.run.command(*self.inside, *as_user, self.run.gpl, *words, **options)

    def start(self, *words):
        return self.run.start(*words, command=self.inside)

    def hold(self, *needs):
        """A job that has what it needs, until its stdin closes."""
        job = self.run.start("run", "--stdin", *needs, "--", "sh", "-c", "echo has; cat >/dev/null",
                             command=self.inside, stdin=-1)
        assert job.stdout.readline() == b"has\n", job.stderr.read()
        return job


@pytest.fixture
def machine(run):
    if run.command("unshare", "-m" if os.geteuid() == 0 else "-rm", "true").returncode:
        pytest.skip("no mount namespace to be had: the test would write to /run/lock")
    return Machine(run)


def release(job):
    job.stdin.close()
    assert job.wait(10) == 0
    job.stdout.close(), job.stderr.close()


def test_a_job_gets_whole_cards_and_their_names(machine):
    done = machine("run", "--gpus", "2", "--gpu", "cuda", "--", "sh", "-c", SHOW)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"0,1|PCI_BUS_ID|cuda:0,cuda:1\n", b"")


def test_a_job_without_gpus_sees_none_whatever_the_caller_sees(machine):
    done = machine("run", "--", "sh", "-c", SHOW, env={"CUDA_VISIBLE_DEVICES": "0"})
    assert done.stdout.startswith(b"|")


def test_beside_a_card_that_is_not_well_cards_go_by_uuid(machine):
    machine.have(card(0, pstate="[GPU requires reset]"), card(1))
    done = machine("run", "--gpus", "1", "--", "sh", "-c", SHOW)
    assert done.stdout.startswith(card(1)["uuid"].encode() + b"|")


def test_one_slice_of_a_card_is_given_by_its_uuid(machine):
    slices = [{"profile": "3g.40gb", "uuid": f"MIG-{n}0000000-1111-2222-3333-444444444444", "gi": n,
               "ci": 0, "mem": "40448"} for n in (1, 2)]
    machine.have(card(0, **{"mig.mode.current": "Enabled"}, mig=slices))
    holder = machine.hold("--gpus", "1")
    done = machine("run", "--gpu", "cuda", "--", "sh", "-c", SHOW)
    assert done.stdout.split(b"|")[0] in [part["uuid"].encode() for part in slices]
    assert machine("run", "--gpus", "2", "--", "true").returncode == 125
    release(holder)


def test_the_second_job_waits_and_says_for_whom(machine):
    holder = machine.hold("--gpus", "2")
    waiter = machine.start("run", "--gpu", "cuda", "--", "sh", "-c", SHOW)
    said = waiter.stderr.readline().decode()
    assert said.startswith("gpl: waiting for cuda: 1 asked, 0 free") and f"(pid {holder.pid})" in said
    assert waiter.poll() is None
    release(holder)
    out, err = waiter.communicate(timeout=10)
    assert (waiter.returncode, out, err) == (0, b"0|PCI_BUS_ID|cuda:0\n", b"")


@as_root
def test_two_users_never_get_the_same_card(machine):
    machine.run.give_to_nobody()
    state = machine.run.base / "nobodys-state"
    state.mkdir()
    os.chown(state, NOBODY, NOBODY)
    theirs = {"as_user": as_nobody(), "env": {"XDG_STATE_HOME": str(state)}}
    holder = machine.hold("--gpus", "1")
    done = machine("run", "--gpus", "1", "--", "sh", "-c", SHOW, **theirs)
    assert (done.stdout, done.stderr) == (b"1|PCI_BUS_ID|cuda:1\n", b"")
    told = machine("run", "--gpus", "2", "--explain", "--", "true", **theirs)
    assert told.returncode == 1 and b"held by job" in told.stdout and b"of root" in told.stdout
    release(holder)


def test_a_card_is_free_again_when_its_job_is_killed(machine):
    holder = machine.hold("--gpus", "2")
    holder.kill()
    holder.communicate()
    eventually(lambda: machine("run", "--gpus", "2", "--explain", "--", "true").returncode == 0, 10)
    assert machine("run", "--gpus", "2", "--", "true").returncode == 0
    assert machine("history").returncode == 0  # which removes what a killed gpl could not


def test_a_card_is_held_until_the_last_process_of_its_job_is_gone(machine):
    script = "trap '' TERM; (sleep 60 & echo $! >&2) ; sleep 0.3; exit 0"
    job = machine.start("run", "--gpus", "2", "--", "bash", "-c", script)
    job.stderr.readline()
    assert machine("run", "--gpus", "1", "--explain", "--", "true").returncode == 1
    job.communicate(timeout=10)
    assert machine("run", "--gpus", "1", "--explain", "--", "true").returncode == 0


def test_jobs_that_share_fill_a_card_by_memory(machine):
    machine.have(card(0))
    ten = ["--gpu-memory", "10G", "--gpu-share"]
    first, second = machine.hold(*ten), machine.hold(*ten)
    third = machine("run", *ten, "--explain", "--", "true")
    assert third.returncode == 1 and third.stdout.startswith(b"waiting")
    whole = machine("run", "--gpus", "1", "--explain", "--", "true")
    assert whole.returncode == 1 and whole.stdout.startswith(b"waiting")
    release(first)
    assert machine("run", *ten, "--explain", "--", "true").returncode == 0
    release(second)


def test_an_interrupt_while_waiting_leaves_nothing(machine):
    holder = machine.hold("--gpus", "2")
    waiter = machine.start("run", "--gpus", "1", "--", "touch", str(machine.run.base / "ran"))
    waiter.stderr.readline()
    waiter.send_signal(signal.SIGINT)
    assert waiter.wait(5) == 130
    waiter.communicate()
    assert not (machine.run.base / "ran").exists()
    release(holder)


def test_memory_that_others_use_does_not_count(machine):
    machine.have(card(0, **{"memory.used": "8300"}))
    assert machine("run", "--gpu-memory", "12G", "--explain", "--", "true").returncode == 0
    told = machine("run", "--gpu-memory", "20G", "--explain", "--", "true")
    assert told.returncode == 1 and b"used by processes outside gpl" in told.stdout
    assert b"8.1 GiB used outside gpl" in machine("devices").stdout


def test_a_refusal_comes_before_anything_is_done(machine):
    done = machine("run", "--gpu", "rocm", "--", "touch", str(machine.run.base / "ran"))
    assert done.returncode == 125
    assert done.stderr.startswith(b"gpl: ") and b"rocm: none" in done.stderr
    assert not (machine.run.base / "ran").exists() and machine.run.jobs() == []


def test_every_reason_is_told(machine):
    told = machine("run", "--explain", "--gpus", "3", "--cpus", "9999", "--memory", "900000G",
                   "--framework", "no-such-framework", "--on", "elsewhere", "--label", "rack=a", "--", "true")
    assert told.returncode == 1
    for words in ("3 asked", "9999 asked", "memory: ", "framework 'no-such-framework' not installed",
                  "not elsewhere", "label rack=a"):
        assert words in told.stdout.decode()


def test_the_explanation_is_an_object_too(machine):
    told = json.loads(machine("run", "--explain", "--json", "--gpus", "3", "--", "true").stdout)
    assert (told["schema"], told["verdict"]) == (1, "never")
    assert [reason["code"] for peer in told["peers"] for reason in peer["reasons"]] == ["gpu_count"]
    told = json.loads(machine("run", "--explain", "--json", "--gpus", "2", "--", "true").stdout)
    assert told["verdict"] == "fits"
    assert told["peers"][0]["placement"]["devices"] == ["cuda:0", "cuda:1"]


def test_a_job_file_says_what_it_needs(machine):
    (machine.run.work / "job.toml").write_text(
        'command = ["sh", "-c", "echo $GPL_GPUS"]\ngpus = 1\ngpu_model = "*4090"\ncpus = 1\n')
    assert machine("run", "job.toml").stdout == b"cuda:0\n"
    assert machine("run", "job.toml", "--gpus", "2").stdout == b"cuda:0,cuda:1\n"


def test_processors_that_were_asked_for_are_told_to_openmp(run):
    assert run("run", "--cpus", "1", "--", "sh", "-c", "echo $OMP_NUM_THREADS").stdout == b"1\n"
    assert run("run", "--", "sh", "-c", "echo ${OMP_NUM_THREADS-unset}").stdout == b"unset\n"


@pytest.mark.parametrize("words", [
    ["--gpus", "-1"], ["--gpus", "two"], ["--gpu", "gpu"], ["--gpu-memory", "12"], ["--gpu-share"],
    ["--gpus", "0", "--gpu", "cuda"], ["--compute-capability", "9"], ["--cpus", "0"], ["--memory", "x"],
    ["--label", "rack"], ["--framework", "torch>=2.x"], ["--framework", "torch; python_version>'3'"],
])
def test_what_makes_no_sense_is_a_usage_error_that_names_it(run, words):
    if words == ["--gpu-memory", "12"]:  # 12 bytes: every card has them, and this machine has none
        assert run("run", *words, "--", "true").returncode == 125
        return
    done = run("run", *words, "--", "true")
    assert done.returncode == 2 and done.stderr.startswith(b"gpl: run: ")
    assert words[-2 if len(words) == 2 else 0].encode() in done.stderr or words[0].encode() in done.stderr


def lay_out(root, **packages):
    """An environment with these distributions; its interpreter is the system's."""
    site = root / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (root / "bin").mkdir()
    (root / "bin" / "python3").symlink_to(PYTHON)
    (root / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n")
    for name, version in packages.items():
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n")
    return root


def test_the_two_reasons_about_frameworks_have_these_words(run):
    root = lay_out(run.base / "venv", mlx="0.9.0")
    told = run("run", "--explain", "--environment", root, "--framework", "jax", "--framework", "mlx>=0.10",
               "--", "true").stdout.decode()
    assert "framework 'jax' not installed" in told
    assert "mlx 0.9.0 does not satisfy >=0.10" in told


def test_the_environment_that_has_the_framework_is_first_on_path(run):
    root = lay_out(run.base / "venv", mlx="0.9.0")
    run.write_config(f'environments = ["{root}"]\n')
    show = 'command -v python3; echo "$VIRTUAL_ENV"'
    done = run("run", "--framework", "mlx<1", "--", "sh", "-c", show, env={"VIRTUAL_ENV": "/other"})
    assert done.stdout.decode().splitlines() == [f"{root}/bin/python3", str(root)]
    plain = run("run", "--", "sh", "-c", show, env={"VIRTUAL_ENV": "/other"})
    assert plain.stdout.decode().splitlines()[-1] == "/other"


def test_an_environment_is_found_by_its_relative_folder(run):
    lay_out(run.work / "venv", numpy="1.0")
    done = run("run", "--quiet", "--environment", "./venv", "--", "sh", "-c", "echo $VIRTUAL_ENV")
    assert done.stdout.decode().strip() == str(run.work / "venv")


def test_numpy_of_the_system_runs_in_the_interpreter_that_has_it(run):
    done = run("run", "--framework", "numpy>=1", "--", "python3", "-c", "import numpy, sys; print(sys.executable)")
    assert done.returncode == 0 and done.stdout.strip() == PYTHON.encode()


@pytest.mark.skipif(not TORCH.exists(), reason="Debian's python3-torch is not installed")
def test_debian_torch_is_a_pre_release_for_the_cpu(run):
    code = "import torch; print(torch.__version__)"
    done = run("run", "--framework", "torch>=1.12", "--", "python3", "-c", code, timeout=120)
    assert (done.returncode, done.stdout.strip()) == (0, b"1.13.0a0")
    old = run("run", "--framework", "torch>=1.13", "--", "true")
    assert old.returncode == 125 and b"1.13.0a0" in old.stderr and b"does not satisfy >=1.13" in old.stderr
    cuda = run("run", "--framework", "torch.cuda", "--", "true")
    assert cuda.returncode == 125 and b"no CUDA device is usable" in cuda.stderr


@pytest.mark.skipif(not TORCH.exists(), reason="Debian's python3-torch is not installed")
def test_torch_is_asked_itself_only_when_told_to(run):
    def torch_of(*options):
        report = json.loads(run("devices", "--json", *options, timeout=120).stdout)
        system = next(row for row in report["environments"] if row["root"] == "/usr")
        return system["frameworks"]["torch"]
    assert "probe" not in torch_of()
    asked = torch_of("--probe", "torch")["probe"]
    assert (asked["version"], asked["devices"], asked["error"]) == ("1.13.0a0", [], None)
    assert torch_of()["probe"]["version"] == "1.13.0a0"


def test_a_probe_of_what_nobody_can_ask_is_refused(run):
    done = run("devices", "--probe", "numpy")
    assert done.returncode == 2 and b"torch" in done.stderr


def test_a_cuda_machine_without_torch_takes_cuda_jobs_and_no_torch_ones(machine):
    lay_out(machine.run.base / "venv", numpy="1.0")
    only = ["--environment", machine.run.base / "venv"]
    assert machine("run", "--gpu", "cuda", *only, "--", "true").returncode == 0
    done = machine("run", "--gpu", "cuda", *only, "--framework", "torch.cuda", "--", "true")
    assert done.returncode == 125 and b"framework 'torch' not installed" in done.stderr
