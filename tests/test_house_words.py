"""User-visible text uses standard terms: no house phrase of tests/support/house_words.toml is in any of it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from house_words import (
    KINDS,
    ROOT,
    WORDS,
    Text,
    asset_texts,
    json_texts,
    matches,
    openapi_texts,
    page_texts,
    source_texts,
)

pytestmark = pytest.mark.checkout
GLOSSARY = ROOT / "docs" / "glossary.md"


def phrases(texts: object) -> list[str]:
    return [match.phrase.lower() for match in matches(texts)]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_house_words_are_absent(kind: str) -> None:
    found = list(map(str, matches(KINDS[kind]())))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("kind", KINDS)
def test_house_words_kind_has_texts(kind: str) -> None:
    assert any(text.text for text in KINDS[kind]())


@pytest.mark.parametrize("name", ["README.md", "docs/questions/better.md"])
def test_house_words_finds_planted_page(tmp_path: Path, name: str) -> None:
    page = tmp_path / name
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("# A page\n\nWhat the tools left\nbehind.\n")
    assert phrases(page_texts(tmp_path)) == ["left behind"]


@pytest.mark.parametrize(
    "line",
    [
        'raise ValueError("this line broke off")',
        'raise ValueError(f"line {line} broke off")',
        'Finding("code", "warning", f"{len(x)} runs", hint="it broke off")',
        'KEYS = {"broke_off": 1}',
        "f\"{name or 'broke off'}\"",
    ],
)
def test_house_words_finds_planted_message(tmp_path: Path, line: str) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "module.py").write_text(f'"""What broke off."""\n\n# what broke off\nx = 1\n{line}\n')
    assert phrases(source_texts(tmp_path)) == ["broke_off" if "KEYS" in line else "broke off"]


@pytest.mark.parametrize("name", ["page.js", "style.css", "profile.toml"])
def test_house_words_finds_planted_asset(tmp_path: Path, name: str) -> None:
    (tmp_path / "src").mkdir()
    comment = "# anew\n" if name.endswith(".toml") else "/* anew */\n"
    (tmp_path / "src" / name).write_text(f'{comment}title = "the shipped one"\n')
    assert phrases(asset_texts(tmp_path)) == ["shipped"]


def test_house_words_finds_planted_help(monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.cli import _app

    monkeypatch.setattr(_app, "HELP", "Whoever asks gets an answer.")
    assert "whoever" in phrases(KINDS["help"]())


def test_house_words_finds_planted_schema_key() -> None:
    document = json.dumps({"properties": {"to_be_sure": {"type": "number"}}})
    assert phrases(json_texts("steelyard schema run", document)) == ["to_be_sure"]


def test_house_words_finds_planted_openapi_name(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "openapi.json").write_text('{"components": {"schemas": {"BesideScore": {}}}}')
    assert phrases(openapi_texts(tmp_path)) == ["beside"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a pass rate of 48.3 % (95 % CI)", 2),
        ("a pass rate of 48.3% (95% CI)", 0),
        ("{} % of runs", 1),
        ("there is no metric " + "named 'x'", 1),
        ("at_least = 0.9, and at least two", 0),
        ("least_ratings = 3", 1),
        ("TOLD", 1),
        ("the refused connection", 0),
    ],
)
def test_house_words_patterns(text: str, count: int) -> None:
    assert len(phrases([Text("here", 1, text)])) == count


def test_house_words_differ_from_their_standard_terms() -> None:
    listed = tomllib.loads(WORDS.read_text("utf-8"))
    for phrase, standard in listed["phrases"].items():
        assert not phrases([Text("here", 1, standard)]) or phrase == "false finding", (phrase, standard)


def test_glossary_terms_are_unique() -> None:
    rows = [line.strip("| ").split(" | ") for line in GLOSSARY.read_text("utf-8").splitlines() if line.startswith("| ")]
    terms = [term for row in rows[1:] for term in row[0].split(", ")]
    assert len(terms) > 20
    assert len(terms) == len(set(terms))
