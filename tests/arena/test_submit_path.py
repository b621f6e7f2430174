"""The way of a submission to its receipt: each function adds something to the one that calls it."""

from __future__ import annotations

import ast
import importlib.util
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

WALK = Path(__file__).parent.parent.parent / "scripts" / "walk.py"
pytestmark = pytest.mark.checkout


@pytest.fixture(scope="module")
def walk() -> ModuleType:
    spec = importlib.util.spec_from_file_location("walk", WALK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_submit_has_no_two_functions_in_a_row_that_only_forward(
    walk: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path.cwd())  # the walk changes the directory
    calls = walk.walks()["an arena submission to its receipt"]
    assert len({call.callee for call in calls}) > 100
    assert walk.forwarded(calls) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b):\n    '''Text.'''\n    return g(a, b=b.c)", True),
        ("def f(*a):\n    from x import g\n    return g(*a)", True),
        ("def f(a):\n    return g(a + 1)", False),
        ("def f(a):\n    return g(h(a))", False),
        ("def f(a):\n    b = g(a)\n    return b", False),
        ("def f(a):\n    return [g(b) for b in a]", False),
    ],
)
def test_function_that_only_forwards_is_recognized(walk: ModuleType, source: str, expected: bool) -> None:
    (node,) = ast.parse(textwrap.dedent(source)).body
    assert walk.only_forwards(node) is expected


def test_two_that_only_forward_are_noticed(walk: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "three.py"
    file.write_text("def a(x):\n    return b(x)\ndef b(x):\n    return c(x)\ndef c(x):\n    return x + 1\n")
    names: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)  # noqa: S102 # written above
    a, b, c = (getattr(names[name], "__code__") for name in "abc")  # noqa: B009 # functions, to mypy objects
    assert walk.forwarded([walk.Call(a, b), walk.Call(b, c)]) == ["a -> b"]
