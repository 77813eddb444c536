"""Python environments and frameworks as `gpl devices --json` shows them: from files alone."""
import json
import os
import pathlib
import subprocess

import pytest
from conftest import CASES, as_root

METADATA_CASES = [json.loads(line) for line in
                  (CASES / "python_metadata/metadata_dev.jsonl").read_text(encoding="utf-8").splitlines()]
SITE = "lib/python3.11/site-packages"
DEBIAN_PYTHON = pathlib.Path("/usr/bin/python3")


@pytest.fixture
def devices(run):
    """devices("--environment", DIR) gives the object that gpl prints."""
    def ask(*words, **options):
        done = run("devices", "--json", *words, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)
    return ask


@pytest.fixture
def environment_at(devices):
    """The environment of a folder that is asked for."""
    def ask(folder, **options):
        answer = devices("--environment", folder, **options)
        root = os.path.realpath(folder)
        return next(found for found in answer["environments"] if found["root"] == root)
    return ask


@pytest.fixture
def tree(run):
    """tree(files) lays out site-packages in a folder of its own: text, {"symlink"} or {"hex"}."""
    def make(files, name="env"):
        site = run.base / name / SITE
        site.mkdir(parents=True)
        for path, what in files.items():
            file = pathlib.Path(os.path.normpath(site / path))
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(what, str):
                file.write_bytes(what.encode("utf-8", "surrogateescape"))
            elif "symlink" in what:
                file.symlink_to(what["symlink"])
            else:
                file.write_bytes(bytes.fromhex(what["hex"]))
        return run.base / name
    return make


def metadata(name, version):
    return f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nText\n"


@pytest.mark.parametrize("case", METADATA_CASES, ids=lambda case: case["id"])
def test_site_packages_as_found(tree, environment_at, case):
    have = environment_at(tree(case["tree"]))["frameworks"]
    wanted = {name: facts for name, facts in case["expect"].items() if name != "jax-metal"}
    assert {name for name in have if "." not in name} == set(wanted)
    for name, facts in wanted.items():
        assert have[name]["version"] == facts["version"]
        for key in ("dist", "dists", "editable", "backend_version"):
            assert key not in facts or have[name][key] == facts[key]
        backend = facts.get("backend")
        if backend:
            assert have[name]["backends"] == ([] if backend == "cpu" else [backend])
        assert "warning" not in facts or any(facts["warning"] in text for text in have[name]["warnings"])


def test_nothing_is_imported_and_no_python_is_started(run, tree, devices):
    traces = run.base / "traces"
    traces.mkdir()
    code = f"open({str(traces / 'ran')!r}, 'w')\n"
    folder = tree({
        "numpy-1.26.4.dist-info/METADATA": metadata("numpy", "1.26.4"),
        "numpy/__init__.py": code,
        "torch-2.4.0.dist-info/METADATA": metadata("torch", "2.4.0"),
        "torch/version.py": code + "cuda = '12.1'\n",
        "sitecustomize.py": code,
        "evil.pth": f"import os; {code}",
    })
    (folder / "bin").mkdir()
    python = folder / "bin/python3"
    python.write_text(f"#!/bin/sh\ntouch {traces}/python\n")
    python.chmod(0o755)
    answer = devices("--environment", folder, env={"PATH": f"{folder}/bin:/usr/bin:/bin", "VIRTUAL_ENV": str(folder)})
    found = next(e for e in answer["environments"] if e["root"] == str(folder))
    assert found["frameworks"]["torch"]["backends"] == ["cuda"]
    assert found["frameworks"]["torch"]["backend_version"] == "12.1"
    assert list(traces.iterdir()) == []


def test_one_bad_package_hides_no_other_and_is_a_problem(tree, devices):
    folder = tree({
        "numpy-1.26.4.dist-info/METADATA": metadata("numpy", "1.26.4"),
        "~orch-1.13.0.dist-info/METADATA": metadata("torch", "1.13.0"),
        "jax-1.dist-info/REQUESTED": "",
        "cupy-1.dist-info/METADATA": {"symlink": "METADATA"},
        "vllm-1.dist-info/METADATA": {"hex": "4e616d653a20ff0a"},
        "triton-1.dist-info/METADATA/file": "a folder in its place",
        "torch-2.4.0.dist-info/METADATA": "Author: Andr\udce9\n" + metadata("torch", "2.4.0") + "x" * 3_000_000,
    })
    answer = devices("--environment", folder)
    found = next(e for e in answer["environments"] if e["root"] == str(folder))
    assert {name: build["version"] for name, build in found["frameworks"].items() if "." not in name} == {
        "numpy": "1.26.4", "torch": "2.4.0"}
    said = json.dumps(answer["problems"])
    for name in ("~orch", "jax-1", "cupy-1", "vllm-1", "triton-1"):
        assert name in said, name


def test_a_folder_without_an_interpreter_has_no_python(tree, environment_at):
    found = environment_at(tree({"numpy-1.26.4.dist-info/METADATA": metadata("numpy", "1.26.4")}))
    assert found["python"] is None
    assert found["python_version"] == "3.11"


def test_a_folder_that_is_not_there_is_a_problem(devices):
    answer = devices("--environment", "/no/such/folder")
    assert any("/no/such/folder" in problem["message"] for problem in answer["problems"])


def test_a_pyenv_shim_on_path_does_not_hide_the_system_python(run, devices):
    pyenv = run.home / ".pyenv"
    for folder in ("shims", "versions/3.10.13/bin", f"versions/3.10.13/{SITE.replace('3.11', '3.10')}"):
        (pyenv / folder).mkdir(parents=True)
    shim = pyenv / "shims/python3"
    shim.write_text(f'#!/usr/bin/env bash\nexport PYENV_ROOT="{pyenv}"\nexec "{pyenv}/libexec/pyenv" exec "$program" "$@"\n')
    shim.chmod(0o755)
    python = pyenv / "versions/3.10.13/bin/python3.10"
    python.write_bytes(b"\x7fELF")
    python.chmod(0o755)
    (python.parent / "python3").symlink_to("python3.10")
    (pyenv / "version").write_text("3.10.13\n")
    answer = devices(env={"PATH": f"{pyenv}/shims:/usr/bin:/bin"})
    assert answer["environments"][0]["root"] == str(pyenv / "versions/3.10.13")
    assert answer["environments"][0]["python_version"] == "3.10.13"
    names = [found["name"] for found in answer["environments"]]
    assert ("system" in names) == DEBIAN_PYTHON.exists()


@as_root
@pytest.mark.skipif(not DEBIAN_PYTHON.exists(), reason="no /usr/bin/python3")
def test_the_users_packages_come_before_the_systems(run):
    version = subprocess.run([DEBIAN_PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                             capture_output=True, text=True, check=True).stdout.strip()
    entry = run.home / f".local/lib/python{version}/site-packages/torch-9.9.dist-info"
    entry.mkdir(parents=True)
    (entry / "METADATA").write_text(metadata("torch", "9.9"))
    # A job's home is the one in passwd; of a user who is not in it, $HOME.
    for folder in (run.home, run.config, run.state, run.work):
        folder.chmod(0o755)
    done = run.command("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", run.gpl, "devices", "--json",
                       env={"PATH": "/usr/bin:/bin", "USER": "nobody-known"})
    assert done.returncode == 0, done.stderr
    system = next(found for found in json.loads(done.stdout)["environments"] if found["name"] == "system")
    assert system["frameworks"]["torch"]["version"] == "9.9"


@pytest.mark.skipif(not pathlib.Path("/usr/lib/python3/dist-packages/torch").exists(), reason="no python3-torch")
def test_debians_torch_is_a_pre_release_without_backends(devices):
    answer = devices(env={"PATH": "/usr/bin:/bin"})
    system = next(found for found in answer["environments"] if found["name"] == "system")
    assert system["python"] == "/usr/bin/python3"
    assert system["frameworks"]["torch"]["version"] == "1.13.0a0+gitunknown"
    assert system["frameworks"]["torch"]["backends"] == []


@pytest.mark.skipif(not DEBIAN_PYTHON.exists(), reason="no /usr/bin/python3")
def test_a_virtual_environment_has_its_own_packages_and_its_bases_when_it_says_so(run, environment_at):
    for name, flags in (("alone", []), ("shared", ["--system-site-packages"])):
        made = run.command(DEBIAN_PYTHON, "-m", "venv", "--without-pip", *flags, run.base / name)
        if made.returncode != 0:
            pytest.skip("python3-venv is not installed")
    answers = {}
    for name in ("alone", "shared"):
        found = environment_at(run.base / name)
        seen = run.command(run.base / name / "bin/python3", "-c",
                           "import sys, importlib.metadata as m, platform\n"
                           "print(platform.python_version(), any(d.metadata['Name'] == 'numpy' for d in m.distributions()))")
        version, has_numpy = seen.stdout.decode().split()
        assert found["python_version"] == version
        assert ("numpy" in found["frameworks"]) == (has_numpy == "True")
        answers[name] = found["frameworks"]
    assert answers["alone"] == {}
