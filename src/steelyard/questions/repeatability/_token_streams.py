"""The comment-free token stream of a program, by its language's tree-sitter grammar."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

from steelyard.errors import MissingExtraError, UsageError

# Nodes whose whole text is one token: blanks inside a string belong to it.
_ATOMS = ("string", "char", "regex", "heredoc", "template")
_NESTED = ("template_substitution", "interpolation")
MAX_BYTES = 4_000_000
SEPARATOR = "\u241f"
"""Separator of tokens: it occurs in no grammar, so a token stream is never mistaken for a program."""


def tokens_version(language: str) -> str:
    """The grammar's language and the release of the pack it came from, which decide what a token is."""
    _pack()
    return f"{language}+tree-sitter-language-pack{metadata.version('tree-sitter-language-pack')}"


def _pack() -> Any:  # Any: the library has no type information
    try:
        import tree_sitter_language_pack  # an optional extra
    except ImportError as error:
        raise MissingExtraError(
            "tree-sitter", extra="languages", purpose="syntax-based normalization of languages other than Python"
        ) from error
    return tree_sitter_language_pack


@cache
def _parser(language: str) -> Any:  # Any: as above
    try:
        return _pack().get_parser(language)
    except (LookupError, OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"the language pack has no grammar for {language}: {error}") from error


def token_stream(code: str, language: str) -> str | None:
    """The tokens, comments left out; None when the grammar finds an error in the code."""
    source = code.encode("utf-8", errors="surrogatepass")
    if len(source) > MAX_BYTES:
        return None
    tree = _parser(language).parse(source)
    root = tree.root_node
    if root.has_error:
        return None
    tokens: list[str] = []
    waiting = [(root, False)]
    while waiting:
        node, in_text = waiting.pop()
        if "comment" in node.type:
            continue
        if node.child_count == 0 or _is_atom(node):
            token = source[node.start_byte : node.end_byte].decode("utf-8", errors="surrogatepass")
            # Blanks between tokens mean nothing (some grammars make line ends tokens); inside a text they do.
            if token if in_text else token.strip():
                tokens.append(token)
        else:
            inside = any(word in node.type for word in _ATOMS)
            waiting += [(child, inside) for child in reversed(node.children)]
    return SEPARATOR.join(tokens)


def _is_atom(node: Any) -> bool:  # Any: as above
    return any(word in node.type for word in _ATOMS) and not any(child.type in _NESTED for child in node.children)


def node_types(code: str, language: str) -> set[str]:
    """The types of all nodes of the program's syntax tree."""
    tree = _parser(language).parse(code.encode("utf-8", errors="surrogatepass"))
    types: set[str] = set()
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        types.add(node.type)
        waiting += node.children
    return types
