"""Every change of scripts/mutants.toml can be made: its text is in its file once, and its tests exist."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent
MUTANTS = tomllib.loads((ROOT / "scripts" / "mutants.toml").read_text("utf-8"))["mutant"]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant["name"])
def test_mutant_applies_and_names_existing_tests(mutant: dict[str, Any]) -> None:
    source = ROOT / mutant["file"]
    assert source.read_text("utf-8").count(mutant["old"]) == 1
    assert mutant["new"] != mutant["old"]
    assert mutant["tests"]
    for test in mutant["tests"]:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert not name or f"def {name.partition('[')[0]}(" in (ROOT / path).read_text("utf-8")


def test_mutant_names_are_unique() -> None:
    assert len({mutant["name"] for mutant in MUTANTS}) == len(MUTANTS)
