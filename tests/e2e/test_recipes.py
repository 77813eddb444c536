"""README's examples, scripts/recipes/*, each run in an empty folder."""
import pytest
from conftest import ROOT

RECIPES = sorted((ROOT / "scripts" / "recipes").iterdir())


@pytest.mark.keeps_files
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda path: path.name)
def test_recipe(run, recipe):
    done = run.command(recipe)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
