"""Public names mean what they mean, whatever else was imported before."""

from __future__ import annotations

import inspect
import pkgutil
from pathlib import Path

import lazy_loader
import pytest

import steelyard as sy
from steelyard.lazy_exports import exports

ROOT = Path(sy.__file__).parent


def test_no_public_name_is_that_of_a_module() -> None:
    assert not set(sy.__all__) & {info.name for info in pkgutil.iter_modules(sy.__path__)}


def test_every_public_name_is_there() -> None:
    assert all(getattr(sy, name) is not None for name in sy.__all__)


@pytest.mark.parametrize("stub", sorted(ROOT.rglob("__init__.pyi")), ids=lambda stub: stub.parent.name)
def test_exports_are_those_of_lazy_loader(stub: Path) -> None:
    package = ".".join(stub.parent.relative_to(ROOT.parent).parts)
    lazy = lazy_loader.attach_stub(package, str(stub))[2]
    assert lazy
    assert exports(package, str(stub.with_suffix(".py")))[2] == lazy


NEEDS_MORE = {
    "arena_upgrade": "a store of an earlier version",
    "connect": "a server",
    "list_tokens": "a token, which the example of create_token has",
    "revoke_token": "a token, which the example of create_token has",
}
"""Functions whose examples stand elsewhere, and what they would need."""


def test_every_public_function_shows_an_example_that_runs() -> None:
    functions = {name for name in sy.__all__ if inspect.isfunction(getattr(sy, name))}
    assert {name for name in functions if ">>> " not in (getattr(sy, name).__doc__ or "")} == set(NEEDS_MORE)
