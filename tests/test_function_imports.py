"""Imports inside functions are of libraries that starting must not load, or of modules that load one."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent / "src"

HEAVY = {
    "duckdb",
    "importlib.metadata",  # 10 ms
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "pyspark",
    "pytest",
    "rapidfuzz",
    "re2",
    "resvg_py",
    "rich",
    "scipy",
    "sqlalchemy",
    "starlette",
    "tree_sitter_language_pack",
    "yaml",
    "zoneinfo",  # 3 ms
    "zstandard",
}
"""Libraries that commands which do not need them must not load."""

CHECK = """
import importlib, json, os, sys
import steelyard.cli._question_commands

heavy, imports = json.load(sys.stdin)

class Heavy(BaseException):
    pass

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name in heavy:
            raise Heavy

def loads_one(statement):
    try:
        exec(statement, {})
    except Heavy:
        return True
    return False

assert not [name for name in heavy if name in sys.modules]
for module, statements in imports.items():
    sys.stdout.flush()
    child = os.fork()
    if not child:
        importlib.import_module(module)
        sys.meta_path.insert(0, Stop())
        for statement in statements:
            if not loads_one(statement):
                print(json.dumps([module, statement]))
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, module
"""
"""Prints the imports that load no heavy library beyond those that their own modules load."""


def light(imports: dict[str, list[str]]) -> list[str]:
    """Return the imports, by the module that has them in a function, that could be at the top of it."""
    given = json.dumps([sorted(HEAVY), imports])
    done = subprocess.run([sys.executable, "-c", CHECK], input=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [": ".join(json.loads(line)) for line in done.stdout.splitlines()]


def in_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (ast.unparse(each) for each in ast.walk(node) if isinstance(each, (ast.Import, ast.ImportFrom)))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_imports_in_functions_load_a_heavy_library() -> None:
    found = {module_of(path): list(dict.fromkeys(in_functions(path))) for path in sorted(ROOT.rglob("*.py"))}
    assert light({module: statements for module, statements in found.items() if statements}) == []


def test_imports_of_light_or_loaded_modules_are_reported() -> None:
    planted = {
        "steelyard.records._times": "import json",
        "steelyard.files": "from steelyard.files._archives import extract",
        "steelyard.arena.scoring._row_scores": "import numpy as np",  # which that module loads anyway
    }
    assert light({module: ["import duckdb", each] for module, each in planted.items()}) == [
        f"{module}: {each}" for module, each in planted.items()
    ]
