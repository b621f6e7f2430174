"""Python source to syntax trees and back, without surprises."""

from __future__ import annotations

import ast
import threading
import warnings

MAX_CHARS = 2_000_000
"""A longer text is not parsed: the parser takes memory of many times its size."""

_one_at_a_time = threading.Lock()  # catch_warnings swaps a global


def parse_python(code: str) -> ast.Module | None:
    """The syntax tree; None for text that is not Python, or is too long or too deep to parse."""
    if len(code) > MAX_CHARS:
        return None
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # odd escapes in a model's strings are not our caller's concern
        try:
            return ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def is_words(tree: ast.Module) -> bool:
    """Whether it has no statement but bare expressions, which prose may be too."""
    return all(isinstance(statement, ast.Expr) for statement in tree.body)


def unparse_python(tree: ast.AST) -> str | None:
    """The tree as text; None for one that cannot be written: an f-string that needs a backslash, too deep a nesting."""
    try:
        return ast.unparse(tree)
    except (ValueError, RecursionError):
        return None
