"""The rows of tests/cases and real work, run by a second peer: the same as alone, results back."""
import pathlib
import shutil
import subprocess
import tempfile

import pytest
import test_cases
from cluster import Cluster
from conftest import as_root, eventually

# pylint: disable=unused-import
from test_workloads import (clips, test_a_sweep, test_a_sweep_whose_runs_fail_fails, test_an_ffmpeg_batch,
                            test_an_ffmpeg_batch_with_a_bad_clip_fails_and_brings_the_good_ones,
                            test_an_sbatch_array_under_bash,
                            test_an_sbatch_array_without_its_variables_fails_as_bash_says, test_inference,
                            test_inference_with_a_bad_file_exits_3_and_brings_the_rest,
                            test_one_job_per_clip_in_a_while_read_loop)
# pylint: enable=unused-import

pytestmark = as_root

# Puts `--on OTHER` into each gpl run of whoever says plain `gpl`.
WRAPPER = """#!/bin/sh
word=$1; shift
[ "$word" = run ] && set -- --on {other} "$@"
exec {gpl} "$word" "$@"
"""


class Far:
    """What `run` is to tests, of a peer whose runs all go to another one."""

    def __init__(self, node, other, work):
        self.node, self.place, self.work, self.base = node, node.place, work, work
        self.gpl = node.place.bin / "far"
        self.gpl.write_text(WRAPPER.format(other=other.name, gpl=node.place.gpl))
        self.gpl.chmod(0o755)
        (node.place.bin / "gpl").unlink()
        shutil.copy(self.gpl, node.place.bin / "gpl")

    def command(self, *words, **options):
        return self.place.command(*words, cwd=self.work, **options)

    def __call__(self, *words, **options):
        return self.command(self.gpl, *words, **options)

    def bash(self, script, **options):
        return self.command("bash", "-c", script, **options)


@pytest.fixture(scope="module")
def pair(gpl):
    base = pathlib.Path(tempfile.mkdtemp(prefix="gpl-e2e-"))
    with Cluster(gpl, base, 2) as cluster:
        yield cluster
    subprocess.run(["chmod", "-R", "u+rwX", base], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["rm", "-rf", base], check=False)


@pytest.fixture
def run(pair):
    """Takes the place of conftest's: each test has a folder of its own, all have the same peers."""
    near, other = pair.nodes
    work = pathlib.Path(tempfile.mkdtemp(dir=near.place.work))
    yield Far(near, other, work)
    # A client has the exit code before the outcome is agreed on.
    eventually(lambda: not near.status()["active"], 5, "that no job is left")
    for node in pair.nodes:
        eventually(lambda place=node.place: not list(place.tmp.iterdir()), 5, "that temporary files are gone")
    subprocess.run(["chmod", "-R", "u+rwX", work], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["rm", "-rf", work], check=False)


@pytest.mark.parametrize("case", test_cases.rows("exec/exec_dev.jsonl"), ids=test_cases.case_id)
def test_a_command_gives_the_bytes_and_the_code_that_it_gives_alone(run, case):
    test_cases.test_a_command_gives_the_bytes_and_the_code_that_it_gives_alone(run, case)


def is_for_the_owner(case):
    return not case.get("user")


@pytest.mark.parametrize("way", ["by rules", "whole"])
@pytest.mark.parametrize("case", filter(is_for_the_owner, test_cases.rows("stage/stage_dev.jsonl")),
                         ids=test_cases.case_id)
def test_a_folder_arrives_as_it_is(run, case, way):
    test_cases.test_a_folder_arrives_as_it_is(run, case, way)
