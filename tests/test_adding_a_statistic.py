"""One entry in one file is all it takes to add a statistic of groups."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.statistics import STATISTICS

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent
HOME = "statistics/_group_statistics.py"
ENTRY = """Statistic(
            "planted_range",
            "The largest value less the smallest.",
            lambda groups: groups.largest - groups.smallest,
            between=False,
        ),
        """
METRIC = '''
from typing import Annotated, Any

from steelyard.metrics import Example, Input, metric

Range = Annotated[Any, Input(reduce="planted_range", of="cost_usd")]


@metric(
    level="group",
    title="Spread of costs",
    unit="USD",
    better="lower",
    bounds=(0, float("inf")),
    spec="outcome",
    formula="planted_range of cost_usd",
    example=Example({"spread": 3.0}, 3.0),
)
def cost_spread(*, spread: Range):
    """How far apart the cheapest and the dearest run are."""
    return spread
'''


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the one entry more."""
    copy = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "src" / "steelyard", copy / "steelyard", ignore=shutil.ignore_patterns("__pycache__"))
    home = copy / "steelyard" / HOME
    text = home.read_text(encoding="utf-8")
    home.write_text(text.replace('Statistic("sum"', ENTRY + 'Statistic("sum"'), encoding="utf-8")
    (copy / "runs.jsonl").write_text("".join(f'{{"task": "t{n}", "cost_usd": {n}}}\n' for n in (2, 4, 9)))
    (copy / "plug_ins").mkdir()
    (copy / "plug_ins" / "spread.py").write_text(METRIC)
    return copy


def run(changed: Path, *command: str) -> str:
    here = {"PYTHONPATH": str(changed), "STEELYARD_METRICS": str(changed / "plug_ins")}
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **here}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_shown_wherever_statistics_are(changed: Path) -> None:
    runs = str(changed / "runs.jsonl")
    metrics = json.loads(run(changed, "-m", "steelyard", "measure", runs, "--json"))["groups"][0]["metrics"]
    assert metrics["cost_usd"]["planted_range"] == 7.0  # 9 - 2
    before_sum = list(STATISTICS).index("sum")  # where the entry is put
    names = [*list(STATISTICS)[:before_sum], "planted_range", *list(STATISTICS)[before_sum:]]
    shown = [name for name in names if name == "planted_range" or STATISTICS[name].shown]
    assert list(metrics["cost_usd"]) == ["kind", *shown, "intervals", "lower_bounds", "reason"]
    rows = csv.DictReader(run(changed, "-m", "steelyard", "measure", runs, "--csv").splitlines())
    assert [row["planted_range"] for row in rows if row["metric"] == "cost_usd"] == ["7.0"]
    frame = f"import steelyard as sy; f = sy.measure({runs!r}).to_polars(); print(f.schema['planted_range'])"
    assert run(changed, "-c", frame) == "Float64\n"
    assert " planted_range" in run(changed, "-m", "steelyard", "explain", runs, "cost_usd", "--by", "agent", "--quiet")


def test_a_group_metric_may_name_it(changed: Path) -> None:
    runs = str(changed / "runs.jsonl")
    metrics = json.loads(run(changed, "-m", "steelyard", "measure", runs, "--json"))["groups"][0]["metrics"]
    assert metrics["cost_spread"]["value"] == 7.0


def test_the_documentation_lists_it(changed: Path) -> None:
    page = run(
        changed,
        "-c",
        "import runpy, sys; sys.path.append('docs'); print(runpy.run_path('docs/generate.py')['metrics_page']())",
    )
    assert "| `planted_range` | yes | yes | The largest value less the smallest. |" in page
