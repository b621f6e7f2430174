"""What commands, answers and pages print and write is what the files in tests/golden/ contain."""

from __future__ import annotations

import difflib
from itertools import islice

import pytest

from golden_cases import APPS, CASES, EXCLUDED, GOLDEN, LONG, UPDATE, Files, golden, recorded

SHOWN_LINES = 60


def difference(before: Files, after: Files) -> str:
    """Return the first lines of a unified diff of all files."""
    lines = (
        line
        for name in sorted({*before, *after})
        for line in difflib.unified_diff(
            before.get(name, "").splitlines(), after.get(name, "").splitlines(), f"golden/{name}", name, lineterm=""
        )
    )
    return "\n".join(islice(lines, SHOWN_LINES))


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.long if case in LONG else ()) for case in CASES])
def test_golden_files_are_unchanged(case: str) -> None:
    before, after = golden(case), recorded(case)
    if after != before:
        pytest.fail(f"{difference(before, after)}\n\nIf this change is intended: {UPDATE} {case}", pytrace=False)


def test_golden_files_have_a_case() -> None:
    folders = {path.parent.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file()}
    assert folders == set(CASES), f"run {UPDATE}"


def test_golden_exclusions_and_long_cases_exist() -> None:
    assert set(APPS) >= set(EXCLUDED)
    assert set(CASES) >= LONG


def test_golden_difference_shows_changed_and_missing_files() -> None:
    assert difference({"a": "1\n2\n", "b": "x\n"}, {"a": "1\n3\n"}).splitlines() == [
        "--- golden/a",
        "+++ a",
        "@@ -1,2 +1,2 @@",
        " 1",
        "-2",
        "+3",
        "--- golden/b",
        "+++ b",
        "@@ -1 +0,0 @@",
        "-x",
    ]
