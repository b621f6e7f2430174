"""Imports flow one way, as the table says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "src" / "steelyard"

ANYWHERE = {"errors", "settings", "_version"}
ALLOWED: dict[str, set[str]] = {
    "records": set(),
    "archives": {"records"},
    "profiles": {"records"},
    "prices": {"records"},
    "sources": {"records", "prices", "archives"},
    "tables": {"records", "prices", "profiles", "sources"},
    "metrics": {"records", "profiles"},
    "statistics": set(),
    "timings": {"records"},
    "speedups": {"records", "metrics", "profiles", "statistics", "timings"},
    "engines": {"records", "metrics", "profiles", "tables"},
    "sandbox": set(),
    "codes": {"records", "profiles", "sandbox"},
    "store": {"records"},
    "arena": {"records", "archives", "metrics", "profiles", "statistics", "store", "sandbox", "engines"},
    "standings": {"records", "metrics", "profiles", "statistics", "engines"},
    "reports": {"records", "metrics", "standings"},
    "demo": {"records"},
}
JOINING = {"workflow", "surfaces", "__init__", "__main__"}


def area_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(source: str) -> set[str]:
    """The areas of ours that a file imports, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "steelyard" else [f"steelyard.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("steelyard.")}
    return found


def offences(area: str, source: str) -> set[str]:
    if area in JOINING or area in ANYWHERE:
        return set() if area in JOINING else imports_of(source) - ANYWHERE
    return imports_of(source) - ANYWHERE - ALLOWED[area] - {area}


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_flow_only_as_the_table_allows(path: Path) -> None:
    assert not offences(area_of(path), path.read_text(encoding="utf-8"))


def test_the_check_sees_an_import_against_the_flow() -> None:
    assert offences("records", "from steelyard.metrics import composite_score") == {"metrics"}
    assert offences("statistics", "def f():\n    import steelyard.store.schema") == {"store"}
    assert not offences("workflow", "from steelyard.tables._run_table import RunTable")


def test_every_folder_stands_in_the_table() -> None:
    areas = {area_of(path) for path in FILES}
    assert areas - set(ALLOWED) - JOINING - ANYWHERE == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_stays_readable(path: Path) -> None:
    assert path.read_text(encoding="utf-8").count("\n") <= 400
