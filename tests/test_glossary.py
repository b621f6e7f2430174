"""The same thing has the same name everywhere: what the glossary advises against stands in no page, help or message."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from pages import PAGES, ROOT

pytestmark = pytest.mark.checkout
GLOSSARY = ROOT / "docs" / "glossary.md"
ROWS = [line.strip("| ").split(" | ") for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")][1:]
AVOIDED = {word: row[0] for row in ROWS if len(row) == 3 for word in row[2].rstrip(" |").split(", ") if word}
OLD_WORDS = {"glossary.md", "CHANGELOG.md", "upgrading.md"}
"""Pages that name words of the past."""


def texts() -> Iterator[tuple[str, str]]:
    """Every page without its code blocks, and every text of the package: messages, help, docstrings."""
    for page in PAGES:
        if page.name not in OLD_WORDS:
            yield str(page.relative_to(ROOT)), re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    for module in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{module.relative_to(ROOT)}:{node.lineno}", node.value


def test_no_text_uses_a_word_that_the_glossary_advises_against() -> None:
    assert len(AVOIDED) > 15
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, AVOIDED))})\b", re.IGNORECASE)
    found = [
        f"{place} says {match[0]!r}: the glossary has {AVOIDED.get(match[0].lower(), '')!r}"
        for place, text in texts()
        for match in pattern.finditer(" ".join(text.split()))
    ]
    assert not found, "\n".join(found)


def test_terms_stand_once() -> None:
    terms = [term for row in ROWS for term in row[0].split(", ")]
    assert len(terms) == len(set(terms))
