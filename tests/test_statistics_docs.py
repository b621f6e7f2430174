"""The pages on statistics show what the commands print and what GitHub accepts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from commands import steelyard
from steelyard.questions.analysis import METHODS

pytestmark = pytest.mark.checkout

DOCS = Path(__file__).parent.parent / "docs"


def test_the_page_shows_what_compare_prints(tmp_path: Path) -> None:
    page = (DOCS / "statistics.md").read_text(encoding="utf-8")
    block = next(part for part in page.split("```") if "steelyard compare runs.jsonl -a tier=T0" in part)
    steelyard("demo", "--write", "runs.jsonl", cwd=tmp_path)
    command = re.search(r"\$ steelyard (compare .*)", block)
    assert command is not None
    printed = " ".join(steelyard(*command[1].split(), cwd=tmp_path).stdout.split())  # the page breaks long lines
    shown = [line for line in block.splitlines() if line and not line.startswith(("$", "console", "..."))]
    assert len(shown) >= 2
    for line in shown:
        assert " ".join(line.split()) in printed


def test_every_method_stands_on_the_page() -> None:
    page = (DOCS / "statistics.md").read_text(encoding="utf-8")
    assert not [name for name in METHODS if name != "none" and f"`{name}`" not in page]


def test_the_worked_example_calls_the_gate_as_it_is(tmp_path: Path) -> None:
    page = (DOCS / "gate.md").read_text(encoding="utf-8")
    block = next(part for part in page.split("```yaml")[1:] if "jobs:" in part)
    workflow = yaml.safe_load(block.split("```")[0])
    given = next(step["with"] for step in workflow["jobs"]["gate"]["steps"] if "steelyard" in step.get("uses", ""))
    rules = given["rules"].splitlines()
    assert len(rules) == 2
    steelyard("demo", "--write", "new.jsonl", cwd=tmp_path)
    asked = [part for rule in rules for part in ("--rule", rule)]
    done = steelyard("gate", "new.jsonl", "--baseline", "new.jsonl", *asked, "--summary", "out.md", cwd=tmp_path)
    assert done.status in (0, 4)
    assert "Steelyard gate" in (tmp_path / "out.md").read_text(encoding="utf-8")
