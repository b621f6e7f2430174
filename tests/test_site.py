"""The check of the built site finds what is broken; `make site` applies it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
SOUND = '<h1 id="top">A</h1><a href="#top">up</a><a href="b.html#there">b</a><a href="https://example.org">away</a>'


def check(site: Path, first: str = SOUND, style: str = "") -> tuple[int, str]:
    (site / "a.html").write_text(first)
    (site / "b.html").write_text('<p id="there">B</p>')
    (site / "a.css").write_text(style)
    command = [sys.executable, "scripts/check_site.py", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_a_sound_site_passes(tmp_path: Path) -> None:
    assert check(tmp_path) == (0, "2 pages: every link leads somewhere, nothing is loaded from elsewhere\n")


@pytest.mark.parametrize(
    ("first", "told"),
    [
        ('<a href="c.html">c</a>', "a.html: c.html is not there"),
        ('<a href="b.html#here">b</a>', "a.html: b.html#here has no such heading"),
        ('<img src="b.png">', "a.html: b.png is not there"),
        ('<script src="https://example.org/a.js"></script>', "a.html loads https://example.org/a.js"),
        ('<link rel="stylesheet" href="//example.org/a.css">', "a.html loads //example.org/a.css"),
    ],
)
def test_what_is_broken_or_loaded_from_elsewhere_is_named(tmp_path: Path, first: str, told: str) -> None:
    assert check(tmp_path, first) == (1, f"{told}\n")


@pytest.mark.parametrize(
    "style", ["@import 'https://example.org/a.css';", "p { background: url(http://example.org/a) }"]
)
def test_styles_load_nothing_from_elsewhere(tmp_path: Path, style: str) -> None:
    status, told = check(tmp_path, style=style)
    assert status == 1
    assert told.startswith("a.css loads http")


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    folder = ROOT / "docs"
    pages = [
        *folder.glob("*.md"),
        *folder.glob("*-*/*.md"),
        *folder.glob("questions/*.md"),
        *folder.glob("project/**/*.md"),
    ]
    linked_as = [page.relative_to(folder).as_posix() for page in pages] + [
        f"../{page.name}" for page in ROOT.glob("*.md")
    ]
    for linked in linked_as:
        assert linked == "index.md" or f"]({linked})" in index, f"docs/index.md does not link to {linked}"
