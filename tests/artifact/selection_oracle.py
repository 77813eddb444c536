#!/usr/bin/env python3
"""Compares what gpl takes of random directories with what git lists of them.

selection_oracle.py TOOL [--seeds N] [--first SEED] [--keep]

TOOL is selection_tool. Every seed makes one directory (work trees with submodules, nested and linked work trees,
sparse and split indexes, odd names and patterns, or no work tree at all) and compares in its top and in some folders.
"""
import argparse
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile

NAMES = ["a", "b", "ab", "A", "Foo", "foo", "build", "x.log", "x.o", "keep.log", "src", "sub dir", "it's", '"q"', "-rf",
         "--", "n\nl", "\u00e9", "\u65e5\u672c", "[ab]", "a]", "*", "?", "b\\c", "\\", "#x", "!x", "x ", " x", "\t",
         "~", "$HOME", ".hidden", "..x", "a.b", "\udcff", "x\r", "data", "logs", "con.txt", ".gitx", "git"]
FOLDERS = ["a", "b", "build", "src", "sub dir", "logs", "data", "[ab]", "-d", "\u00e9", ".hidden", "Foo", "foo", "n\nl",
           "x.o", "b\\c", "*"]
PARTS = ["a", "b", "ab", "foo", "Foo", "build", "src", "logs", "data", "x", "keep", ".log", ".o", "*", "*", "**", "?",
         "[ab]", "[!a]", "[^a-c]", "[[:alpha:]]", "[[:punct:]]", "\\", "\\*", "\\ ", "/", "/", "/", "**/", "/**", " ",
         ".", "\u00e9", "[", "]", "-", "#", "!", "x ", "\\[", "*.log", "*.o", "\r", "\t"]


def pattern(rnd):
    how = rnd.random()
    if how < 0.35:
        text = rnd.choice(NAMES + FOLDERS)
        for special in "\\*?[":
            if rnd.random() < 0.7:
                text = text.replace(special, "\\" + special)
        if rnd.random() < 0.3:
            text = rnd.choice(FOLDERS) + "/" + text
    elif how < 0.6:
        text = rnd.choice(["*.log", "*.o", "build/", "/build", "**/logs", "a/**", "**/a/*", "*", "/*", "*/", "/*/", "b*",
                           "src/*", "/*.log", "/*.o", "a/*.log", "src/*b*", "/*/a", "/*a*", "/b*/*.o", "/*o", "a/**/b", "**", "/**/foo", "data/**/x.o", "?", "[a-b]", "*.*", "foo/", "/a/*/"])
    else:
        text = "".join(rnd.choice(PARTS) for _ in range(rnd.randint(1, 4)))
    if rnd.random() < 0.2:
        text = "!" + text
    if rnd.random() < 0.1:
        text = "/" + text
    if rnd.random() < 0.15:
        text += "/"
    if rnd.random() < 0.05:
        text += "  "
    return text.replace("\n", rnd.choice(["?", "*"]))


def write(path, text):
    with open(path, "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))


def ignore_text(rnd):
    lines = [pattern(rnd) for _ in range(rnd.choice([1, 1, 2, 3, 5]))]
    if rnd.random() < 0.2:
        lines.insert(rnd.randrange(len(lines) + 1), rnd.choice(["", "# a comment", "   ", "\\#x"]))
    end = "\r\n" if rnd.random() < 0.1 else "\n"
    return rnd.choice(["", "", "", "\ufeff"]) + end.join(lines) + rnd.choice(["", end])


def is_work_tree(path):
    git = os.path.join(path, ".git")
    return not os.path.islink(path) and (os.path.isfile(git) or os.path.exists(os.path.join(git, "HEAD")))


class GitFailed(Exception):
    """git itself gave up on what the seed made: nothing to compare with."""


class Seed:
    def __init__(self, tool, seed, base):
        self.tool, self.rnd, self.base = tool, random.Random(seed), base
        self.home = os.path.join(base, "home")
        os.makedirs(self.home)
        self.global_config = os.path.join(self.home, ".gitconfig")
        self.env = {"PATH": os.environ["PATH"], "HOME": self.home, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8",
                    "GIT_CONFIG_GLOBAL": self.global_config,
                    **{"GIT_%s_%s" % (who, what): "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}}
        self.differences = []

    def git(self, where, *words, check=True, stdin=None, env=None):
        done = subprocess.run(["git", "-c", "protocol.file.allow=always", *words], cwd=where, env=env or self.env,
                              input=stdin, capture_output=True)
        if check and done.returncode:
            raise GitFailed("git %s in %s: %s" % (words, where, done.stderr.decode(errors="replace")))
        return done.stdout

    # --- making a directory

    def fill(self, where, depth=0):
        """Random files, folders, links and ignore files below `where`."""
        rnd = self.rnd
        for name in rnd.sample(NAMES, rnd.randint(0, 6)):
            self.make_one(os.path.join(where, name))
        if rnd.random() < (0.6 if depth == 0 else 0.25):
            self.make_ignore_file(where, ".gitignore")
        if depth < 3:
            for name in rnd.sample(FOLDERS, rnd.randint(0, 3)):
                path = os.path.join(where, name)
                if not os.path.lexists(path):
                    os.mkdir(path)
                    self.fill(path, depth + 1)

    def make_one(self, path):
        rnd = self.rnd
        how = rnd.random()
        if os.path.lexists(path):
            return
        if how < 0.86:
            write(path, "x" * rnd.randint(0, 9))
        elif how < 0.96:
            os.symlink(rnd.choice(["a", "..", ".", "build", "/nowhere", "src/x.o", "../b", os.path.basename(path)]), path)
        elif how < 0.98:
            os.mkfifo(path)
        else:
            with socket.socket(socket.AF_UNIX) as end:
                here = os.getcwd()
                os.chdir(os.path.dirname(path))  # socket paths are short
                try:
                    end.bind(os.path.basename(path))
                finally:
                    os.chdir(here)

    def make_ignore_file(self, where, name):
        path = os.path.join(where, name)
        if os.path.lexists(path):
            return
        how = self.rnd.random()
        if how < 0.9:
            write(path, ignore_text(self.rnd))
        elif how < 0.95:
            os.symlink(self.rnd.choice(["x.log", "/nowhere", "rules"]), path)
            if not os.path.lexists(os.path.join(where, "rules")):
                write(os.path.join(where, "rules"), ignore_text(self.rnd))
        else:
            os.mkdir(path)

    def all_paths(self, top, folders=False, nested=False):
        """Paths below `top` that belong to its own work tree, by name; `nested`: the work trees in it instead."""
        found, inner = [], []
        for at, dirs, files in os.walk(top):
            for name in [d for d in dirs if is_work_tree(os.path.join(at, d))]:
                dirs.remove(name)
                inner.append(os.path.relpath(os.path.join(at, name), top))
            dirs[:] = sorted(d for d in dirs if d != ".git")
            links = [d for d in dirs if os.path.islink(os.path.join(at, d))]
            for name in sorted(dirs if folders else links + files):
                if name != ".git" and (not folders or name not in links):
                    found.append(os.path.relpath(os.path.join(at, name), top))
        return inner if nested else found

    def make_repository(self, top, depth=0):
        rnd = self.rnd
        os.makedirs(top, exist_ok=True)
        self.git(top, "init", "-q", *(["--object-format=sha256"] if rnd.random() < 0.1 else []))
        self.fill(top)
        if rnd.random() < 0.3:
            write(os.path.join(top, ".git/info/exclude"), ignore_text(rnd))
        if rnd.random() < 0.15:
            self.git(top, "config", "core.ignorecase", "true")
        if depth < 2 and rnd.random() < 0.35:
            self.nest(top, depth)
        self.track(top)
        self.change(top)
        if rnd.random() < 0.15:
            path = os.path.join(top, rnd.choice(FOLDERS))
            if not os.path.lexists(path):
                os.makedirs(os.path.join(path, ".git"))
                self.fill(path, 2)

    def plain_files(self, top):
        return [p for p in self.all_paths(top) if os.path.islink(os.path.join(top, p)) or os.path.isfile(os.path.join(top, p))]

    def track(self, top):
        rnd = self.rnd
        paths = [p for p in self.plain_files(top) if rnd.random() < 0.5]
        if rnd.random() < 0.1:
            paths = []
        stdin = b"\0".join(os.fsencode(p) for p in paths)
        if paths:
            self.git(top, "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul", stdin=stdin,
                     env=dict(self.env, GIT_LITERAL_PATHSPECS="1"))
        if rnd.random() < 0.6:
            self.git(top, "commit", "-q", "--allow-empty", "-m", "x")
            if rnd.random() < 0.25:
                self.make_sparse(top)
        later = [p for p in self.plain_files(top) if rnd.random() < 0.05]
        for path in later:
            self.git(top, "add", "-f", "-N", "--", path, check=False, env=dict(self.env, GIT_LITERAL_PATHSPECS="1"))
        if rnd.random() < 0.35:
            self.git(top, "update-index", "--index-version", rnd.choice(["2", "4", "4"]))
        # Not both: git 2.39 writes split sparse indexes that it cannot read itself.
        sparse = os.path.exists(os.path.join(top, ".git/info/sparse-checkout"))
        if rnd.random() < 0.2 and not sparse:
            self.git(top, "update-index", "--split-index", check=False)
            for path in self.plain_files(top)[:3]:
                self.git(top, "add", "-f", "--", path, check=False, env=dict(self.env, GIT_LITERAL_PATHSPECS="1"))
            if rnd.random() < 0.5 and paths:
                self.git(top, "rm", "-q", "-f", "--cached", "--", paths[0], check=False, env=dict(self.env, GIT_LITERAL_PATHSPECS="1"))
        if rnd.random() < 0.1:
            self.git(top, "update-index", "--untracked-cache", check=False)

    def make_sparse(self, top):
        """A sparse checkout, for a sparse index with folders that hold nothing untracked."""
        rnd = self.rnd
        for folder in ("whole", "whole/in", "part", "part/in"):
            if not os.path.lexists(os.path.join(top, folder)):
                os.mkdir(os.path.join(top, folder))
                for name in ("one", "two.log"):
                    write(os.path.join(top, folder, name), "x")
                    self.git(top, "add", "-f", folder + "/" + name)
        self.git(top, "commit", "-q", "-m", "y", check=False)
        self.git(top, "sparse-checkout", "set", *rnd.choice([["--cone"], ["--cone", "--sparse-index"]]),
                 *[d for d in FOLDERS + ["part"] if d in os.listdir(top) and d.isalpha() and rnd.random() < 0.5], check=False)
        # An ignore file that is absent, but not deleted, is read by git from its object store, which gpl does not read.
        for line in self.git(top, "ls-files", "-t", "-z").split(b"\0"):
            if line.startswith(b"S ") and line.endswith(b".gitignore"):
                self.git(top, "update-index", "--no-skip-worktree", "--", line[2:])
        if rnd.random() < 0.2:
            os.makedirs(os.path.join(top, "whole"), exist_ok=True)
            write(os.path.join(top, "whole/new"), "untracked in a sparse folder")

    def change(self, top):
        """Deletes, replaces and adds things behind git's back."""
        rnd = self.rnd
        for path in self.all_paths(top):
            full = os.path.join(top, path)
            how = rnd.random()
            if os.path.basename(path) == ".gitignore" or not os.path.lexists(full):
                continue
            if how < 0.08:
                os.unlink(full)
            elif how < 0.12:
                os.unlink(full)
                os.mkdir(full)
                self.fill(full, 3)
            elif how < 0.14:
                os.unlink(full)
                os.symlink(rnd.choice(["a", "..", "src"]), full)
        for path in self.all_paths(top, folders=True):
            full = os.path.join(top, path)
            if os.path.isdir(full) and not os.path.islink(full) and rnd.random() < 0.05:
                shutil.rmtree(full)
                if rnd.random() < 0.5:
                    write(full, "was a folder")
                elif rnd.random() < 0.5:
                    os.symlink(rnd.choice(["..", "a", "src"]), full)

    def nest(self, top, depth):
        """A submodule, a nested repository, a linked work tree: some ignored."""
        rnd = self.rnd
        for _ in range(rnd.randint(1, 2)):
            folder = rnd.choice(["."] + self.all_paths(top, folders=True))
            name = os.path.normpath(os.path.join(folder, rnd.choice(["sub", "vendor", "b", "build", "[ab]"])))
            full = os.path.join(top, name)
            if os.path.lexists(full) or not os.path.isdir(os.path.dirname(full)):
                continue
            how = rnd.random()
            if how < 0.4:
                self.make_repository(full, depth + 1)
                if rnd.random() < 0.3:
                    self.git(full, "commit", "-q", "--allow-empty", "-m", "x", check=False)
                    self.git(top, "add", "-f", name, check=False)
            elif how < 0.5:
                self.git(top, "init", "-q", full)
            elif how < 0.8:
                self.add_submodule(top, name, full)
            else:
                self.git(top, "commit", "-q", "--allow-empty", "-m", "x", check=False)
                self.git(top, "worktree", "add", "-q", full, "-b", "w%d" % rnd.randrange(10**9), check=False)
                if os.path.isdir(full):
                    self.fill(full, 2)

    def add_submodule(self, top, name, full):
        rnd = self.rnd
        source = os.path.join(self.base, "source%d" % rnd.randrange(10**9))
        os.mkdir(source)
        self.git(source, "init", "-q")
        self.fill(source, 2)
        self.track(source)
        self.git(source, "commit", "-q", "--allow-empty", "-m", "x")
        self.git(top, "submodule", "add", "-f", source, name, check=False)
        if not os.path.isdir(full):
            return
        if rnd.random() < 0.7:
            self.fill(full, 2)
            self.change(full)
        elif rnd.random() < 0.5:
            self.git(top, "submodule", "deinit", "-f", name, check=False)

    def make_person(self):
        rnd = self.rnd
        text = ""
        if rnd.random() < 0.2:
            text = "[core]\n\texcludesFile = %s\n" % rnd.choice(["~/rules", self.home + "/rules", '"~/ru\\u"', "/dev/null", "~/\"rules\" ; x", ""])
            text = text.replace("\\u", "les")
            write(os.path.join(self.home, "rules"), ignore_text(rnd))
        if rnd.random() < 0.15:
            write(os.path.join(self.home, "more"), "[Core]\n  ExcludesFile=~/rules2\n")
            write(os.path.join(self.home, "rules2"), ignore_text(rnd))
            text += rnd.choice(["[include]\n path = more\n", '[includeIf "gitdir:%s/"]\n path = ~/more\n' % self.base,
                                '[includeIf "gitdir:/nowhere/"]\n path = more\n', '[includeIf "gitdir:work/**"]\n path = more\n'])
        write(self.global_config, text)
        if rnd.random() < 0.2:
            config = os.path.join(self.home, ".config")
            if rnd.random() < 0.5:
                config = self.env["XDG_CONFIG_HOME"] = os.path.join(self.home, "xdg")
            os.makedirs(os.path.join(config, "git"))
            write(os.path.join(config, "git/ignore"), ignore_text(rnd))

    # --- what git says

    def expected(self, root):
        """Relative paths of files and links, as git lists them, of what is there."""
        listed = self.git(root, "ls-files", "-co", "--exclude-standard", "-z").split(b"\0")
        staged = self.git(root, "ls-files", "-s", "-z").split(b"\0")
        gitlinks = {line.split(b"\t", 1)[1] for line in staged if line.startswith(b"160000")}
        names = {os.fsdecode(name) for name in listed if name}
        taken = set()
        for name in names:
            self.expect_one(root, name, os.fsencode(name) in gitlinks, taken)
        if self.git(root, "config", "--get", "--type=bool", "core.ignorecase", check=False).strip() == b"true":
            # A name that differs from a tracked one only in case: for git it is neither, on file systems that tell
            # case apart. gpl takes it, as git does where they do not.
            top = os.fsdecode(self.git(root, "rev-parse", "--show-toplevel").rstrip(b"\n"))
            fold = {name.lower() for name in self.git(top, "ls-files", "-z").split(b"\0")}
            for nested in (False, True):
                for path in self.all_paths(root, nested=nested):
                    if os.fsencode(os.path.normpath(os.path.join(os.path.relpath(root, top), path))).lower() in fold:
                        self.expect_one(root, path, nested, taken)
        return taken

    def expect_one(self, root, name, is_gitlink, taken):
        path = name.rstrip("/")
        full = os.path.join(root, path)
        parts = path.split("/")
        if any(os.path.islink(os.path.join(root, *parts[:i])) for i in range(1, len(parts))) or not os.path.lexists(full):
            return
        if os.path.isdir(full) and not os.path.islink(full):
            if (is_gitlink or name.endswith("/")) and os.path.lexists(os.path.join(full, ".git")):
                top = self.git(full, "rev-parse", "--show-toplevel").rstrip(b"\n")
                if os.fsdecode(top) == os.path.realpath(full):
                    taken.update(path + "/" + inner for inner in self.expected(full))
        elif os.path.islink(full) or os.path.isfile(full):
            taken.add(path)

    def selected(self, root):
        done = subprocess.run([self.tool, root], env=self.env, capture_output=True)
        if done.returncode:
            raise RuntimeError("%s %s: exit %d, %s" % (self.tool, root, done.returncode, done.stderr.decode(errors="replace")))
        paths = [os.fsdecode(path) for path in done.stdout.split(b"\0") if path]
        if [os.fsencode(p).rstrip(b"/") for p in paths] != sorted(os.fsencode(p).rstrip(b"/") for p in paths):
            self.differences.append("%s: not in order" % root)
        return {p for p in paths if not p.endswith("/")}, {p[:-1] for p in paths if p.endswith("/")}

    def compare(self, root, want):
        files, folders = self.selected(root)
        for path in sorted(want - files):
            self.differences.append("%s: missing %r" % (root, path))
        for path in sorted(files - want):
            self.differences.append("%s: too much %r" % (root, path))
        for path in files:
            while (path := os.path.dirname(path)):
                if path not in folders:
                    self.differences.append("%s: no folder %r" % (root, path))
        return files, folders

    def compare_folders(self, top, files, folders):
        """A folder is taken exactly when it is not ignored, or holds something that is taken."""
        there = set(self.all_paths(top, folders=True))
        stdin = b"\0".join(os.fsencode(p) for p in sorted(there)) + b"\0"
        lines = self.git(top, "check-ignore", "--no-index", "-z", "--stdin", check=False, stdin=stdin).split(b"\0")
        ignored = {os.fsdecode(line) for line in lines if line}
        staged = self.git(top, "ls-files", "-s", "-z").split(b"\0")
        submodules = {os.fsdecode(line.split(b"\t", 1)[1]) for line in staged if line.startswith(b"160000")} & there
        holding = set(submodules)
        for path in files | submodules:
            while (path := os.path.dirname(path)):
                holding.add(path)
        want = (there - ignored) | holding
        for path in sorted(want ^ folders):
            self.differences.append("%s: folder %r is %s" % (top, path, "missing" if path in want else "too much"))

    def outside(self):
        """No work tree at the root: .gitignore, or .gplignore, files alone."""
        top = os.path.join(self.base, "plain")
        os.mkdir(top)
        self.fill(top)
        git_dir = os.path.join(self.base, "elsewhere.git")
        self.git(self.base, "init", "-q", "--bare", git_dir)
        env = dict(self.env, GIT_DIR=git_dir, GIT_WORK_TREE=top)
        name = ".gitignore"
        if self.rnd.random() < 0.5:
            name = ".gplignore"
            for at, _, files in os.walk(top):
                if ".gitignore" in files:
                    os.rename(os.path.join(at, ".gitignore"), os.path.join(at, name))
        listed = self.git(top, "ls-files", "-o", "--exclude-per-directory=" + name, "-z", env=env).split(b"\0")
        want = set()
        for path in listed:
            if path:
                self.expect_one(top, os.fsdecode(path), False, want)
        if self.rnd.random() < 0.3:
            inner = os.path.join(top, "inner")
            if not os.path.lexists(inner) and name == ".gitignore":
                self.make_repository(inner)
                again = self.git(top, "ls-files", "-o", "--exclude-per-directory=" + name, "-z", env=env).split(b"\0")
                if b"inner/" in again:
                    want.update("inner/" + path for path in self.expected(inner))
        self.compare(top, want)

    def run(self):
        rnd = self.rnd
        self.make_person()
        if rnd.random() < 0.15:
            self.outside()
            return
        top = os.path.join(self.base, "work")
        self.make_repository(top)
        files, folders = self.compare(top, self.expected(top))
        nested = any(".git" in dirs + files_ for at, dirs, files_ in os.walk(top) if at != top)
        case = self.git(top, "config", "--get", "--type=bool", "core.ignorecase", check=False).strip() == b"true"
        if not nested and not case:
            self.compare_folders(top, files, folders)
        inner = self.all_paths(top, folders=True)
        for path in rnd.sample(inner, min(3, len(inner))):
            root = os.path.join(top, path)
            self.compare(root, self.expected(root))


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("tool")
    words.add_argument("--seeds", type=int, default=200)
    words.add_argument("--first", type=int, default=1)
    words.add_argument("--keep", action="store_true", help="keep the directory of a seed that fails")
    given = words.parse_args()
    tool = os.path.abspath(given.tool)
    passed = failed = unusable = 0
    for number in range(given.first, given.first + given.seeds):
        base = os.path.realpath(tempfile.mkdtemp(prefix="gpl-oracle-"))
        seed = Seed(tool, number, base)
        try:
            seed.run()
        except GitFailed as error:
            unusable += 1
            print("seed %d cannot be used: %s" % (number, error))
            shutil.rmtree(base)
            continue
        except (RuntimeError, OSError, UnicodeError) as error:
            seed.differences.append("%s: %s" % (type(error).__name__, error))
        if seed.differences:
            failed += 1
            print("seed %d%s" % (number, " in " + base if given.keep else ""))
            for line in seed.differences[:8]:
                print("  " + line.encode("utf-8", "backslashreplace").decode())
        else:
            passed += 1
        if not (given.keep and seed.differences):
            shutil.rmtree(base)
    if unusable:
        print("%d seeds could not be used" % unusable)
    print("%d passed, %d failed" % (passed, failed))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
