"""Which files are taken along: git's rules, .gitignore and .gplignore, --stage."""
import os
import subprocess

import pytest
from conftest import make_git
from test_staging import listing


def write(folder, *paths, text="x\n"):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def files(paths):
    return [path for path in paths if not path.endswith("/")]


def test_gitignore_holds_outside_of_git_too(run):
    write(run.work, "a.py", "a.o", "build/x", "sub/build/y", "sub/keep.o", "sub/b.py")
    write(run.work, ".gitignore", text="*.o\nbuild/\n")
    write(run.work, "sub/.gitignore", text="!keep.o\n")
    assert files(listing(run)) == [".gitignore", "a.py", "sub/.gitignore", "sub/b.py", "sub/keep.o"]


def test_gplignore_leaves_out_more(run):
    write(run.work, "a", "data/x", "sub/data/y", "sub/z")
    write(run.work, ".gplignore", text="/data\n")
    assert files(listing(run)) == [".gplignore", "a", "sub/data/y", "sub/z"]


def test_stage_overrides_the_ignore_rules_for_what_it_names(run):
    write(run.work, "a", "data/x", "data/deep/y", "other/z")
    write(run.work, ".gitignore", text="data\nother\n")
    assert files(listing(run, "--stage", "data/deep")) == [".gitignore", "a", "data/deep/y"]
    assert files(listing(run, "--stage", "data", "--stage", "other/z")) == [
        ".gitignore", "a", "data/deep/y", "data/x", "other/z"]


def test_stage_takes_absolute_paths_and_paths_from_the_current_folder(run):
    write(run.work, "data/x", "a")
    write(run.work, ".gitignore", text="data\n")
    assert "data/x" in listing(run, "--stage", str(run.work / "data"))
    assert "data/x" in listing(run, "--stage", "./data/")


@pytest.fixture
def git(run):
    return make_git(run.work)


def test_tracked_and_untracked_files_are_taken_and_ignored_ones_are_not(run, git):
    write(run.work, "tracked", "untracked", "ignored.o", "sub/untracked")
    write(run.work, ".gitignore", text="*.o\n")
    git("add", "tracked", ".gitignore")
    assert files(listing(run)) == [".gitignore", "sub/untracked", "tracked", "untracked"]


def test_a_tracked_file_is_never_ignored(run, git):
    write(run.work, "data/tracked.o", "data/other.o")
    git("add", "data/tracked.o")
    write(run.work, ".gitignore", text="*.o\ndata/\n")
    assert files(listing(run)) == [".gitignore", "data/tracked.o"]


def test_the_git_folder_is_left_out(run, git):
    write(run.work, "a")
    git("add", "a")
    git("commit", "-q", "-m", "a")
    assert listing(run) == ["a"]


def test_a_tracked_file_that_is_gone_is_no_problem(run, git):
    write(run.work, "a", "gone")
    git("add", "a", "gone")
    (run.work / "gone").unlink()
    assert listing(run) == ["a"]


def test_info_exclude_and_core_excludesfile_hold(run, git):
    write(run.work, "a", "x.tmp", "x.bak", "x.swp")
    (run.work / ".git" / "info").mkdir(exist_ok=True)
    (run.work / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (run.home / "excludes").write_text("*.bak\n")
    git("config", "core.excludesFile", "~/excludes")
    assert listing(run) == ["a", "x.swp"]


def test_the_users_own_ignore_file_of_git_holds(run, git):
    write(run.work, "a", "x.swp")
    (run.config / "git").mkdir()
    (run.config / "git" / "ignore").write_text("*.swp\n")
    assert listing(run) == ["a"]


def test_from_a_folder_inside_the_work_tree_its_files_are_taken(run, git):
    write(run.work, "outer", "sub/inner", "sub/x.o", "sub/deep/y")
    write(run.work, ".gitignore", text="*.o\n/sub/deep\n")
    git("add", ".")
    assert listing(run, cwd=run.work / "sub") == ["inner"]


def test_gplignore_leaves_out_of_a_work_tree_what_is_not_tracked(run, git):
    write(run.work, "a", "data/x")
    write(run.work, ".gplignore", text="data\n")
    got = files(listing(run))
    # DESIGN names .gplignore for folders outside of git; inside, git's list is what is promised.
    assert "a" in got


def test_submodules_are_taken(run, git):
    library = run.base / "library"
    library.mkdir()
    other = make_git(library)
    write(library, "lib.py", "lib.o")
    write(library, ".gitignore", text="*.o\n")
    other("add", ".")
    other("commit", "-q", "-m", "x")
    git("submodule", "add", "-q", str(library), "vendored/lib")
    write(run.work / "vendored" / "lib", "lib.o", "new.py")
    assert files(listing(run)) == [".gitmodules", "vendored/lib/.gitignore",
                                   "vendored/lib/lib.py", "vendored/lib/new.py"]


def test_nested_work_trees_are_taken_with_their_own_rules(run, git):
    inner = run.work / "inner"
    inner.mkdir()
    make_git(inner)
    write(inner, "a", "b.o", "c.tmp")
    write(inner, ".gitignore", text="*.o\n")
    write(run.work, "d.o")
    assert files(listing(run)) == ["d.o", "inner/.gitignore", "inner/a", "inner/c.tmp"]


def test_a_linked_work_tree_is_one(run, git):
    write(run.work, "a")
    write(run.work, ".gitignore", text="*.o\n")
    git("add", ".")
    git("commit", "-q", "-m", "a")
    linked = run.base / "linked"
    git("worktree", "add", "-q", str(linked))
    write(linked, "b.o", "c")
    assert listing(run, cwd=linked) == [".gitignore", "a", "c"]


def test_stage_of_an_ignored_folder_in_a_work_tree(run, git):
    write(run.work, "a", "models/weights.bin", "models/.cache/x", "other/y")
    write(run.work, ".gitignore", text="models\nother\n")
    git("add", "a")
    assert files(listing(run, "--stage", "models")) == [
        ".gitignore", "a", "models/.cache/x", "models/weights.bin"]


def test_stage_dot_takes_everything_but_the_git_folder(run, git):
    write(run.work, "a", "b.o", "models/weights.bin")
    write(run.work, ".gitignore", text="*.o\nmodels\n")
    assert files(listing(run, "--stage", ".")) == [".gitignore", "a", "b.o", "models/weights.bin"]


def test_empty_folders_of_a_work_tree_arrive(run, git):
    (run.work / "logs" / "run1").mkdir(parents=True)
    write(run.work, "a")
    assert listing(run) == ["a", "logs/", "logs/run1/"]


def test_links_in_a_work_tree_stay_links(run, git):
    write(run.work, "a")
    os.symlink("a", run.work / "link")
    os.symlink("/etc", run.work / "out")
    git("add", ".")
    done = run("run", "--", "sh", "-c", "readlink link out")
    assert done.stdout == b"a\n/etc\n"


def test_a_work_tree_of_another_owner_is_one_all_the_same(run, git):
    write(run.work, "a", "b.o")
    write(run.work, ".gitignore", text="*.o\n")
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", "65534:65534", run.work], check=True)
    assert files(listing(run)) == [".gitignore", "a"]


@pytest.mark.parametrize("version", ["2", "4"])
def test_every_version_of_the_index_is_read(run, git, version):
    write(run.work, *(f"folder{i % 7}/file{i}.o" for i in range(60)))
    git("add", ".")
    git("update-index", "--index-version", version)
    write(run.work, ".gitignore", text="*.o\n")
    assert len(files(listing(run))) == 61


def test_a_damaged_index_is_told(run, git):
    write(run.work, "a")
    git("add", "a")
    (run.work / ".git" / "index").write_bytes(b"DIRC\0\0\0\x02garbage")
    done = run("run", "--", "true")
    # Silence would run the job without its files.
    assert done.returncode == 125 or b"index" in done.stderr
    assert done.stderr.startswith(b"gpl: ")


def test_the_list_is_gits_own(run, git):
    write(run.work, "a.txt", "b.log", "keep.log", "d/e/f.txt", "d/e/g.log", "d/h/i", "x y/z",
          "tab\there", "[set]", "star*", "#hash", "!bang", "trail ", "\\back")
    write(run.work, ".gitignore", text="*.log\n!keep.log\n/d/**/g*\n\\#hash\n\\!bang\n[[]set]\n"
          "trail\\ \nx?y/\n")
    write(run.work, "d/.gitignore", text="h/*\n!h/i\n")
    git("add", "-f", "b.log")
    wanted = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=run.work,
                            env={"HOME": "/nonexistent", "PATH": "/usr/bin:/bin"},
                            capture_output=True, check=True).stdout
    assert files(listing(run)) == sorted(os.fsdecode(path) for path in wanted.split(b"\0")[:-1])
