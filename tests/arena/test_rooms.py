"""The rooms of the arena import in one direction."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent.parent / "src" / "steelyard" / "arena"

ROOMS: dict[str, set[str]] = {
    "scoring": set(),
    "notifications": {"scoring"},
    "ingest": {"scoring", "notifications"},
    "views": {"scoring", "ingest", "notifications"},
}


def rooms_imported(source: str) -> set[str]:
    """The rooms that a file of the arena imports, wherever the import stands."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    found = {name.split(".")[2] for name in names if name.startswith("steelyard.arena.")}
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_the_rooms_below_it_and_every_way_is_used(room: str) -> None:
    imported: set[str] = set()
    for path in (ROOT / room).glob("*.py"):
        imported |= rooms_imported(path.read_text(encoding="utf-8"))
    assert imported - {room} == ROOMS[room]


def test_every_room_stands_in_the_table() -> None:
    assert {path.parent.name for path in ROOT.glob("*/__init__.py")} == set(ROOMS)


def test_the_check_sees_an_import_against_the_flow() -> None:
    assert rooms_imported("def f():\n    from steelyard.arena.ingest._arena import Arena") == {"ingest"}
    assert rooms_imported("from steelyard.arena import views\nimport steelyard.arena.scoring._rules") == {
        "views",
        "scoring",
    }
