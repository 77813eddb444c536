"""Real work that needs no cluster: its results come back by --out."""
import json
import shutil
import subprocess

import pytest
from conftest import CASES, lines

PYTHON = "/usr/bin/python3"
WORKLOADS = CASES / "workloads"


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")


def need_numpy():
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True, check=False).returncode:
        pytest.skip("needs python3-numpy")


def bring(run, *names):
    for name in names:
        shutil.copy(WORKLOADS / name, run.work / name)


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def clips(run):
    need("ffmpeg")
    bring(run, "transcode.sh")
    (run.work / "in").mkdir()
    for name, source in (("clip 1", "testsrc"), ("clip 2", "mandelbrot"), ("third", "smptebars")):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        f"{source}=size=96x64:rate=10", "-t", "1", "-c:v", "mpeg4",
                        run.work / "in" / f"{name}.avi"], check=True)
    return run


def test_an_ffmpeg_batch(clips):
    done = clips("run", "--out", "out/*.mp4", "--", "bash", "transcode.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert tree(clips.work / "out") == ["clip 1.mp4", "clip 2.mp4", "third.mp4"]
    for clip in (clips.work / "out").iterdir():
        shown = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "stream=codec_name",
                                "-of", "csv=p=0", clip], capture_output=True, check=True)
        assert shown.stdout.strip() == b"h264"


def test_an_ffmpeg_batch_with_a_bad_clip_fails_and_brings_the_good_ones(clips):
    (clips.work / "in" / "bad one.avi").write_text("no film\n")
    done = clips("run", "--out", "out/*.mp4", "--", "bash", "transcode.sh")
    assert done.returncode == 1 and b"bad one.avi" in done.stderr
    assert tree(clips.work / "out") == ["clip 1.mp4", "clip 2.mp4", "third.mp4"]


def test_one_job_per_clip_in_a_while_read_loop(clips):
    # ffmpeg without -nostdin eats the list of such a loop, unless the job's stdin is empty.
    done = clips.bash("find in -name '*.avi' | sort | while IFS= read -r f; do "
                      "gpl run --out 'out/*' -- sh -c 'mkdir -p out; ffmpeg -v error -y -i \"$1\" "
                      "-c:v libx264 -preset ultrafast \"out/$(basename \"$1\" .avi).mp4\"' sh "
                      "\"$f\""
                      " || echo failed; done")
    assert done.stdout == b""
    assert tree(clips.work / "out") == ["clip 1.mp4", "clip 2.mp4", "third.mp4"]


def make_arrays(folder):
    script = "import numpy as n\nfor i in range(3): n.save(f'rows {i}.npy', n.ones((5+i, 16))*i)"
    subprocess.run([PYTHON, "-c", script], cwd=folder, check=True)


def test_inference(run):
    need_numpy()
    bring(run, "infer.py")
    make_arrays(run.work)
    names = [f"rows {i}.npy" for i in range(3)]
    done = run("run", "--out", "pred", "--", PYTHON, "infer.py", *names)
    assert (done.returncode, done.stderr) == (0, b"")
    assert lines(done.stdout) == ["rows 0.npy 5", "rows 1.npy 6", "rows 2.npy 7"]
    assert tree(run.work / "pred") == names


def test_inference_with_a_bad_file_exits_3_and_brings_the_rest(run):
    need_numpy()
    bring(run, "infer.py")
    make_arrays(run.work)
    (run.work / "bad.npy").write_text("x")
    done = run("run", "--out", "pred", "--", PYTHON, "infer.py", "rows 0.npy", "bad.npy",
               "rows 1.npy")
    assert done.returncode == 3
    assert lines(done.stdout) == ["rows 0.npy 5", "rows 1.npy 6"]
    assert lines(done.stderr)[0].startswith("skip bad.npy")
    assert tree(run.work / "pred") == ["rows 0.npy", "rows 1.npy"]


def test_a_sweep(run):
    need_numpy()
    bring(run, "sweep.sh", "train.py")
    done = run("run", "--env", f"PY={PYTHON}", "--out", "out", "--", "./sweep.sh")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(lines(done.stdout)) == 6 * 4
    names = sorted(f"lr={lr} seed={seed}.json"
                   for lr in ("0.1", "0.01", "0.001") for seed in (0, 1))
    assert tree(run.work / "out") == names
    results = [json.loads((run.work / "out" / name).read_text()) for name in names]
    assert all(result["loss"] < 20 for result in results)
    assert {result["dev"] for result in results} == {"0", "1"}


def test_a_sweep_whose_runs_fail_fails(run):
    bring(run, "sweep.sh")
    done = run("run", "--env", f"PY={PYTHON}", "--out", "out", "--", "./sweep.sh")
    assert done.returncode == 1


def test_an_sbatch_array_under_bash(run):
    bring(run, "array.sbatch")
    (run.work / "data").mkdir()
    (run.work / "out").mkdir()
    names = [f"file {i}" for i in range(1, 7)]
    for i, name in enumerate(names):
        (run.work / "data" / name).write_text("x" * i)
    (run.work / "inputs.txt").write_text("".join(name + "\n" for name in names))
    for i in range(1, 7):
        done = run("run", "--env", "SLURM_ARRAY_TASK_ID", "--env", "SLURM_ARRAY_TASK_COUNT=6",
                   "--env", "SLURM_ARRAY_JOB_ID=77", "--out", "out", "--", "bash", "array.sbatch",
                   env={"SLURM_ARRAY_TASK_ID": str(i)})
        assert (done.returncode, done.stderr) == (0, b"")
        assert lines(done.stdout) == [f"task {i} of 6 file=file {i} job=77"]
    counted = [(run.work / "out" / f"{i}.txt").read_text().strip() for i in range(1, 7)]
    assert counted == list("012345")


def test_an_sbatch_array_without_its_variables_fails_as_bash_says(run):
    bring(run, "array.sbatch")
    done = run("run", "--", "bash", "array.sbatch", env={"SLURM_ARRAY_TASK_ID": "1"})
    assert done.returncode == 1 and b"unbound variable" in done.stderr


@pytest.mark.keeps_files
def test_gromacs(run):
    need("gmx")
    bring(run, "gromacs.sh")
    options = ["--env", "OMP_NUM_THREADS=1", "--env", "STEPS=50", "--out", "r.gro", "--out",
               "r.edr", "--out", "*.log"]
    done = run("run", "--quiet", *options, "--", "./gromacs.sh", timeout=120)
    assert done.returncode == 0, done
    assert {"r.gro", "r.edr", "md.log", "r.log"} <= set(tree(run.work))
    atoms = int((run.work / "r.gro").read_text().splitlines()[1])
    assert atoms > 600 and atoms % 3 == 0
    assert run("get", "last", "r.cpt").returncode == 0


def test_blender(run):
    need("blender")
    bring(run, "blend_scene.py")
    # Blender saves under absolute paths only.
    save = 'exec blender -b --python-exit-code 5 -P blend_scene.py -- "$PWD/s.blend"'
    done = run("run", "--out", "s.blend", "--", "sh", "-c", save, timeout=120)
    assert done.returncode == 0, done
    done = run("run", "--out", "f_*.png", "--", "blender", "-b", "s.blend", "-o", "//f_####", "-F",
               "PNG", "-s", "2", "-e", "3", "-a", timeout=120)
    assert done.returncode == 0, done
    frames = sorted(run.work.glob("*.png"))
    assert [frame.name for frame in frames] == ["f_0002.png", "f_0003.png"]
    assert all(frame.read_bytes().startswith(b"\x89PNG") for frame in frames)
