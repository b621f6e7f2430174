"""A figure of one's own for every attempt: one file, nothing else touched."""

from __future__ import annotations

import json
from pathlib import Path

from commands import steelyard

ASV = Path(__file__).parent.parent / "samples" / "speedup" / "asv"
ONE_TASK = (f"--nop={ASV / 'nop.json'}", f"--oracle={ASV / 'oracle.json'}", f"--agent=tool:m={ASV / 'agent.json'}")
FILE = '''
from steelyard.metrics import Example, Required, metric, missing


@metric(
    level="task",
    title="Best speedup",
    unit="ratio",
    better="higher",
    bounds=(0, float("inf")),
    spec="speedup",
    formula="largest agent_speedup",
    example=Example({"INPUT": (2.0, 8.0, 0.5)}, 8.0),
)
def best_speedup(*, INPUT: Required):
    """The benchmark that fared best."""
    return max(INPUT) if INPUT else missing("no benchmark is valid")
'''


def test_a_metric_of_tasks_in_a_folder_is_listed_and_stands_in_the_answer(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(FILE.replace("INPUT", "agent_speedups"))
    here = {"STEELYARD_METRICS": str(tmp_path)}
    assert "best_speedup" in steelyard("metrics", "--json", **here).stdout
    found = json.loads(steelyard("speedup", *ONE_TASK, "--json", **here).stdout)
    speedups = [each["agent/nop"] for each in found["attempts"][0]["per_benchmark_speedups"].values()]
    assert found["attempts"][0]["measures"]["best_speedup"] == max(each for each in speedups if each is not None)
    without = json.loads(steelyard("speedup", *ONE_TASK, "--json").stdout)
    found["attempts"][0]["measures"].pop("best_speedup")
    assert found == without


def test_an_input_that_no_task_has_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text(FILE.replace("INPUT", "agent_speedup_list"))
    done = steelyard("speedup", *ONE_TASK, STEELYARD_METRICS=str(tmp_path))
    assert done.status == 2
    assert "'agent_speedup_list'" in done.stderr
    assert "did you mean 'agent_speedups'?" in done.stderr
