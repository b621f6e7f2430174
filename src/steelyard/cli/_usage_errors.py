"""Errors of the command-line parser as usage errors: what is wrong, and what to type instead."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Literal, get_args, get_origin

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from steelyard.errors import UsageError
from steelyard.suggestions import nearest

EXAMPLE = re.compile(r"Examples?:\s+(.+)")
_TYPE_NAMES = {"int": "an integer", "float": "a number"}


def usage_error(error: CycloptsError, tokens: Sequence[str]) -> UsageError:
    """Return the parser's error as ours. The hint is the closest name, an example or the help of the command."""
    help_ = " ".join(["steelyard", *(error.command_chain or ()), "--help"])
    if isinstance(error, UnknownOptionError):
        return _unknown_option(error, help_)
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        return _unknown_command(error, error.unused_tokens[0], help_)
    if isinstance(error, UnusedCliTokensError):
        if typed := _comma_list(error, tokens):
            return UsageError("names must be comma-separated", hint=typed)
        return UsageError(f"unexpected argument {(error.unused_tokens or [''])[0]!r}", hint=help_)
    if isinstance(error, ValidationError) and error.argument and error.argument.tokens:
        token = error.argument.tokens[0]
        name = token.keyword or error.argument.name
        return UsageError(f"{name} {error.exception_message} (got {token.value})", hint=help_)
    if isinstance(error, CoercionError) and error.token is not None:
        return _wrong_type(error, help_)
    if type(error) is MissingArgumentError and error.argument is not None:
        return _missing(error, tokens, help_)
    text = str(error).strip().rstrip(".")
    return UsageError(text[:1].lower() + text[1:], hint=help_)


def _unknown_option(error: UnknownOptionError, help_: str) -> UsageError:
    option = (error.token.keyword or error.token.value).partition("=")[0]
    known = {name.lstrip("-"): name for each in error.argument_collection if each.parse for name in each.names}
    close = nearest(option.lstrip("-"), known)
    hint = f"did you mean {known[close]!r}?" if close else _option_about(error) or help_
    return UsageError(f"unknown option {option!r}", hint=hint)


def _unknown_command(error: UnknownCommandError, name: str, help_: str) -> UsageError:
    close = nearest(name, [each for each in error.app or () if not each.startswith("-")])
    return UsageError(f"unknown command {name!r}", hint=f"did you mean {close!r}?" if close else help_)


def _wrong_type(error: CoercionError, help_: str) -> UsageError:
    assert error.token is not None
    name = error.token.keyword or (error.argument.name if error.argument else "value")
    if get_origin(error.target_type) is Literal:
        words = [str(word) for word in get_args(error.target_type)]
        close = nearest(error.token.value, words)
        hint = f"did you mean {close!r}?" if close else f"one of: {', '.join(words)}"
        return UsageError(f"unknown value {error.token.value!r} for {name}", hint=hint)
    kind = getattr(error.target_type, "__name__", "")
    if kind not in _TYPE_NAMES:
        text = str(error).strip().rstrip(".")
        return UsageError(text[:1].lower() + text[1:], hint=help_)
    return UsageError(f"{name} must be {_TYPE_NAMES[kind]} (got {error.token.value!r})", hint=help_)


def _missing(error: MissingArgumentError, tokens: Sequence[str], help_: str) -> UsageError:
    assert error.argument is not None
    name = error.argument.name
    if any(token.partition("=")[0] in error.argument.names for token in tokens):
        return UsageError(f"{name} requires a value", hint=help_)
    example = EXAMPLE.search(getattr(error.target, "__doc__", None) or "")
    kind = "option" if name.startswith("-") else "argument"
    return UsageError(f"missing {kind} {name}", hint=example[1] if example else help_)


def _comma_list(error: UnusedCliTokensError, tokens: Sequence[str]) -> str | None:
    """Return the option with its names comma-separated, if several names were typed as separate words."""
    unused = error.unused_tokens or []
    if not unused or error.app is None or any(os.path.exists(word) for word in unused):
        return None
    first = len(tokens) - list(reversed(tokens)).index(unused[0]) - 1
    name, _, value = tokens[first - 1].partition("=")
    if not value:
        name, value = tokens[first - 2], tokens[first - 1]
    lists = {each.name for each in error.app.assemble_argument_collection() if each.parameter.n_tokens == 1}
    return f"{name} {','.join([value, *unused])}" if name in lists else None


def _option_about(error: UnknownOptionError) -> str | None:
    """Return the only option whose help contains the unknown word, with that sentence: `--month` finds `--since`.

    If several options contain it, return the only one with a sentence that starts with it.
    """
    word = re.escape((error.token.keyword or error.token.value).lstrip("-").partition("=")[0])
    options = [each for each in error.argument_collection if each.name.startswith("--")] if word else []
    sentences = [(each.name, text) for each in options for text in (each.parameter.help or "").split(". ")]
    for pattern in (rf"(?i)\b{word}\b", rf"(?i)^(?:an? |the )?{word}\b"):
        sentences = [(name, text) for name, text in sentences if re.search(pattern, text)]
        if len({name for name, _ in sentences}) == 1:
            return f"{sentences[0][0]}: {sentences[0][1].partition(';')[0].rstrip('.')}"
    return None
