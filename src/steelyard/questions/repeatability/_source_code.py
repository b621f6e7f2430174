"""Source code: languages by name, code in a model's answer, Python trees and the tokens of other languages."""

from __future__ import annotations

import ast
import re
import threading
import warnings
from functools import cache
from importlib import metadata
from typing import Any, Literal

import msgspec

from steelyard.errors import MissingExtraError, UnknownNameError, UsageError

PYTHON = "python"

# Our name for a language: the names, fence labels and file endings that mean it. Python is read by its own parser, the
# others by tree-sitter grammars of the same name.
_LANGUAGES: dict[str, tuple[str, ...]] = {
    PYTHON: ("py", "python3", "pyi", "py3"),
    "javascript": ("js", "jsx", "mjs", "cjs", "node"),
    "typescript": ("ts", "mts", "cts"),
    "tsx": (),
    "java": (),
    "go": ("golang",),
    "rust": ("rs",),
    "c": ("h",),
    "cpp": ("c++", "cc", "cxx", "hpp", "hh"),
    "csharp": ("c#", "cs"),
    "ruby": ("rb",),
    "php": (),
    "bash": ("sh", "shell", "zsh"),
    "sql": (),
}
_NAMES = {alias: name for name, aliases in _LANGUAGES.items() for alias in (name, *aliases)}


def known_languages() -> tuple[str, ...]:
    """Every language that can be normalized by its syntax."""
    return tuple(_LANGUAGES)


def language_named(name: str) -> str:
    """Our name for a language; UnknownNameError with the nearest for one that is not known.

    >>> language_named("C++")
    'cpp'
    """
    language = language_of(name)
    if language is None:
        raise UnknownNameError("language", name, _NAMES)
    return language


def language_of(label: str) -> str | None:
    """Our name for a fence label or file ending; None when it names no language we know."""
    return _NAMES.get(label.strip().lower().lstrip("."))


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


EXTRACTION_VERSION = "extract-1"

Rule = Literal["labeled_fence", "bare_fence", "other_fence", "whole", "lines"]

_OPENING = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`{]*+)[^\n`]*+$")
"""Possessive, so linear: what one part takes the next could not take better."""
_BEGINS = re.compile(r"(def|class|import|from|async|if|for|while|with|try)\b|@\w|\w+\s*=")
_MAX_LINES = 400
"""Maximum lines of prose around unfenced code before the search for a run of lines stops."""
_MAX_PARSED_LINES = 400_000
"""Maximum lines parsed without success before the search stops (about two seconds)."""


class ExtractedCode(msgspec.Struct, frozen=True, kw_only=True):
    """Code taken from an answer."""

    code: str
    """The program's text."""
    rule: Rule
    """Which part of the rule chose it."""


def extract_code(answer: str, *, language: str | None = PYTHON) -> ExtractedCode:
    r"""Return the code in an answer.

    The rule, version extract-1, in this order:
    1. Fenced blocks (three or more backticks or tildes) with a label of the wanted language.
    2. Else fenced blocks without a label.
    3. Else all fenced blocks.
       Of several chosen blocks: for Python, all of them joined if that parses, otherwise the longest that parses; for
       other languages, and if none parses, the longest. Of equally long ones, the first.
    4. Else, for Python, the whole text if it parses; else the longest run of lines that parses and contains more than
       bare expressions; of equally long ones, the first.
    5. Else the whole text.
    A fence that is never closed ends with the text, as in a truncated answer.

    >>> extract_code("Sure:\n```python\nx = 1\n```\nDone.").code
    'x = 1'
    """
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    blocks = _fenced(text)
    kinds: tuple[tuple[Rule, list[str]], ...] = (
        ("labeled_fence", [body for label, body in blocks if label and language_of(label) == language]),
        ("bare_fence", [body for label, body in blocks if not label]),
        ("other_fence", [body for _, body in blocks]),
    )
    for rule, bodies in kinds:
        if bodies:
            return ExtractedCode(code=_choose(bodies, language), rule=rule)
    if language == PYTHON and parse_python(text) is None:
        code = _python_lines(text.split("\n"))
        if code is not None:
            return ExtractedCode(code=code, rule="lines")
    return ExtractedCode(code=answer, rule="whole")


def _fenced(text: str) -> list[tuple[str, str]]:
    """Label and content of each fenced block."""
    blocks: list[tuple[str, str]] = []
    fence, label, content = "", "", list[str]()
    for line in text.split("\n"):
        if not fence:
            opening = _OPENING.match(line)
            if opening:
                fence, label, content = opening[1], opening[2].lower(), []
        elif _closes(line, fence):
            blocks.append((label, "\n".join(content)))
            fence = ""
        else:
            content.append(line)
    if fence and any(line.strip() for line in content):
        blocks.append((label, "\n".join(content)))
    return blocks


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def _choose(bodies: list[str], language: str | None) -> str:
    if len(bodies) == 1:
        return bodies[0]
    if language == PYTHON:
        joined = "\n\n".join(bodies)
        if parse_python(joined) is not None:
            return joined
        bodies = [body for body in bodies if parse_python(body) is not None] or bodies
    return max(bodies, key=len)


def _python_lines(lines: list[str]) -> str | None:
    """The longest run of lines that is Python and more than words."""
    if len(lines) > _MAX_LINES:
        return None
    # Only a line that could begin or end a program is tried, so prose costs little.
    starts = [number for number, line in enumerate(lines) if _BEGINS.match(line)]
    ends = {number for number, line in enumerate(lines) if line.strip()}
    parsed = 0
    for length in sorted({end - start + 1 for start in starts for end in ends if end >= start}, reverse=True):
        for start in starts:
            if start + length - 1 in ends:
                run = "\n".join(lines[start : start + length])
                tree = parse_python(run)
                if tree is not None and not is_words(tree):
                    return run
                parsed += length
                if parsed > _MAX_PARSED_LINES:
                    return None
    return None
