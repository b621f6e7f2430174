"""Public names mean what they mean, whatever else was imported before."""

from __future__ import annotations

import pkgutil

import steelyard as sy


def test_no_public_name_is_that_of_a_module() -> None:
    assert not set(sy.__all__) & {info.name for info in pkgutil.iter_modules(sy.__path__)}


def test_every_public_name_is_there() -> None:
    assert all(getattr(sy, name) is not None for name in sy.__all__)
