"""Imports flow one way and through front doors, as the table says; nothing is permitted that nobody uses."""

from __future__ import annotations

import ast
import re
import shutil
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent / "src" / "steelyard"

BASE = frozenset(
    {
        "errors",
        "settings",
        "version",
        "plugins",
        "plain_text",
        "formatting",
        "scratch",
        "suggestions",
        "option_names",
        "lazy_exports",
    }
)
"""What everything may import."""

ALLOWED: dict[str, set[str]] = {
    "records": set(),
    "statistics": set(),
    "figures": set(),
    "sandbox": set(),
    "files": {"records"},
    "prices": {"records", "files"},
    "profiles": {"records", "files"},
    "sources": {"records", "files", "prices", "statistics"},
    "metrics": {"records", "profiles", "statistics", "sources"},
    "pages": {"records", "figures"},
    "grading": {"records", "files", "sandbox"},
    "store": {"records"},
    "demo": {"records"},
    "arena": {"records", "profiles", "files", "metrics", "statistics", "store", "grading"},
    "runner": {"records", "files", "sources", "prices", "sandbox", "grading"},
    "questions": {
        "records",
        "files",
        "sources",
        "prices",
        "profiles",
        "metrics",
        "statistics",
        "figures",
        "pages",
        "arena",
        "grading",
        "runner",
        "store",
        "sandbox",
    },
    "cli": {"server", "questions", "pages", "records", "sources", "demo", "figures", "runner"},
    "server": {"questions", "arena", "pages", "records", "profiles"},
    "client": {"questions", "arena", "records"},
    "__main__": {"cli"},
}
"""What each folder may import besides the base."""

PUBLIC_MODULES = {"steelyard.store.schema"}
"""Modules that others may import beside the front doors."""


def is_public(module: str) -> bool:
    """Return whether other folders may import it: a question's module or package."""
    return module in PUBLIC_MODULES or re.fullmatch(r"steelyard\.questions\.(arena\.)?[a-z]\w*", module) is not None


class Import(NamedTuple):
    """One import of something of ours."""

    path: Path
    module: str

    @property
    def target(self) -> str:
        return self.module.split(".")[1]


def folder_of(path: Path, root: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".py")


def imports_of(path: Path) -> list[Import]:
    """Everything of ours that a file imports, wherever the import stands."""
    return [Import(path, each) for each in _imports_in(path.read_text(encoding="utf-8"))]


@cache
def _imports_in(source: str) -> list[str]:
    """Modules of ours; a private module is named whole."""
    tree = ast.parse(source)
    modules: list[str] = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            is_folder = (ROOT.parent / Path(*node.module.split("."))).is_dir()
            names = [
                f"{node.module}.{alias.name}"
                if node.module == "steelyard" or (is_folder and alias.name.startswith("_"))
                else node.module
                for alias in node.names
            ]
        modules += [name for name in dict.fromkeys(names) if name.startswith("steelyard.")]
    return modules


def files_of(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*.py") if path != root / "__init__.py")


def offenses(root: Path) -> list[str]:
    """Every import that the table, the doors or the order of the folders forbids, and every permission nobody uses."""
    wrong: list[str] = []
    used: set[tuple[str, str]] = set()
    graph: dict[str, set[str]] = {}
    for path in files_of(root):
        folder = folder_of(path, root)
        where = path.relative_to(root).as_posix()
        for each in imports_of(path):
            target = each.target
            if target in BASE or target == folder:
                continue
            used.add((folder, target))
            graph.setdefault(folder, set()).add(target)
            if target not in ALLOWED.get(folder, set()):
                wrong.append(f"{where}: {folder} may not import {target}")
            if each.module.count(".") > 1 and not is_public(each.module):
                wrong.append(f"{where}: {each.module} is behind the door of {target}")
    wrong += [
        f"{folder} is permitted to import {target}, and nothing does"
        for folder, targets in ALLOWED.items()
        for target in sorted(targets)
        if (folder, target) not in used
    ]
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        wrong.append(f"folders import each other in a circle: {' -> '.join(error.args[1])}")
    return wrong


def test_imports_flow_only_as_the_table_allows() -> None:
    assert offenses(ROOT) == []


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("questions/measure/__init__.py", "from steelyard import cli", "questions may not import cli"),
        ("questions/analysis/_samples.py", "from steelyard.records._run import Run", "is behind the door of records"),
        (
            "cli/serve.py",
            "from steelyard.questions._question import question",
            "is behind the door of questions",
        ),
        ("questions/analysis/_samples.py", "from steelyard.records import _run", "is behind the door of records"),
        ("records/_run.py", "def f():\n    import steelyard.store", "records may not import store"),
        ("records/_run.py", "from steelyard.store import open_store", "in a circle"),
    ],
)
def test_a_copy_that_breaks_a_rule_is_noticed(tmp_path: Path, file: str, line: str, complaint: str) -> None:
    copy = tmp_path / "steelyard"
    shutil.copytree(ROOT, copy)
    (copy / file).write_text((copy / file).read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    assert any(complaint in offense for offense in offenses(copy))


def test_a_permission_that_nobody_uses_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ALLOWED, "statistics", {"store"})
    assert offenses(ROOT) == ["statistics is permitted to import store, and nothing does"]


def test_every_folder_stands_in_the_table() -> None:
    assert {folder_of(path, ROOT) for path in files_of(ROOT)} - BASE == set(ALLOWED)


def test_every_folder_has_a_door_that_lists_what_it_gives() -> None:
    import importlib

    for init in sorted(ROOT.glob("*/__init__.py")):
        door = importlib.import_module(f"steelyard.{init.parent.name}")
        assert door.__doc__, init
        for name in getattr(door, "__all__", ()):
            assert getattr(door, name) is not None
