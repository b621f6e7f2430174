"""The committed map of what was renamed (renamed.toml), applied to command lines and to the old version's answers."""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from answers.paths import PathPattern, written

Json = Any  # Any: what json.loads gives
Words = tuple[str, ...]
Record = TypeVar("Record")
SCOPED = ("options", "fields", "values", "moved", "added")
LISTS = ("messages", "masks", "exceptions", "inputs")
MASKED = "<masked>"


class BadMap(ValueError):
    """The map says something that cannot be applied."""


@dataclass(frozen=True)
class Scope:
    """What was renamed in the commands that begin with these words; no words: in all of them."""

    words: Words
    options: Mapping[str, str]
    """Old words of a command line -> new ones. A word without dashes is a verb, `--flag value` is both together."""
    fields: tuple[tuple[PathPattern, str], ...]
    values: tuple[tuple[PathPattern, Mapping[str, str]], ...]
    moved: tuple[tuple[PathPattern, str], ...]
    added: tuple[PathPattern, ...]

    def holds(self, command: Words) -> bool:
        """Whether the command is one of this scope."""
        return command[: len(self.words)] == self.words


@dataclass(frozen=True)
class Message:
    """Prose that was rewritten: a regular expression, and what stands in its place."""

    pattern: re.Pattern[str]
    replacement: str
    command: Words = ()
    path: PathPattern | None = None


@dataclass(frozen=True)
class Mask:
    """What cannot be equal on two runs of the same version, on both sides; with the reason."""

    path: PathPattern
    reason: str
    cases: tuple[str, ...] = ("*",)
    command: Words = ()
    pattern: re.Pattern[str] | None = None
    """The part of a text that is masked; all of the value when there is none."""


@dataclass(frozen=True)
class Exceptional:
    """A difference that is meant, with the reason."""

    case: str
    path: PathPattern
    reason: str


@dataclass(frozen=True)
class Edit:
    """What is changed in an input file before the new version reads it."""

    file: str
    pattern: re.Pattern[str]
    replacement: str


def command_of(arguments: Sequence[str]) -> Words:
    """The words that name the command.

    >>> command_of(["arena", "task", "add", "tasks.toml"])
    ('arena', 'task', 'add')
    >>> command_of(["measure", "runs.jsonl"])
    ('measure',)
    """
    size = 1
    if arguments[:1] == ["arena"]:
        size = 3 if arguments[1:2] == ["task"] else 2
    return tuple(word for word in arguments[:size] if not word.startswith("-"))


@dataclass
class Renaming:
    """The whole map. What of it was used is remembered, so that an entry without effect can be told."""

    scopes: tuple[Scope, ...]
    messages: tuple[Message, ...] = ()
    masks: tuple[Mask, ...] = ()
    exceptions: tuple[Exceptional, ...] = ()
    edits: tuple[Edit, ...] = ()
    used: set[str] = field(default_factory=set)

    def new_arguments(self, arguments: Sequence[str]) -> list[str]:
        """A command line of the old version in the words of the new one."""
        command = command_of(list(arguments))
        verbs, rest = self._new_verbs(arguments)
        options: list[str] = []
        at = 0
        while at < len(rest):
            pair = self._option(command, " ".join(rest[at : at + 2])) if rest[at].startswith("-") else None
            if pair is not None:
                options += shlex.split(pair)
                at += 2
                continue
            single = self._option(command, rest[at]) if rest[at].startswith("-") else None
            options += [rest[at]] if single is None else shlex.split(single)
            at += 1
        return verbs + options

    def _new_verbs(self, arguments: Sequence[str]) -> tuple[list[str], list[str]]:
        for size in (3, 2, 1):
            old = " ".join(arguments[:size])
            for scope in self.scopes:
                if len(arguments) >= size and old in scope.options and not old.startswith("-"):
                    self.used.add(f"options: {old}")
                    return shlex.split(scope.options[old]), list(arguments[size:])
        return [], list(arguments)

    def _option(self, command: Words, old: str) -> str | None:
        for scope in self.scopes_of(command):
            if old in scope.options:
                self.used.add(_told("options", scope, old))
                return scope.options[old]
        return None

    def scopes_of(self, command: Words) -> Iterator[Scope]:
        """Those of the command, the narrowest first."""
        return iter(
            sorted((scope for scope in self.scopes if scope.holds(command)), key=lambda scope: -len(scope.words))
        )

    def new_answer(self, document: Json, command: Words, *, printed: bool) -> Json:
        """An answer of the old version in the words of the new one: fields, values, prose, then what was moved.

        `/` in `moved` is the whole of a printed list, which an object now holds; errors and files stay as they are.
        """
        renamed = _Renamer(self, command).renamed(document, ())
        for scope in self.scopes_of(command):
            for pattern, target in scope.moved:
                if pattern.text == "/":
                    if printed and isinstance(renamed, list):
                        renamed = _placed({}, _segments(target, ()), renamed)
                        self.used.add(_told("moved", scope, pattern.text))
                    continue
                for path, stars in list(_places(renamed, pattern)):
                    renamed = _placed(renamed, _segments(target, stars), _taken(renamed, path))
                    self.used.add(_told("moved", scope, pattern.text))
        return renamed

    def masked(self, document: Json, command: Words, case: str) -> Json:
        """The answer without what differs from run to run."""
        masks = [
            mask
            for mask in self.masks
            if command[: len(mask.command)] == mask.command and any(fnmatchcase(case, name) for name in mask.cases)
        ]
        return self._masked(document, (), masks) if masks else document

    def _masked(self, node: Json, path: Words, masks: list[Mask]) -> Json:
        for mask in masks:
            if node is None or mask.path.match(path) is None:
                continue
            if mask.pattern is None or not isinstance(node, str):
                self.used.add(f"masks: {mask.path.text}")
                return MASKED
            replaced = mask.pattern.sub(MASKED, node)
            if replaced != node:
                self.used.add(f"masks: {mask.path.text}")
            node = replaced
        if isinstance(node, dict):
            return {key: self._masked(value, (*path, key), masks) for key, value in node.items()}
        if isinstance(node, list):
            return [self._masked(value, (*path, str(at)), masks) for at, value in enumerate(node)]
        return node

    def is_added(self, path: Words, command: Words) -> bool:
        """Whether the new version is to have this where the old one has nothing."""
        for scope in self.scopes_of(command):
            for pattern in scope.added:
                if pattern.match(path) is not None:
                    self.used.add(_told("added", scope, pattern.text))
                    return True
        return False

    def exception_for(self, case: str, path: Words) -> Exceptional | None:
        """The listed exception that a difference falls under."""
        for exception in self.exceptions:
            if fnmatchcase(case, exception.case) and exception.path.match(path) is not None:
                self.used.add(f"exceptions: {exception.case} {exception.path.text}")
                return exception
        return None

    def new_input(self, name: str, content: str) -> str:
        """An input file as the new version is to read it."""
        for edit in self.edits:
            if fnmatchcase(name, edit.file):
                changed = edit.pattern.sub(edit.replacement, content)
                if changed != content:
                    self.used.add(f"inputs: {edit.file} {edit.pattern.pattern}")
                content = changed
        return content

    def unused(self) -> list[str]:
        """Entries that had no effect on any case."""
        entries = [
            _told(table, scope, text)
            for scope in self.scopes
            for table, texts in (
                ("options", list(scope.options)),
                ("fields", [pattern.text for pattern, _ in scope.fields]),
                ("values", [f"{pattern.text} {old}" for pattern, words in scope.values for old in words]),
                ("moved", [pattern.text for pattern, _ in scope.moved]),
                ("added", [pattern.text for pattern in scope.added]),
            )
            for text in texts
        ]
        entries += [f"messages: {message.pattern.pattern}" for message in self.messages]
        entries += [f"masks: {mask.path.text}" for mask in self.masks]
        entries += [f"exceptions: {exception.case} {exception.path.text}" for exception in self.exceptions]
        entries += [f"inputs: {edit.file} {edit.pattern.pattern}" for edit in self.edits]
        return [entry for entry in entries if entry not in self.used]


class _Renamer:
    """Walks one answer; the rules that can apply to a key are looked up by the key."""

    def __init__(self, renaming: Renaming, command: Words) -> None:
        self.used = renaming.used
        scopes = list(renaming.scopes_of(command))
        self.fields = [(scope, pattern, new) for scope in scopes for pattern, new in scope.fields]
        self.values = [(scope, pattern, words) for scope in scopes for pattern, words in scope.values]
        self.messages = [message for message in renaming.messages if command[: len(message.command)] == message.command]
        self.keys = {pattern.last for _, pattern, _ in self.fields}

    def renamed(self, node: Json, path: Words) -> Json:
        if isinstance(node, dict):
            pairs = [(self._field((*path, key)), self.renamed(value, (*path, key))) for key, value in node.items()]
            if len(renamed := dict(pairs)) != len(pairs):
                raise BadMap(f"{written(path)}: two fields would get the same name, of {', '.join(node)}")
            return renamed
        if isinstance(node, list):
            return [self.renamed(value, (*path, str(at))) for at, value in enumerate(node)]
        return self._text(node, path) if isinstance(node, str) else node

    def _field(self, path: Words) -> str:
        if path[-1] in self.keys or None in self.keys:
            for scope, pattern, new in self.fields:
                if pattern.match(path) is not None:
                    self.used.add(_told("fields", scope, pattern.text))
                    return new
        return path[-1]

    def _text(self, text: str, path: Words) -> str:
        for scope, pattern, words in self.values:
            if text in words and pattern.match(path) is not None:
                self.used.add(_told("values", scope, f"{pattern.text} {text}"))
                return words[text]
        for message in self.messages:
            if message.path is None or message.path.match(path) is not None:
                changed = message.pattern.sub(message.replacement, text)
                if changed != text:
                    self.used.add(f"messages: {message.pattern.pattern}")
                text = changed
        return text


def _told(table: str, scope: Scope, text: str) -> str:
    verb = table == "options" and not text.startswith("-")
    return f"{table}: {text}" if verb or not scope.words else f"{table} of {' '.join(scope.words)}: {text}"


def _places(node: Json, pattern: PathPattern, path: Words = ()) -> Iterator[tuple[Words, Words]]:
    """Where the pattern matches in a document, and what its stars stand for."""
    stars = pattern.match(path)
    if stars is not None:
        yield path, stars
        return
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _places(value, pattern, (*path, key))
    elif isinstance(node, list):
        for at, value in enumerate(node):
            yield from _places(value, pattern, (*path, str(at)))


def _segments(target: str, stars: Words) -> Words:
    given = iter(stars)
    return tuple(next(given, segment) if segment == "*" else segment for segment in target.split("/")[1:])


def _taken(node: Json, path: Words) -> Json:
    """What stands at the place, which loses it; an object that held nothing else goes too."""
    inner = _inner(node, path[:-1])
    value = inner.pop(path[-1])
    if not inner and len(path) > 1 and isinstance(outer := _inner(node, path[:-2]), dict):
        outer.pop(path[-2])
    return value


def _inner(node: Json, path: Words) -> Json:
    for segment in path:
        node = node[int(segment)] if isinstance(node, list) else node[segment]
    return node


def _placed(node: Json, path: Words, value: Json) -> Json:
    """The document with a value at a place; objects on the way are made."""
    inner = node
    for segment in path[:-1]:
        inner = inner[int(segment)] if isinstance(inner, list) else inner.setdefault(segment, {})
    inner[path[-1]] = value
    return node


def load_renaming(path: Path) -> Renaming:
    """The map of a TOML file; a table or key that is not known is refused."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    _check_names(tables, (*SCOPED, *LISTS, "command"), where=path.name)
    scopes = [_scope((), tables)]
    for words, scoped in tables.get("command", {}).items():
        _check_names(scoped, SCOPED, where=f"command.{words}")
        scopes.append(_scope(tuple(words.split()), scoped))
    return Renaming(
        scopes=tuple(scopes),
        messages=tuple(_record(Message, table) for table in tables.get("messages", [])),
        masks=tuple(_record(Mask, table) for table in tables.get("masks", [])),
        exceptions=tuple(_record(Exceptional, table) for table in tables.get("exceptions", [])),
        edits=tuple(_record(Edit, table) for table in tables.get("inputs", [])),
    )


def _scope(words: Words, tables: Mapping[str, Any]) -> Scope:  # Any: TOML values
    return Scope(
        words=words,
        options=tables.get("options", {}),
        fields=tuple((PathPattern(old), new) for old, new in tables.get("fields", {}).items()),
        values=tuple((PathPattern(place), named) for place, named in tables.get("values", {}).items()),
        moved=tuple((PathPattern(old), new) for old, new in tables.get("moved", {}).items()),
        added=tuple(PathPattern(place) for place in tables.get("added", {})),
    )


def _record(kind: type[Record], table: Mapping[str, Any]) -> Record:  # Any: TOML values
    _check_names(table, tuple(kind.__dataclass_fields__), where=kind.__name__)  # type: ignore[attr-defined]  # a dataclass
    made: dict[str, Callable[[Any], object]] = {
        "cases": tuple,
        "pattern": re.compile,
        "path": PathPattern,
        "command": lambda text: tuple(text.split()),
    }
    try:
        return kind(**{name: made.get(name, str)(value) for name, value in table.items()})
    except TypeError as error:
        raise BadMap(f"{dict(table)}: {error}") from None


def _check_names(table: Mapping[str, object], known: Sequence[str], *, where: str) -> None:
    for name in table:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
            raise BadMap(f"{where}: there is no {name!r}; did you mean {nearest!r}?")
