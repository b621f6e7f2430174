"""The documentation tells the truth: generated tables are current, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import steelyard

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_generated_pages_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_shows_what_the_demonstration_prints() -> None:
    printed = [line.rstrip() for line in steelyard("demo").stdout.splitlines()]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = next(part for part in text.split("```") if "1,400 runs" in part).strip("\n").splitlines()
    assert len(block) > 8
    for line in block:
        assert line in printed


def test_the_page_about_reading_shows_what_read_prints() -> None:
    text = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    command, *shown = next(part for part in text.split("```") if part.startswith("console")).splitlines()[1:]
    paths = [word for word in command.split() if "/" in word]
    printed = steelyard("read", *paths, cwd=ROOT).stdout
    assert [line.rstrip() for line in printed.splitlines()] == shown


def test_the_page_about_python_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "python.md"
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own page
    assert "unknown column 'cost'" in capsys.readouterr().out
    assert {file.name for file in tmp_path.iterdir()} >= {"board.svg", "board.html", "arena.db"}
