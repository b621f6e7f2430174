"""House phrases in user-visible text: the phrases, the texts of each kind, and the matches in them.

`python tests/support/house_words.py` lists every match, by file.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
WORDS = ROOT / "tests" / "support" / "house_words.toml"
SCHEMAS = ("run", "task", "submission", "mapping", "plan")
_COMMENTS = {
    ".js": r"(?m)(?<![:\w])//.*$|/\*(?:.|\n)*?\*/",
    ".css": r"/\*(?:.|\n)*?\*/",
    ".toml": r"(?m)^\s*#.*$",
}


class Text(NamedTuple):
    """One user-visible text and where it is."""

    place: str
    line: int
    text: str


class Match(NamedTuple):
    """One house phrase in a text."""

    place: str
    line: int
    phrase: str
    standard: str

    def __str__(self) -> str:
        return f"{self.place}:{self.line}: {self.phrase!r} -> {self.standard}"


@cache
def patterns() -> list[tuple[re.Pattern[str], str]]:
    """The expression for each phrase of the list, with the standard term."""
    listed = tomllib.loads(WORDS.read_text("utf-8"))
    found = []
    for phrase, standard in listed["phrases"].items():
        words = r"[\s_-]+".join(re.escape(word) for word in re.split(r"(?<=\w)[\s-]+(?=\w)", phrase))
        found.append((re.compile(rf"(?i)(?<![a-z0-9]){words}(?![a-z0-9])"), standard))
    return found + [(re.compile(pattern), standard) for pattern, standard in listed["patterns"].items()]


@cache
def _any_phrase() -> re.Pattern[str]:
    return re.compile("|".join(f"(?i:{pattern.pattern.replace('(?i)', '')})" for pattern, _ in patterns()))


def matches(texts: Iterable[Text]) -> Iterator[Match]:
    """Every house phrase in the texts. A name in camel case is read as words."""
    for place, line, text in texts:
        words = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", "_", text)
        if not _any_phrase().search(words):
            continue
        for pattern, standard in patterns():
            for match in pattern.finditer(words):
                yield Match(place, line + words.count("\n", 0, match.start()), " ".join(match[0].split()), standard)


def page_texts(root: Path = ROOT) -> Iterator[Text]:
    """README, the other pages of the root folder, and docs without the decision records."""
    for page in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        if page.parent.name != "decisions":
            yield Text(str(page.relative_to(root)), 1, page.read_text("utf-8"))


def source_texts(root: Path = ROOT) -> Iterator[Text]:
    """The strings of the package: all that are not docstrings. A value within a string reads as {}."""
    for module in sorted((root / "src").rglob("*.py")):
        tree = ast.parse(module.read_text("utf-8"))
        skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and id(node) not in skipped:
                skipped |= {id(part) for part in ast.walk(node) if isinstance(part, (ast.JoinedStr, ast.Constant))}
                for text in _joined(node):
                    yield Text(str(module.relative_to(root)), node.lineno, text)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                yield Text(str(module.relative_to(root)), node.lineno, node.value)


def _joined(node: ast.JoinedStr) -> Iterator[str]:
    """The text of an f-string, and the strings within its values."""
    parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
    yield "".join(str(part) for part in parts)
    for value in node.values:
        if isinstance(value, ast.FormattedValue):
            for inner in ast.walk(value.value):
                if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
                    yield inner.value


def asset_texts(root: Path = ROOT) -> Iterator[Text]:
    """What pages and built-in files of the package contain besides Python: scripts, styles, TOML, without comments."""
    for asset in sorted(path for path in (root / "src").rglob("*") if path.suffix in _COMMENTS):
        text = re.sub(_COMMENTS[asset.suffix], lambda match: "\n" * match[0].count("\n"), asset.read_text("utf-8"))
        yield Text(str(asset.relative_to(root)), 1, text)


def help_texts() -> Iterator[Text]:
    """The help of every command."""
    from command_cases import APPS
    from steelyard.cli import run

    for words in ["", *APPS]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            run([*words.split(), "--help"])
        yield Text(f"steelyard {words} --help".replace("  ", " "), 1, printed.getvalue())


def schema_texts() -> Iterator[Text]:
    """Every key and text of `steelyard schema`."""
    from steelyard.cli import run

    for name in SCHEMAS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert run(["schema", name]) == 0
        yield from json_texts(f"steelyard schema {name}", printed.getvalue())


def openapi_texts(root: Path = ROOT) -> Iterator[Text]:
    """Every key and text of docs/openapi.json."""
    yield from json_texts("docs/openapi.json", (root / "docs" / "openapi.json").read_text("utf-8"))


def json_texts(place: str, document: str) -> Iterator[Text]:
    """Every key and string of a JSON document."""

    def walk(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield key
                yield from walk(inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(inner)

    yield from (Text(place, 1, text) for text in dict.fromkeys(walk(json.loads(document))))


KINDS = {
    "pages": page_texts,
    "strings": source_texts,
    "assets": asset_texts,
    "help": help_texts,
    "schemas": schema_texts,
    "openapi": openapi_texts,
}
"""The kinds of user-visible text."""


if __name__ == "__main__":
    for kind, texts in KINDS.items():
        for match in matches(texts()):
            print(kind, match)
