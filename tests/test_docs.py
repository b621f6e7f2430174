"""The documentation tells the truth: generated tables are current, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from commands import steelyard
from steelyard.sources import each_timing_format

pytestmark = pytest.mark.checkout

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


def test_readme_shows_the_sentence_of_compare(tmp_path: Path) -> None:
    assert steelyard("demo", "--write", str(tmp_path / "demo")).status == 0
    printed = steelyard("compare", str(tmp_path / "demo" / "runs.jsonl"), "-a", "tier=T4", "-b", "tier=T5").stdout
    block = (ROOT / "README.md").read_text(encoding="utf-8").split("```text\n")[1].partition("```")[0]
    assert " ".join(block.split()) == printed.splitlines()[0]


def test_only_timings_that_are_read_are_promised() -> None:
    page = (ROOT / "docs" / "questions" / "faster.md").read_text(encoding="utf-8")
    (promised,) = re.findall(r"Supported sources are (.+)\s+and plain tables", page)
    titles = " ".join(declared.title.lower() for declared in each_timing_format())
    assert [tool for tool in promised.split(", ") if tool.lower() not in titles] == []
