"""Hidden tests of a task: which files contain them, the framework that runs them, and what came of them."""

from __future__ import annotations

import ast
import fnmatch
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from steelyard.sandbox import Content

Framework = Literal["unittest", "pytest"]
NOT_FAILED = ("passed", "skipped", "expected failure")
_PATTERNS: dict[Framework, tuple[str, ...]] = {"unittest": ("test*.py",), "pytest": ("test_*.py", "*_test.py")}


class HiddenTests(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a task's tests, by their path in the work directory."""

    files: Mapping[str, Content]
    framework: Framework

    @property
    def places(self) -> list[str]:
        """The files with tests."""
        patterns = _PATTERNS[self.framework]
        return [
            name
            for name in sorted(self.files)
            if any(fnmatch.fnmatch(PurePosixPath(name).name, pattern) for pattern in patterns)
        ]

    @property
    def modules(self) -> list[str]:
        """The modules that the files are, as Python names them."""
        return sorted(module_of(name) for name in self.files if name.endswith(".py"))


def module_of(place: str) -> str:
    """The name of the module in that file.

    >>> module_of("pkg/tests/test_a.py"), module_of("pkg/__init__.py")
    ('pkg.tests.test_a', 'pkg')
    """
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def hidden_tests(files: Mapping[str, Content], framework: Framework | None = None) -> HiddenTests:
    """The tests in these files. Without a framework, pytest runs them if they use it, else unittest."""
    return HiddenTests(files=files, framework=framework or _framework_of(files))


def _framework_of(files: Mapping[str, Content]) -> Framework:
    for name, content in files.items():
        if name.endswith(".py"):
            text = content if isinstance(content, bytes) else content.read_bytes()
            if PurePosixPath(name).name == "conftest.py" or _is_pytest(text):
                return "pytest"
    return "unittest"


def _is_pytest(text: bytes) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            return True
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test") and not node.bases:
            return True
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if "pytest" in names:
            return True
    return False


class TestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the tests in one run."""

    __test__ = False  # pytest must not take this for a test class

    statuses: dict[str, str]
    """Status by test."""
    messages: dict[str, str] = {}
    """Why a test did not pass."""
    objects: dict[str, list[str]] = {}
    """By test, where it got an object of the candidate, which decides itself what it is equal to."""
    operators: int = 0
    """How often such an object decided an operator."""
    mixed: dict[str, list[str]] = {}
    """By test, where it got both objects and data."""
    used: dict[str, list[tuple[str, str]]] = {}
    """By test, where objects came from that decided an operator, and the operator."""
    changed: list[str] = []
    """Tests with the calls that changed their arguments."""
    decided: list[str] = []
    """Tests in which such an object decided whether it is equal to, or less than, data."""
    has_died: bool = False
    """Whether the candidate's process ended before the tests."""
    problem: str | None = None
    """Why the tests did not run to the end."""


MAX_RECORD_BYTES = 64 << 20
"""Size of a record. A process of the code under test may have written it."""


def read_test_record(content: bytes) -> TestRecord | None:
    """The record that the tests' process wrote; None if it is malformed or too large."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(content, MAX_RECORD_BYTES)
        return msgspec.json.decode(text, type=TestRecord) if reader.eof else None
    except (zlib.error, msgspec.MsgspecError, RecursionError):
        return None


def top_modules(*folders: Path | None) -> set[str]:
    """The modules and packages at the top of these directories, or of their `src`."""
    names = set()
    for folder in folders:
        for place in (folder, folder / "src") if folder is not None else ():
            if place.is_dir():
                for path in place.iterdir():
                    if path.suffix == ".py" or (path.is_dir() and path.name.isidentifier()):
                        names.add(path.stem)
    return names
