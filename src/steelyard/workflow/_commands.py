"""A call as it is typed: what a page tells so that its numbers can be had again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from shlex import quote
from typing import Any


def command_of(verb: str, inputs: Sequence[str], options: Any) -> str:  # Any: the options of any verb
    """The command line of a verb with these options; those that stand at their defaults are left out."""
    words = ["steelyard", verb, *(quote(name) for name in inputs)]
    for option in fields(options):
        value = getattr(options, option.name)
        if option.default is not MISSING and value == option.default:
            continue
        name = option.name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        else:
            words += [word for text in _texts(value) for word in (f"--{name}", quote(text))]
    return " ".join(words)


def _texts(value: Any) -> list[str]:  # Any: an option's value
    """The texts that the option is typed with; names stand in one, several choices of runs repeat it."""
    if isinstance(value, Mapping):
        return [",".join(f"{key}={text}" for key, text in value.items())]
    if isinstance(value, (list, tuple)):
        if any(isinstance(each, Mapping) or "=" in each for each in value):
            return [text for each in value for text in _texts(each)]
        return [",".join(value)]
    return [str(getattr(value, "name", value))]
