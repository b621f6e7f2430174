"""Where a program lives: what a sandbox must show for it to start, when it was installed for a user alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from steelyard.runner._digests import file_digest

_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib")
"""What a sandbox shows anyway."""
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_SHIMS = "shims"
"""Directory of a version manager's shims, which need all files of the manager to start."""
_MANAGERS = ("pyenv", "mise", "asdf", "nodenv", "rbenv")
_MAX_LINKS = 40
_HEAD_BYTES = 512
_DIGEST_DIGITS = 12


@dataclass(frozen=True)
class Program:
    """A program as a sandbox can start it."""

    path: str
    """The file to start."""
    readable: tuple[Path, ...]
    """What must be readable: the package it belongs to, and its interpreter."""
    search_path: str
    """A PATH on which it and its interpreter are found."""


def program_named(name: str, *, folder: Path | None = None) -> Program | None:
    """Return the program that the user's shell would start in the directory `folder`; None if there is none.

    Without a folder a relative path names none: it means a file of the work folder, which only the sandbox has.
    Of a Node package its outermost `node_modules` is needed, of a Python one its virtual environment and what that was
    made from, of any other program the file alone. A script's interpreter is looked up the same way.
    """
    if "/" in name and not os.path.isabs(name):
        if folder is None:
            return None
        name = str(folder / name)
    return _program(name, os.environ.get("PATH", os.defpath))


def program_digest(name: str, *, folder: Path) -> str | None:
    """The version of a program that states none: the digest of its file, if it is named by a path.

    None for programs of the system and those found on PATH, which may differ from machine to machine.
    """
    place = _found(str(folder / name), "") if "/" in name else None
    if place is None or str(start := _end_of_links(place)).startswith(_SYSTEM):
        return None
    return f"sha256:{file_digest(start)[:_DIGEST_DIGITS]}"


@cache
def _program(name: str, search_path: str) -> Program | None:
    place = _found(name, search_path)
    if place is None:
        return None
    start = _end_of_links(place)
    readable: dict[Path, None] = {}
    folders: dict[str, None] = {str(start.parent): None}
    waiting, seen = [start], set[Path]()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        readable |= dict.fromkeys(_needed_for(path))
        for interpreter in _interpreters(path, search_path):
            folders[str(interpreter.parent)] = None
            waiting.append(_end_of_links(interpreter))
    shown = [path for path in readable if not str(path).startswith(_SYSTEM)]
    search = [folder for folder in folders if folder not in SYSTEM_PATH.split(":")]
    return Program(str(start), tuple(sorted(shown)), ":".join([*search, SYSTEM_PATH]))


def _found(name: str, search_path: str) -> Path | None:
    """Return the file with that name, resolved if it is a version manager's shim."""
    place = shutil.which(name, path=search_path)
    if place is None:
        return None
    path = Path(os.path.abspath(place))
    if path.parent.name != _SHIMS:
        return path
    for manager in _MANAGERS:
        if program := shutil.which(manager, path=search_path):
            result = subprocess.run([program, "which", path.name], capture_output=True, text=True, check=False)  # noqa: S603
            if result.returncode == 0 and Path(result.stdout.strip()).is_file():
                return Path(result.stdout.strip())
    rest = [folder for folder in search_path.split(os.pathsep) if Path(folder).name != _SHIMS]
    return _found(path.name, os.pathsep.join(rest))


def _end_of_links(path: Path) -> Path:
    """The file that links lead to, by a path without links, which is all that a sandbox shows.

    A virtual environment's link to its interpreter stays, because it identifies the environment.
    """
    for _ in range(_MAX_LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if not path.is_symlink() or _environment_of(path) is not None:
            break
        path = path.parent / os.readlink(path)
    return path


def _environment_of(path: Path) -> Path | None:
    """The virtual environment that a program is in."""
    folder = path.parent.parent
    return folder if (folder / "pyvenv.cfg").is_file() else None


def _needed_for(path: Path) -> Iterator[Path]:
    parents = [parent for parent in path.parents if parent.name == "node_modules"]
    environment = _environment_of(path)
    if parents:
        yield parents[-1]
    elif environment is not None:
        yield environment
        base = Path(os.path.realpath(environment / "bin" / "python"))
        yield base.parent.parent
    elif path.name.startswith("python") and (path.parent.parent / "lib").is_dir():
        yield path.parent.parent
    else:
        yield path


def _interpreters(path: Path, search_path: str) -> Iterator[Path]:
    """Who runs the file if it is a script: the program of its first line, and the one that `env` is to find."""
    try:
        with path.open("rb") as script:
            head = script.read(_HEAD_BYTES)
    except OSError:
        return
    if not head.startswith(b"#!"):
        return
    words = head[2:].split(b"\n", 1)[0].decode(errors="replace").split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    interpreter = _found(words[0], search_path) if words else None
    if interpreter is not None:
        yield interpreter
