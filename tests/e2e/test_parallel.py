"""Many runs at the same time."""
import os

from conftest import lines
from processes import alive, zombies

RUNS = 200


def test_200_runs_at_once_get_each_its_own_code_output_and_number(run):
    for name in ("out", "err", "code", "empty"):
        (run.base / name).mkdir()
    before = {process.pid for process in zombies()}
    one = "cd {0}/empty; gpl run -- sh -c 'echo $GPL_JOB_ID; exit $0' $(($1 % 120)) " \
          ">{0}/out/$1 2>{0}/err/$1; echo $? >{0}/code/$1".format(run.base)
    (run.base / "one").write_text(one)
    done = run.bash(f"seq {RUNS} | xargs -P 40 -n 1 sh {run.base}/one", timeout=120)
    assert done.returncode == 0, done.stderr
    codes = {i: int((run.base / "code" / str(i)).read_text()) for i in range(1, RUNS + 1)}
    assert codes == {i: i % 120 for i in range(1, RUNS + 1)}
    numbers = {(run.base / "out" / str(i)).read_text() for i in range(1, RUNS + 1)}
    assert sorted(int(number) for number in numbers) == list(range(1, RUNS + 1))
    said = {(run.base / "err" / str(i)).read_text() for i in range(1, RUNS + 1)}
    assert said == {""}
    assert alive() == []
    # Every guard and process of a job was waited for; none was left to whoever inherits orphans.
    assert [process for process in zombies() if process.pid not in before] == []
    assert run.jobs() == [] and list(run.tmp.iterdir()) == []


def test_parallel_runs_bring_their_results_into_one_folder(run):
    (run.work / ".gplignore").write_text("out\n")  # or a run would take what others write
    done = run.bash("seq 40 | xargs -P 20 -I{} gpl run --out out -- "
                    "sh -c 'mkdir -p out; echo {} >out/{}; echo {} >out/shared'")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    names = {path.name for path in (run.work / "out").iterdir()}
    assert names == {str(i) for i in range(1, 41)} | {"shared"}
    assert all((run.work / "out" / str(i)).read_text() == f"{i}\n" for i in range(1, 41))


def test_runs_of_two_users_do_not_meet(run):
    first, second = (run("run", "--", "sh", "-c", "echo $GPL_JOB_ID $TMPDIR",
                         env={"XDG_STATE_HOME": str(run.state / name)}) for name in "ab")
    assert lines(first.stdout)[0].split()[0] == lines(second.stdout)[0].split()[0] == "1"
    assert first.stdout != second.stdout
    assert os.listdir(run.tmp) == []
