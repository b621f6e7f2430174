"""Normalization: what two programs must agree on to count as the same. Each level has a versioned name."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Literal, get_args

import msgspec

from steelyard.errors import UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.questions.repeatability._scopes import rename_locals_in_order
from steelyard.questions.repeatability._source_code import (
    PYTHON,
    SEPARATOR,
    language_named,
    parse_python,
    token_stream,
    tokens_version,
    unparse_python,
)

Level = Literal["text", "ast", "tree", "names"]
LEVELS: tuple[Level, ...] = get_args(Level)

_INTERPRETER = f"cpython{sys.version_info.major}.{sys.version_info.minor}"


class NormalForm(msgspec.Struct, frozen=True, kw_only=True):
    """Source text in normal form."""

    text: str
    """What signatures and distances are made of."""
    version: str
    """Level, its version and what else it depends on; texts of two versions are never compared."""
    fell_back: str | None = None
    """Why the text level had to do instead; None when the level itself was used."""


def level_named(name: str) -> Level:
    """The level of that name; UnknownNameError with the nearest otherwise."""
    for level in LEVELS:
        if level == name:
            return level
    raise UnknownNameError("normalization level", name, LEVELS)


def default_level(language: str | None) -> Level:
    """`ast` for Python, `tree` for the other languages with a grammar, `text` for an unknown one."""
    if language is None:
        return "text"
    return "ast" if language_named(language) == PYTHON else "tree"


def normalization_version(level: Level, language: str | None = PYTHON) -> str:
    """The versioned name of a level. What unparse or a grammar writes depends on its release, which is part of it."""
    if level == "text":
        return "text-1"
    if level == "tree":
        return f"tree-1+{tokens_version(language_named(language or ''))}"
    return f"{level}-1+{_INTERPRETER}"


def normalize(code: str, *, level: Level = "ast", language: str | None = PYTHON) -> NormalForm:
    r"""The code in normal form; normalizing it again changes nothing.

    >>> normalize('def f( a ):\n  "Adds."\n  return a+1 # one more').text
    'def f(a):\n    return a + 1\n'
    """
    version = normalization_version(level, language)
    plain = _text(code)
    if level == "text":
        return NormalForm(text=plain, version=version)
    if level == "tree" and SEPARATOR in code:  # a token stream already, or a text no grammar was made for
        return NormalForm(text=code, version=version, fell_back=f"contains the separator U+{ord(SEPARATOR):04X}")
    normal_form = _FORMS[level]
    if level != "tree" and language is not None and language_named(language) != PYTHON:
        raise UsageError(
            f"the level {level!r} is for Python, but the language is {language}", hint=option("normalize", "tree")
        )
    # The plain text is the second try: taking off a fence or a blank after a backslash can make text parse.
    for candidate in (code, plain):
        normal = normal_form(candidate, language)
        if normal is not None:
            return NormalForm(text=f"{normal}\n" if normal else "", version=version)
    return NormalForm(text=plain, version=version, fell_back=f"does not parse as {language or 'code'}")


def _text(code: str) -> str:
    lines = [line.rstrip() for line in code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    first, last = 0, len(lines) - 1
    while True:  # a fence in a fence in a fence: each line is looked at once
        if first <= last:
            lines[first] = lines[first].lstrip("\ufeff").rstrip()
        while first <= last and not lines[first]:
            first += 1
        while first <= last and not lines[last]:
            last -= 1
        if first >= last or not _is_fenced(lines[first], lines[last]):
            return "\n".join([*lines[first : last + 1], ""]) if first <= last else ""
        first, last = first + 1, last - 1


def _is_fenced(first: str, last: str) -> bool:
    """Whether the lines open and close a block: the same sign thrice or more, alone in the last line."""
    opening, closing = first.lstrip(" \t")[:3], last.lstrip(" \t")
    return opening in ("```", "~~~") and closing.startswith(opening) and not closing.strip("`~")


def _ast(code: str, _language: str | None) -> str | None:
    tree = parse_python(code)
    if tree is None:
        return None
    drop_docstrings(tree)
    return unparse_python(tree)


def _names(code: str, _language: str | None) -> str | None:
    tree = parse_python(code)
    if tree is None:
        return None
    drop_docstrings(tree)
    rename_locals_in_order(tree)
    return unparse_python(tree)


def _tree(code: str, language: str | None) -> str | None:
    if language is None:
        raise UsageError("the level 'tree' needs a language", hint=f"say {option('language')}")
    return token_stream(code, language_named(language))


_FORMS: dict[str, Callable[[str, str | None], str | None]] = {"ast": _ast, "names": _names, "tree": _tree}


def drop_docstrings(tree: ast.Module) -> None:
    """Take out docstrings until none is left; an emptied body becomes `pass`."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            first = 0
            while first < len(node.body) and _is_text(node.body[first]):
                first += 1
            if first:
                node.body = node.body[first:] or [ast.Pass()]


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
