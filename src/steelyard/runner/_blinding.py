"""The change that a judge sees, without who made it, with which model, where and at what cost.

Agents write their names into comments, trailers and their own files. Every removal leaves a mark and is counted for a
finding. Keys and tokens are removed too, because a judge is a model elsewhere.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from steelyard.errors import UnreadableFileError
from steelyard.files import whole_file
from steelyard.records import Redaction
from steelyard.runner._digests import file_digest

LEFT_OUT = frozenset({".git", ".hg", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules"})
"""Folders that tools fill by themselves."""
MAX_FILE = 512 << 10
MAX_LINES = 5_000
"""Longer files are named and not shown: comparing takes time that grows with the product of their lengths."""
MAX_FILES = 20_000


class FileDiff(NamedTuple):
    """One file that was added, removed or changed."""

    path: str
    text: str
    """The change as a unified diff, or the reason why it is not shown."""


def work_diff(before: Iterable[Path], after: Path) -> tuple[FileDiff, ...]:
    """Return the differences between the merged directories `before` and the directory `after`, ordered by path."""
    old: dict[str, Path] = {}
    for folder in before:
        old |= dict(_files(folder))
    new = dict(_files(after))
    paths = sorted(old.keys() | new.keys())
    changed = ((path, _change(path, old.get(path), new.get(path))) for path in paths)
    return tuple(FileDiff(path, text) for path, text in changed if text)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    count = 0
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for name in sorted(files):
            count += 1
            if count > MAX_FILES:
                return
            path = Path(place, name)
            yield path.relative_to(folder).as_posix(), path


def _change(path: str, old: Path | None, new: Path | None) -> str:
    """The diff of one file; empty where nothing differs."""
    sides = [_content(side) for side in (old, new)]
    if sides[0] == sides[1]:
        return ""
    names = [f"a/{path}" if old else "/dev/null", f"b/{path}" if new else "/dev/null"]
    head = f"--- {names[0]}\n+++ {names[1]}\n"
    lines = [_lines(side) for side in sides]
    first, second = lines
    if first is None or second is None:
        return f"{head}(omitted: binary or too long)\n"
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(first, second, names[0], names[1])
    )


def _content(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        if path.is_symlink():
            return f"(a link to {path.readlink()})\n".encode("utf-8", "surrogateescape")
        if not path.is_file():
            return b"(not a regular file)\n"
        if path.stat().st_size <= MAX_FILE:
            return whole_file(path)
        return b"\0" + file_digest(path).encode()  # as no text, it is named and not shown
    except (OSError, UnreadableFileError):
        return b"(not readable)\n"


def _lines(content: bytes | None) -> list[str] | None:
    """The lines of a text; None for what cannot be shown as one."""
    if content is None:
        return []
    if b"\0" in content:
        return None
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    return lines if len(lines) <= MAX_LINES else None


BUILT_IN = frozenset({"nop", "oracle", "model", "command"})
"""Adapters whose names are everyday words; they do not identify the agent."""

WELL_KNOWN = (
    "aider",
    "anthropic",
    "chatgpt",
    "claude",
    "codex",
    "copilot",
    "deepseek",
    "gemini",
    "github copilot",
    "mini-swe-agent",
    "openai",
    "opencode",
    "openhands",
    "qwen",
    "swe-agent",
)
"""Agents, and families and makers of models, by which an answer gives itself away although the plan does not name
them. They stay where the task itself speaks of them: a task may be about such a model."""

OWN_FILES = re.compile(
    r"(?:^|/)(?:\.(?:claude|codex|gemini|aider|opencode|openhands|qwen|cursor|goose|continue)[^/]*(?:/|$)"
    r"|(?:CLAUDE|AGENTS?|GEMINI|QWEN)\.md$|\.cursorrules$|copilot-instructions\.md$)",
    re.IGNORECASE,
)
"""Files that agents keep for themselves; they are left out whole."""

_TRAILER = re.compile(
    r"^([ +\-]?[^\w\n]{0,8})(?:co-authored-by|signed-off-by|assisted-by|generated-by|on-behalf-of)\s?:.*$",
    re.IGNORECASE,
)
_HOME = re.compile(r"(?<![\w.])/(?:home|Users)/[A-Za-z0-9._\-]+")
_ROOT_HOME = re.compile(r"(?<![\w./])/root(?=/)")
_OWN_PLACE = r"(?:/trials/[0-9a-f]{4,64}(?:/retry-[0-9]+)?)?(?:/(?:work|home|verify))?"


@dataclass(frozen=True)
class Secrets:
    """What must not reach a judge about the trials it judges, and about the plan."""

    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    tiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Folders of this machine."""
    ids: tuple[str, ...] = ()
    """Ids of trials and runs."""
    costs_usd: tuple[float, ...] = ()
    tokens: tuple[int, ...] = ()
    overlaid: frozenset[str] = frozenset()
    """Files of a tier's overlay: they are not the agent's and reveal the tier."""


@dataclass
class Blinding:
    """Takes secrets out of texts, and counts what it took out.

    >>> blinding = Blinding(Secrets(agents=("night-owl",), models=("acme/large-2",)))
    >>> blinding.text("fixed by Night Owl (large 2)")
    'fixed by [agent] ([model])'
    >>> blinding.summary
    '1 agent, 1 model'
    """

    secrets: Secrets
    spoken_of: str = ""
    """The task's own words: well-known names in them stay everywhere."""
    removed: Counter[str] = field(default_factory=Counter)
    """How often something of each kind was taken out."""
    redaction: Redaction = field(default_factory=Redaction)
    """Takes out keys and tokens."""
    _steps: list[tuple[str, re.Pattern[str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        secrets, spoken_of = self.secrets, self.spoken_of.lower()
        places = sorted({path.rstrip("/") for path in secrets.paths if len(path) > 1}, key=len, reverse=True)
        if places:
            joined = "|".join(map(re.escape, places))
            self._steps.append(("path", re.compile(rf"(?:{joined}){_OWN_PLACE}(?![\w.\-])")))
        self._steps += [("path", _HOME), ("path", _ROOT_HOME), ("trailer", _TRAILER)]
        self._add("id", secrets.ids, re.escape)
        self._add("cost", [_amount(cost) for cost in secrets.costs_usd if cost > 0], str)
        self._add("tokens", [_count(tokens) for tokens in secrets.tokens if tokens >= 1_000], str)
        self._add("model", [form for name in secrets.models for form in {name, name.rpartition("/")[2]}], _spelled)
        self._add("agent", [name for name in secrets.agents if name not in BUILT_IN], _spelled)
        self._add("tier", secrets.tiers, re.escape, flags=0)
        self._add("agent", [name for name in WELL_KNOWN if name not in spoken_of], _spelled)

    def _add(
        self, kind: str, names: Iterable[str], pattern: Callable[[str], str], *, flags: int = re.IGNORECASE
    ) -> None:
        """Return one pattern for all names, longest first, matching whole words."""
        words = sorted({name for name in names if name}, key=lambda name: (-len(name), name))
        if words:
            joined = "|".join(pattern(word) for word in words)
            self._steps.append((kind, re.compile(rf"(?<![A-Za-z0-9])(?:{joined})(?![A-Za-z0-9])", flags)))

    @property
    def summary(self) -> str:
        """How much of each kind was taken out; empty where nothing was."""
        named = [f"{count:,} {kind}" for kind, count in sorted(self.removed.items())]
        return ", ".join([*named, *([self.redaction.summary] if self.redaction.count else [])])

    def text(self, text: str) -> str:
        """The text with a mark in place of each secret."""
        return "".join(map(self._line, self.redaction.text(text).splitlines(keepends=True)))

    def _line(self, line: str) -> str:
        # Invisible characters and look-alikes of letters would hide a name from the patterns and not from a
        # model. Lines without a secret stay as they are: a task may be about such characters.
        plain = line if line.isascii() else _plain(line)
        blinded = plain
        for kind, pattern in self._steps:
            blinded = pattern.sub(partial(self._marked, kind), blinded)
        return line if blinded == plain else blinded

    def _marked(self, kind: str, match: re.Match[str]) -> str:
        self.removed[kind] += 1
        kept = match[1] if match.re is _TRAILER else ""
        return f"{kept}[{kind}]"

    def diff(self, files: Iterable[FileDiff]) -> str:
        """The change without the agent's own files, and without secrets."""
        shown: list[str] = []
        for file in files:
            if OWN_FILES.search(file.path) or PurePosixPath(file.path).as_posix() in self.secrets.overlaid:
                self.removed["file"] += 1
            else:
                shown.append(self.text(file.text))
        return "".join(shown)


def _plain(line: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKC", line) if unicodedata.category(char) != "Cf")


def _spelled(name: str) -> str:
    """A pattern for the name however its parts are joined: `claude-x-4.5`, `Claude X 4 5`, `claudeX45`."""
    parts = re.findall(r"[A-Za-z]+|[0-9]+", name)
    return r"[\W_]{0,2}".join(map(re.escape, parts)) if parts else re.escape(name)


def _amount(cost: float) -> str:
    """A pattern for the amount, rounded anywhere from the cent on; two decimals alone are only money behind a sign."""
    long = {f"{cost:.{digits}f}" for digits in range(3, 9)} | {repr(cost)}
    exact = "|".join(re.escape(text) for text in sorted(long, key=len, reverse=True))
    cents = re.escape(f"{cost:.2f}")
    return rf"(?<![0-9.])(?:\$\s?)?(?:{exact})(?![0-9])|\$\s?{cents}(?![0-9])|{cents}(?=\s?(?:USD|dollars))"


def _count(tokens: int) -> str:
    """A pattern for the count, with separators between thousands or without."""
    return re.escape(f"{tokens:,}").replace(",", r"[,_' ]?")
