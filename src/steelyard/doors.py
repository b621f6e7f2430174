"""Lazy exports: a package's `__init__` lists its public names, and each is imported on first access.

The list consists of imports that only type checkers follow, so heavy libraries are loaded only when needed.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from typing import Any

_IMPORT = re.compile(r"^    from (\S+) import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)
_NAME = re.compile(r"(\w+) as (\w+)")


def open_door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, from the imports below its `if TYPE_CHECKING:`."""
    module = sys.modules[package]
    loader: Any = module.__spec__ and module.__spec__.loader  # Any: whatever imports Python source can show it
    homes = _homes(loader.get_source(package))

    def getattr_(name: str) -> Any:  # Any: each name has its own type, which type checkers see
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home, original = homes[name]
        value = getattr(importlib.import_module(home), original)
        setattr(module, name, value)
        return value

    names = sorted(homes)
    return getattr_, lambda: names, list(names)


def _homes(source: str) -> dict[str, tuple[str, str]]:
    """Where each name of the door lives: its module, and its name there.

    The imports are found as text: taking the source apart as Python would cost each start some milliseconds.
    """
    listed = source.partition("if TYPE_CHECKING:")[2].partition("\nelse:")[0]
    return {
        alias: (module, name)
        for module, several, single in _IMPORT.findall(listed)
        for name, alias in _NAME.findall(several or single)
    }
