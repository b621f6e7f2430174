"""Help as plain text: usage, description, examples, then commands or options in groups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from inspect import Parameter as Signature, cleandoc
from pathlib import Path
from textwrap import wrap
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from cyclopts.command_spec import CommandSpec

from steelyard import questions

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

MAX_WIDTH = 100
"""Widest text; longer lines are hard to read."""
COMMAND_COLUMN, OPTION_COLUMN = 16, 26
"""Column of the descriptions of commands and of options."""

COMMAND_GROUPS: Mapping[str, tuple[str, ...]] = {
    "Get started": ("demo", "doctor"),
    "Load data": ("read", "usage", "completeness", "mapping"),
    "Analyze": ("measure", "compare", "power", "rank", "matrix", "failures", "judges", "repeatability", "speedup"),
    "Inspect and share": ("explain", "show", "find", "integrity", "report", "gate", "serve"),
    "Run and compete": ("run", "arena"),
    "Reference": ("formats", "metrics", "prices", "profiles", "schema"),
}
"""The commands by group, the most used first."""

TOP_OPTIONS = {
    "-h, --help": "Show this help.",
    "--version": "Show the version.",
    "--install-completion": "Install shell completion.",
}
TOP_NOTES = (
    "Exit status: 0 success, 1 invalid input, 2 usage error, 3 gate failed, 4 gate inconclusive.",
    "Example: steelyard compare runs.jsonl -a model=A -b model=B",
)

ARGUMENTS, REQUIRED, OPTIONS = "Arguments", "Required", "Options"
STATISTICS, SELECT, READ, OUTPUT = "Metrics and statistics", "Select runs", "Read input", "Output"
OPTION_GROUPS: Mapping[str, tuple[str, ...]] = {
    STATISTICS: (
        "metrics",
        "metric",
        "confidence",
        "correction",
        "interval",
        "cluster",
        "ignore-conditions",
        "effect-size",
        "margin",
        "sequential",
        "weight-by",
        "unscored",
        "seed",
        "resamples",
    ),
    SELECT: ("where", "since", "until", "tasks"),
    READ: ("map", "set", "prices", "profile", "engine"),
    OUTPUT: ("json", "csv", "out", "figure", "no-csv-escape", "allow-rejected", "quiet"),
}
"""The options that several commands share, by group, in order."""

METAVARS = {
    "baseline": "FILTER",
    "candidate": "FILTER",
    "where": "FILTER",
    "by": "KEYS",
    "metrics": "NAMES",
    "sections": "NAMES",
    "scope": "NAMES",
    "reviewers": "NAMES",
    "only": "NAMES",
    "ignore-conditions": "NAMES",
    "tasks": "FILE|N",
    "confidence": "LEVEL",
    "interval": "METHOD",
    "correction": "METHOD",
    "normalize": "LEVEL",
    "order": "METHOD",
    "effect-size": "DIFF",
    "sequential": "N",
    "gold": "FILE",
    "rules": "FILE",
    "severity": "LEVEL",
    "weight-by": "UNIT",
    "unscored": "POLICY",
    "policy": "POLICY",
    "since": "DATE",
    "until": "DATE",
    "expires": "DATE",
    "map": "FILE|NAME",
    "prices": "FILE|NAME",
    "profile": "FILE|NAME",
    "set": "KEY=VALUE",
    "rule": "RULE",
    "store": "URL",
    "tz": "ZONE",
    "run": "ID",
    "diff": "ID",
    "steps": "[FROM:TO]",
    "step": "N",
    "role": "NAMES",
    "tool": "NAMES",
    "host": "ADDRESS",
    "title": "TEXT",
    "reason": "TEXT",
    "comment": "TEXT",
    "on": "DATE",
    "tests": "FILE",
    "log": "FILE",
    "agent": "NAME",
    "budget": "USD",
    "out": "FILE|DIR",
    "root-path": "PATH",
}
"""Placeholders for option values; other options use their type."""
_EXAMPLE = re.compile(r"^[ ]*Example: (.+)$\n?", re.MULTILINE)


def help_text(app: App, words: Sequence[str], *, width: int | None = None) -> str:
    """Return the help of the command with these words, or of the whole program without any."""
    width = min(width or 80, MAX_WIDTH)
    lines = _top(app, width) if not words else _command(app, words, width)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _top(app: App, width: int) -> Iterator[str]:
    yield from ("Usage: steelyard [OPTIONS] COMMAND", "", app.help.strip())
    listed = {name for names in COMMAND_GROUPS.values() for name in names}
    others = tuple(name for name in _names(app) if name not in listed)
    for title, names in {**COMMAND_GROUPS, "Other": others}.items():
        if known := [name for name in names if name in app]:
            yield from ("", title)
            yield from _rows(((name, _summary(app[name])) for name in known), COMMAND_COLUMN, width)
    yield from ("", "Options:")
    yield from _rows(TOP_OPTIONS.items(), OPTION_COLUMN - 2, width)
    yield ""
    for note in TOP_NOTES:
        yield from wrap(note, width, subsequent_indent="  ")


def _command(app: App, words: Sequence[str], width: int) -> Iterator[str]:
    arguments = _arguments(app)
    has_commands, path = bool(_names(app)), " ".join(["steelyard", *words])
    usages = [f"{path} {_usage(arguments)}".rstrip()] if app.default_command is not None else []
    usages += [f"{path} COMMAND"] if has_commands else []
    for number, usage in enumerate(usages):
        yield from wrap(f"{'       ' if number else 'Usage: '}{usage}", width, subsequent_indent="         ")
    documentation = cleandoc(app.help)
    if app.default_command is not None and not _EXAMPLE.search(documentation):
        documentation = cleandoc(app.default_command.__doc__ or documentation)
    for paragraph in _EXAMPLE.sub("", documentation).strip().split("\n\n"):
        yield ""
        yield from wrap(" ".join(paragraph.split()), width, break_on_hyphens=False)
    if examples := _EXAMPLE.findall(documentation):
        yield from ("", "Examples:")
        for example in examples:
            yield from _continued(example, width)
    if has_commands:
        yield from _subcommands(app, width)
    for title, group in _grouped(arguments).items():
        if group:
            yield from ("", f"{title}:")
            yield from _rows(((_label(each), _description(each, words)) for each in group), OPTION_COLUMN, width)


def _continued(command: str, width: int) -> Iterator[str]:
    """The command on as few lines as fit, each but the last with a backslash at its end."""
    lines: list[str] = []
    for part in re.split(r" (?=--?[a-z])", command):
        if lines and len(lines[-1]) + len(part) + 1 <= width - 8:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    for number, line in enumerate(lines, start=1):
        yield f"  {'    ' if number > 1 else ''}{line}" + (" \\" if number < len(lines) else "")


def _subcommands(app: App, width: int) -> Iterator[str]:
    """The commands below a command, in the groups they were registered with."""
    groups: dict[str, list[tuple[str, str]]] = {}
    keys: dict[str, Any] = {}  # Any: a sort key
    for name in _names(app):
        listed = app._commands[name]  # `app[name]` would import a command that is registered by its name
        groups_of = listed.group
        group = next(iter(groups_of), None) if isinstance(groups_of, tuple) else groups_of
        title = getattr(group, "name", None) or (group if isinstance(group, str) else "") or "Commands"
        keys[title] = getattr(group, "sort_key", None)
        below = "|".join(_names(listed)) if not isinstance(listed, CommandSpec) else ""
        groups.setdefault(title, []).append((f"{name} {below}".rstrip(), _summary(listed)))
    for title in sorted(groups, key=lambda title: (not isinstance(keys[title], int | tuple), keys[title] or 0)):
        yield from ("", title if len(groups) > 1 else f"{title}:")
        yield from _rows(groups[title], OPTION_COLUMN, width)


def _names(app: App) -> list[str]:
    return [name for name in app if not name.startswith("-")]


def _summary(command: App | CommandSpec) -> str:
    return (command.help or "").strip().partition("\n")[0]


def _arguments(app: App) -> list[Argument]:
    if app.default_command is None:
        return []
    collection = app.assemble_argument_collection(parse_docstring=False)
    return [each for each in collection if each.show and each.parameter.parse is not False]


def _grouped(arguments: Iterable[Argument]) -> dict[str, list[Argument]]:
    """The arguments and options by group: those of the command first, the required ones before the others."""
    arguments = list(arguments)
    names = {_plain_name(each) for each in arguments}
    shared = {
        name: title
        for title, every in OPTION_GROUPS.items()
        for name in every
        if not (title == SELECT and "where" not in names) and not (title == READ and len(names & {*every}) < 2)
    }
    groups: dict[str, list[Argument]] = {title: [] for title in (ARGUMENTS, REQUIRED, OPTIONS, *OPTION_GROUPS)}
    for each in arguments:
        if each.index is not None and not each.name.startswith("-"):
            groups[ARGUMENTS].append(each)
        elif each.required:
            groups[REQUIRED].append(each)
        else:
            groups[shared.get(_plain_name(each), OPTIONS)].append(each)
    for title, order in OPTION_GROUPS.items():
        groups[title].sort(key=lambda each: order.index(_plain_name(each)))
    return groups


def _plain_name(argument: Argument) -> str:
    return argument.name.lstrip("-")


def _usage(arguments: Iterable[Argument]) -> str:
    groups = _grouped(arguments)
    words = [each.name if each.required else f"[{each.name}]" for each in groups[ARGUMENTS]]
    words += [f"{each.name} {_metavar(each)}".strip() for each in groups[REQUIRED]]
    has_options = any(group for title, group in groups.items() if title not in (ARGUMENTS, REQUIRED))
    return " ".join([*words, *(["[OPTIONS]"] if has_options else [])])


def _label(argument: Argument) -> str:
    """The names of an option with its value: `-a, --baseline FILTER`. A flag that is on by default shows `--no-...`."""
    if not argument.name.startswith("-"):
        return argument.name
    if _default(argument) is True:
        return ", ".join(argument.negatives)
    names = [name for name in argument.names if name not in argument.negatives]
    return f"{', '.join(sorted(names, key=len))} {_metavar(argument)}".rstrip()


def _metavar(argument: Argument) -> str:
    kinds = _kinds(argument.hint)
    if kinds == {bool}:
        return ""
    name = _plain_name(argument)
    if Path in kinds:
        return "DIR" if "director" in (argument.parameter.help or "").lower()[:40] else "FILE"
    if name in METAVARS:
        return "FILE" if re.search("FILE or|=FILE", argument.parameter.help or "") else METAVARS[name]
    if int in kinds:
        return "INT"
    return "NUMBER" if float in kinds else "NAME"


def _kinds(hint: object) -> set[object]:
    """The types of a value or of each value of a list."""
    origin = get_origin(hint)
    if origin in (Union, UnionType, list, tuple):
        return {kind for part in get_args(hint) if part not in (Ellipsis, NoneType) for kind in _kinds(part)}
    return {Literal} if origin is Literal else {hint}


def _choices(hint: object) -> list[str]:
    if get_origin(hint) is Literal:
        return [str(word) for word in get_args(hint)]
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    return [word for part in parts for word in _choices(part)]


def _default(argument: Argument) -> Any:  # Any: a default of any type
    value = argument.field_info.default
    return None if value is Signature.empty else value


def _description(argument: Argument, words: Sequence[str]) -> str:
    """The help of an option with its choices and default."""
    text = (argument.parameter.help or "").strip()
    if argument.name == "--figure":
        first, *others = names = _figures(" ".join(words))
        return f"{_open(text)}: {', '.join(names)}{f' (default: {first})' if others else ''}."
    default, choices = _default(argument), _choices(argument.hint)
    if default is True and text:
        return f"Do not {text[0].lower()}{text[1:]}"
    if choices and not all(word in text for word in choices):
        before, between, after = text.partition(" (default")
        text = f"{_open(before)}: {', '.join(choices)}{between}{after or '.'}"
    shown = argument.parameter.show_default
    if default in (None, False, "", ()) or shown is False or "default:" in text or "by default" in text:
        return text
    value = shown(default) if callable(shown) else ",".join(default) if isinstance(default, tuple) else str(default)
    return f"{_open(text)} (default: {value})."


def _figures(command: str) -> tuple[str, ...]:
    question = questions.question_named(command.replace(" ", "_").replace("-", "_"))
    every = [question, *map(questions.question_named, question.variants.values())]
    return tuple(dict.fromkeys(name for each in every for name in each.answer.figure_names()))


def _open(text: str) -> str:
    """The text without its full stop."""
    return text if text.endswith("...") else text.removesuffix(".")


def _rows(rows: Iterable[tuple[str, str]], column: int, width: int) -> Iterator[str]:
    """Two columns; a label that is too long for the first has its description on the next line."""
    for label, text in rows:
        unbroken = text.replace("- for stdin", "-\xa0for stdin")
        lines = wrap(unbroken, width - column - 2, break_on_hyphens=False, break_long_words=False) or [""]
        lines = [line.replace("\xa0", " ") for line in lines]
        if len(label) > column - 1:
            yield f"  {label}"
        else:
            yield f"  {label:<{column}}{lines.pop(0)}"
        yield from (f"  {'':<{column}}{line}" for line in lines)
