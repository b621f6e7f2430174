"""Every command and code block of the documentation runs as it stands there, and prints what the page shows."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import PAGES, ROOT, SHOWN, Block, Reader, blocks_of, matches
from steelyard.demo import demo_files

pytestmark = pytest.mark.checkout
NOT_RUN = 24
"""Blocks that are only shown. Raise it for what cannot run in a test, such as a paid endpoint, and for nothing else."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "demo"
    for name, content in demo_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def reader(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    for name in ("STEELYARD_METRICS", "STEELYARD_FORMATS", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    reader = Reader(Path(shutil.copytree(demo, tmp_path / "demo")))
    yield reader
    reader.leave()


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks_of(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_page_does_what_it_says(page: Path, reader: Reader) -> None:
    for block in blocks_of(page):
        reader.follow(block)


def test_readme_table_commands_run(reader: Reader) -> None:
    commands = re.findall(r"\| `(steelyard .+)` \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) == 13
    for command in commands:
        reader.type(command, ["..."], "README.md")


def test_what_is_not_run_is_counted() -> None:
    marked = [f"{block.place}: {block.said}" for page in PAGES for block in blocks_of(page) if block.word == "not run"]
    assert len(marked) == NOT_RUN, "\n".join(marked)


def test_a_block_that_another_test_runs_is_known_there() -> None:
    for page in PAGES:
        for block in blocks_of(page):
            if block.word == "run by":
                assert page.name in (ROOT / block.said).read_text(encoding="utf-8"), (
                    f"{block.place}: {block.said} knows no {page.name}"
                )


def test_no_command_hides_where_nothing_runs_it() -> None:
    for page in PAGES:
        for block in blocks_of(page):
            if block.language in SHOWN - {"bash"} and block.word is None:
                lines = [line for line in block.text.splitlines() if line.startswith(("$ ", "steelyard ", "pip "))]
                assert not lines, f"{block.place} shows {lines}"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("console", "$ steelyard metrics --no-such-option\n"),
        ("console", "$ steelyard prices\nsomething else\n"),
        ("python", "1 + 1  # 3\n"),
        ("toml", "a = = 1\n"),
        ("json", '{"a": }\n'),
        ("cobol", "ADD 1 TO X.\n"),
    ],
)
def test_a_block_that_is_wrong_fails(language: str, text: str, reader: Reader) -> None:
    with pytest.raises((AssertionError, ValueError)):
        reader.follow(Block("here:1", language, text, None, ""))


def test_an_ellipsis_stands_for_any_lines() -> None:
    assert matches(["a", "..."], ["a", "b", "c"])
    assert not matches(["...", "c"], ["a", "b"])
    assert matches(["one ... three"], ["one two three"])
    assert not matches(["one ... three"], ["one two four"])
