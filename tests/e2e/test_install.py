"""cmake --install: the binary, the man pages and the completions are where programs look for them."""
import pathlib
import re
import shutil
import subprocess

import pytest
from conftest import PATH, ROOT

BUILD = ROOT / "build"
PAGES = [
    "gpl-architecture.7", "gpl-attach.1", "gpl-cancel.1", "gpl-completion.1", "gpl-coordinator.1", "gpl-devices.1",
    "gpl-doctor.1", "gpl-exec.1", "gpl-explain.1", "gpl-get.1", "gpl-history.1", "gpl-hold.1",
    "gpl-job.5", "gpl-key.1", "gpl-leave.1", "gpl-logs.1", "gpl-match.1", "gpl-peers.1", "gpl-protocol.7",
    "gpl-release.1", "gpl-rerun.1", "gpl-run.1", "gpl-status.1", "gpl-submit.1", "gpl-wait.1",
    "gpl-wal.1", "gpl-wal.5", "gpl-worker.1", "gpl.1", "gpl.toml.5",
]
SERVICES = ["lib/systemd/user/gpl-worker.service", "lib/systemd/system/gpl-worker.service",
            "lib/sysusers.d/gpl.conf"]
COMPLETIONS = {
    "bash": "share/bash-completion/completions/gpl",
    "zsh": "share/zsh/site-functions/_gpl",
    "fish": "share/fish/vendor_completions.d/gpl.fish",
}


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    if shutil.which("cmake") is None or not (BUILD / "cmake_install.cmake").exists():
        pytest.skip("there is no build folder to install from")
    folder = tmp_path_factory.mktemp("prefix")
    subprocess.run(["cmake", "--install", BUILD, "--prefix", folder], check=True, capture_output=True)
    return folder


def page_in(prefix, page):
    return prefix / "share" / "man" / f"man{page[-1]}" / page


def test_the_installed_binary_works(prefix):
    done = subprocess.run([prefix / "bin" / "gpl", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "gpl 0.1.0\n", "")


def test_nothing_else_is_installed(prefix):
    wanted = {pathlib.Path("bin/gpl"), *map(pathlib.Path, COMPLETIONS.values()), *map(pathlib.Path, SERVICES),
              *(page_in(prefix, page).relative_to(prefix) for page in PAGES)}
    assert {path.relative_to(prefix) for path in prefix.rglob("*") if path.is_file()} == wanted


@pytest.mark.parametrize("service", SERVICES[:2])
def test_a_service_starts_the_installed_binary_and_leaves_jobs_to_the_keeper(prefix, service):
    text = (prefix / service).read_text()
    assert re.search(r"^ExecStart=/\S+/bin/gpl worker", text, re.MULTILINE)
    assert "\nKillMode=process\n" in text


@pytest.mark.parametrize("shell", COMPLETIONS)
def test_the_completions_are_those_that_the_binary_prints(prefix, shell):
    printed = subprocess.run([prefix / "bin" / "gpl", "completion", shell], check=True, capture_output=True).stdout
    assert (prefix / COMPLETIONS[shell]).read_bytes() == printed
    assert printed


@pytest.mark.parametrize("page", PAGES)
def test_the_man_page_renders_without_a_warning(prefix, page):
    if shutil.which("man") is None:
        pytest.skip("man is not installed")
    done = subprocess.run(["man", "--warnings=w", "-l", "-Tutf8", page_in(prefix, page)], capture_output=True,
                          text=True, env={"PATH": PATH, "LANG": "C.UTF-8", "MANWIDTH": "80"})
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(".\b", "", done.stdout)  # bold is a letter struck twice
    assert "\nNAME\n" in text
    assert max(map(len, text.splitlines())) <= 90, "what is to be copied out of a page cannot be wrapped"


def test_every_page_is_in_the_list():
    assert {path.name.removesuffix(".scd") for path in (ROOT / "man").glob("*.scd")} == set(PAGES)
