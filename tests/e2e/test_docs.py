"""The documents against the program: README's examples, the man pages, --help."""
import re

import pytest
from conftest import ROOT

README = (ROOT / "README.md").read_text()
RECIPES = sorted((ROOT / "scripts" / "recipes").iterdir())
COMMANDS = ["run", "submit", "status", "explain", "wait", "logs", "attach", "cancel", "hold", "release", "exec",
            "rerun", "get", "history", "worker", "coordinator", "peers", "leave", "key", "doctor", "devices", "match",
            "completion", "wal"]

# Examples of README that take a second machine: what they begin with.
OF_TWO_MACHINES = {"gpl worker --detach", "gpl key show | ssh HOST gpl key set", "gpl status"}

# A terminal of 24 lines shows a page of help at once; run has more options than that.
HELP_COLUMNS = 100
HELP_LINES = {"": 40, "run": 60, "submit": 52}
HELP_LINES_OTHERWISE = 24


def blocks(text):
    """The code blocks of a Markdown text."""
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def shown_part(recipe):
    part = re.search(r"^# >>> README\n(.*?)^# <<< README$", recipe.read_text(), re.MULTILINE | re.DOTALL)
    assert part, f"{recipe.name} has no part between '# >>> README' and '# <<< README'"
    return part[1]


def man(page):
    return (ROOT / "man" / f"{page}.scd").read_text()


def options_in_help(run, command):
    """The options that --help lists, with what stands for their values."""
    text = run(command, "--help", text=True).stdout
    return set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", text, re.MULTILINE))


def refused_options(run):
    """Those of run that a later version has: the program's own sources name them."""
    table = (ROOT / "cmd" / "gpl" / "run_options.cc").read_text()
    return {f"--{name}" for name in re.findall(r'\{"([a-z-]+)", Kind::later', table)}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_readme_shows_the_recipe_as_it_is(recipe):
    marker = f"# scripts/recipes/{recipe.name}\n"
    shown = [block.removeprefix(marker) for block in blocks(README) if block.startswith(marker)]
    assert shown == [shown_part(recipe)]


def test_every_example_in_readme_is_a_recipe():
    names = {recipe.name for recipe in RECIPES}
    for block in blocks(README):
        first = block.split("\n")[0]
        if first == "scripts/build && build/gpl run -- echo hello" or first in OF_TWO_MACHINES:
            continue
        assert first.removeprefix("# scripts/recipes/") in names, f"no recipe: {first}"


def test_the_first_commands_of_readme_are_those_of_ci():
    ci = (ROOT / ".ci" / "run").read_text()
    for command in ("scripts/build", "build/gpl run -- echo hello", "scripts/test"):
        assert f"\n{command}\n" in ci
        assert command in blocks(README)[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_man_page_has_every_option(run, command):
    listed = options_in_help(run, command)
    assert "--help" in listed
    described = set(re.findall(r"^(?:\*-h\*, )?\*(--[a-z-]+)\*.*\n\t", man(f"gpl-{command}.1"), re.MULTILINE))
    assert described == listed


def test_the_man_page_of_run_names_the_options_of_later_versions(run):
    later = refused_options(run)
    assert len(later) > 3
    assert later <= set(re.findall(r"--[a-z-]+", man("gpl-run.1")))
    assert not later & options_in_help(run, "run")


def test_the_job_file_page_has_every_key():
    source = (ROOT / "src" / "client" / "job_file.cc").read_text()
    keys = set(re.findall(r'(?:read_(?:list|number|list_as)\(table|table\.\w+\()(?:, )?\s*"([a-z_]+)"', source))
    assert {"command", "env", "time_limit", "no_stage", "out"} <= keys
    described = set(re.findall(r"^\*([a-z_]+)\* = ", man("gpl-job.5"), re.MULTILINE))
    assert described == keys


def test_every_command_is_in_the_usage_and_in_gpl_1(run):
    usage = run("--help", text=True).stdout
    listed = re.findall(r"^  ([a-z]+) {2,}\w", usage, re.MULTILINE)
    assert [name for name in listed if name != "gpl"] == COMMANDS
    page = man("gpl.1")
    for command in COMMANDS:
        assert f"\n*{command}*\n\t" in page
        assert f"*gpl-{command}*(1)" in page


def test_the_exit_codes_of_readme_are_in_gpl_1():
    table = README.split("## Exit codes")[1].split("## ")[0]
    page = man("gpl.1").split("# STREAMS")[0]
    for code in re.findall(r"\b\d{1,3}\b(?!\+)", "".join(row.split("|")[1] for row in table.split("\n") if "|" in row)):
        assert f"\n*{code}*\n" in page, f"{code} is not in gpl(1)"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_the_screen(run, command):
    done = run(*[command] if command else [], "--help", text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= HELP_COLUMNS
    assert len(lines) <= HELP_LINES.get(command, HELP_LINES_OTHERWISE)


@pytest.mark.parametrize("command", COMMANDS)
def test_json_keys_are_documented(command):
    source = {"run": "run_report.cc", "get": "get_report.cc", "history": "history.cc", "match": "match.cc",
              "status": "status_json.cc", "rerun": "rerun.cc", "doctor": "doctor.cc", "wait": "wait.cc",
              "submit": "submit.cc"}.get(command)
    if source is None:
        return
    keys = set(re.findall(r'\{"([a-z_]+)", ', (ROOT / "cmd" / "gpl" / source).read_text()))
    keys -= {row for row in re.findall(r'\{"([a-z_-]+)", (?:\w+::)*Kind::', (ROOT / "cmd" / "gpl" / source).read_text())}
    page = man(f"gpl-{command}.1")
    assert "schema" in keys
    for key in keys:
        assert re.search(rf"\b{key}\b", page), f"{key} is not in gpl-{command}(1)"
