"""Public names of a package, imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lazy_loader

Exports = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]  # Any: what the package exports


def exports(package: str, file: str) -> Exports:
    """Return `__getattr__`, `__dir__` and `__all__` of the package whose type stub lists its public names.

    Does the same as `lazy_loader.attach_stub` for stubs of imports alone, without a syntax tree, which would take 5 ms
    of every start.
    """
    names: dict[str, list[str]] = {}
    for statement in Path(file).with_suffix(".pyi").read_text("utf-8").split("from .")[1:]:
        module, _, imported = statement.partition(" import ")
        listed = imported.partition(")")[0].lstrip("( \n").split(",")
        names[module] = [name.split()[0] for name in listed if name.strip()]
    made: Exports = lazy_loader.attach(package, submod_attrs=names)
    return made
