"""Metrics and formats of others: named by entry points of installed packages, or files in folders that a setting names.

Looking through the installed packages takes some milliseconds, so a catalog asks only when it needs to know.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from steelyard.errors import DeclarationError, SteelyardError, UsageError, error_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@dataclass(frozen=True, slots=True)
class PlugIn:
    """Something of others' that was loaded."""

    where: str
    """The distribution with its entry point, or the file; errors name it."""
    loaded: object
    """The module, or the object that the entry point names."""


def plug_ins(group: str, setting: str) -> Iterator[PlugIn]:
    """Those of the entry point group by distribution, then those of the folders that the setting names, by file.

    A file whose name begins with an underscore is none.
    """
    for point in sorted(_entry_points(group), key=_shown):
        yield PlugIn(_shown(point), _loaded(point.load, _shown(point)))
    for folder in filter(None, os.environ.get(setting, "").split(os.pathsep)):
        if not Path(folder).is_dir():
            raise UsageError("no such directory", where=folder, hint=f"check {setting}")
        for path in sorted(Path(folder).glob("[!_]*.py")):
            yield PlugIn(str(path), _loaded(partial(_module, path), str(path)))


def _entry_points(group: str) -> Iterable[EntryPoint]:
    """Those of the group; without the library, which takes 30 ms to import, where no installed package names any."""
    if not any(_may_name(Path(folder or "."), group) for folder in sys.path):
        return ()
    from importlib.metadata import entry_points  # 30 ms

    return entry_points(group=group)


def _may_name(folder: Path, group: str) -> bool:
    """Whether a package in the folder has entry points of the group, or that cannot be seen, as in an archive."""
    if not folder.is_dir():
        return folder.exists()
    lists = (*folder.glob("*.dist-info/entry_points.txt"), *folder.glob("*.egg-info/entry_points.txt"))
    return any(f"[{group}]".encode() in path.read_bytes() for path in lists)


def _shown(point: EntryPoint) -> str:
    package = f"{point.dist.name} {point.dist.version}" if point.dist else "unnamed distribution"
    return f"{package} ({point.group}: {point.name} = {point.value})"


def _loaded(load: Callable[[], object], where: str) -> object:
    try:
        return load()
    except SteelyardError as error:
        raise DeclarationError(error.message, where=_with_line(where, error.where), hint=error.hint) from error
    except Exception as error:  # code of others may raise anything, and the user must learn whose it is
        message = f"cannot be imported: {type(error).__name__}: {error_message(error)}"
        raise DeclarationError(message, where=_with_line(where, _line_of(error))) from error


def _with_line(where: str, line: str | None) -> str:
    """The file with its line, or the distribution and then the file."""
    if line is None:
        return where
    return line if line.startswith(where) else f"{where}, {line}"


def _line_of(error: Exception) -> str | None:
    """The file and the line of others at which importing it failed; None where it never came so far."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    step = error.__traceback__
    while step is not None:
        path = step.tb_frame.f_code.co_filename
        if path != __file__ and "importlib" not in path:
            return f"{path}:{step.tb_lineno}"
        step = step.tb_next
    return None


def _module(path: Path) -> ModuleType:
    name = f"steelyard_plugin_{zlib.crc32(str(path.resolve()).encode()):08x}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
