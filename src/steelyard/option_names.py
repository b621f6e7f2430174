"""Mentions of options in messages, which each surface spells its own way.

A message below the surfaces never contains `--since` or `since=`: it contains `option("since")`, and the surface that
shows the message calls `spell`.
"""

from __future__ import annotations

import json
import re
from shlex import quote
from typing import Literal

Surface = Literal["cli", "python", "http", "json"]
"""`http` is the query of a request, `json` its body."""
_START, _VALUE, _END = "\ue000", "\ue001", "\ue002"
"""Characters for private use that delimit a mention; no message contains them otherwise."""
_MENTION = re.compile(f"{_START}([^{_START}{_VALUE}{_END}]*)(?:{_VALUE}([^{_START}{_VALUE}{_END}]*))?{_END}")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def option(name: str, value: object = None) -> str:
    """Return a mention of an option, or of an option with a value.

    The name may also be a mention, to which the value is added.

    >>> spell(f"{option('until')} is before {option('since')}", "cli")
    '--until is before --since'
    >>> spell(option("by", "agent,model"), "python"), spell(option("by", "agent,model"), "http")
    ("by='agent,model'", '?by=agent,model')
    >>> spell(option("reason", "TEXT"), "json")
    '"reason": "TEXT"'
    """
    name = name.strip(f"{_START}{_END}")
    return f"{_START}{name}{_END}" if value is None else f"{_START}{name}{_VALUE}{value}{_END}"


def spell(text: str, surface: Surface) -> str:
    """Return the text with every mention spelled as the surface's users type it.

    >>> spell(option("repair", False), "cli"), spell(option("repair", False), "python")
    ('--no-repair', 'repair=False')
    """
    if _START not in text:
        return text
    if surface != "cli":  # several options in a row are words of a command, but arguments of a call
        text = text.replace(f"{_END} {_START}", f"{_END}, {_START}")
    return _MENTION.sub(lambda mention: _SPELLINGS[surface](*mention.groups()), text)


def options_in(text: str) -> list[tuple[str, str]]:
    """Return the mentioned options that have a value.

    >>> options_in(f"{option('until', '2026-01-01')} is before {option('since')}")
    [('until', '2026-01-01')]
    """
    return [(name, value) for name, value in _MENTION.findall(text) if value]


def _on_command_line(name: str, value: str | None) -> str:
    flag = name.replace("_", "-")
    if value is None or value == "True":
        return f"--{flag}"
    return f"--no-{flag}" if value == "False" else f"--{flag} {value if _is_placeholder(value) else quote(value)}"


def _is_placeholder(value: str) -> bool:
    """Return whether a value is an example such as `agent=NAME,model=NAME`, which needs no quotes."""
    return re.fullmatch(r"[\w.,:=/+-]*", value) is not None


def _in_python(name: str, value: str | None) -> str:
    if value is None:
        return name
    return f"{name}={value}" if _NUMBER.fullmatch(value) or value in ("True", "False") else f"{name}={value!r}"


def _in_query(name: str, value: str | None) -> str:
    return name if value is None else f"?{name}={value}"


def _in_json(name: str, value: str | None) -> str:
    if value is None:
        return name
    plain = value if _NUMBER.fullmatch(value) else json.dumps(value, ensure_ascii=False)
    return f'"{name}": {value.lower() if value in ("True", "False") else plain}'


_SPELLINGS = {"cli": _on_command_line, "python": _in_python, "http": _in_query, "json": _in_json}
