"""Command line of a call, shown on pages so that results can be reproduced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote
from typing import Any

from steelyard.questions._declaration import Options


def command_of(command: str, inputs: Sequence[str], options: Options) -> str:
    """Return the command line of a command with these options, without defaults."""
    asked = {option.name: value for option, value in options.chosen()}
    return command_text([command], inputs, asked)


def command_text(command: Sequence[str], inputs: Sequence[str], options: Mapping[str, Any]) -> str:  # Any: their values
    """The command line of a command, its inputs and its options by name."""
    words = ["steelyard", *map(quote, command), *map(quote, inputs)]
    for option, value in options.items():
        name = option.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        else:
            words += [word for text in option_texts(value) for word in (f"--{name}", quote(text))]
    return " ".join(words)


def option_texts(value: Any, *, is_repeated: bool = False) -> list[str]:  # Any: an option's value
    """Return the option's arguments: names are comma-separated, run filters and texts repeat the option."""
    if is_repeated and not isinstance(value, str):
        return list(value)
    if isinstance(value, Mapping):
        return [",".join(f"{key}={text}" for key, text in value.items())]
    if isinstance(value, (list, tuple)):
        if any(isinstance(each, Mapping) or "=" in each for each in value):
            return [text for each in value for text in option_texts(each)]
        return [",".join(value)]
    return [str(getattr(value, "name", value))]
