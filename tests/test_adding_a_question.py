"""One file is all it takes to add a question about runs or about an arena, and one line to add an option to one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent
VIEW = '''"""Count the submissions to each task."""

from __future__ import annotations

from typing import ClassVar

from steelyard import pages
from steelyard.arena import Arena, scored_views
from steelyard.questions._answer import Part, Rows
from steelyard.questions._question import Options, doc
from steelyard.questions._question import arena_question
from steelyard.questions.arena._common import ArenaAnswer


class TurnoutOptions(Options):
    """Options of `arena turnout`."""

    task: str | None = doc("Only this task.", default=None)


class TaskTurnout(Part, frozen=True, kw_only=True):
    """Submissions to a task."""

    task_id: str
    n: int


class Turnout(ArenaAnswer, frozen=True, kw_only=True):
    """Submissions per task."""

    rows: ClassVar[Rows] = Rows("tasks")

    tasks: tuple[TaskTurnout, ...]


@arena_question(TurnoutOptions, path="/turnout", examples=({"task": "fix-race"},))
def arena_turnout(arena: Arena, options: TurnoutOptions) -> Turnout:
    """Return the number of submissions to each task."""
    views = [(view.stored_task.task.id, len(view.rows)) for view, _ in scored_views(arena)]
    return Turnout(tasks=tuple(TaskTurnout(task_id=id_, n=n) for id_, n in views if options.task in (None, id_)))


def page(answer: Turnout) -> pages.Page:
    """Return one row per task."""
    columns = (
        pages.id_column("task_id", "task", "tasks", [each.task_id for each in answer.tasks]),
        pages.count_column("n", "submissions", [each.n for each in answer.tasks]),
    )
    table = pages.PageTable(caption="Submissions", columns=columns)
    return pages.Page(name="turnout", title="Turnout", answer=f"{len(answer.tasks)} tasks.", table=table)
'''
GUIDE = ROOT / "docs" / "project" / "guides" / "commands.md"
LINE = '    shade: Policy | None = doc("Shade of the answer.", default=None)\n'
SCRIPT = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import steelyard as sy
from arena_results import filled
from serving import serving
from steelyard.cli import run
from steelyard.questions import ArenaSource, RunsSource
from steelyard.server import ROUTES, openapi_document

arena = filled(Path(sys.argv[1]))
store = ["--store", f"sqlite:///{sys.argv[1]}/arena.db"]


def steelyard(*words):
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = run([*words])
    return status, out.getvalue() + err.getvalue()


def command(*words):
    return steelyard("arena", *words)


from steelyard.questions.attempts import attempts

runs = Path(sys.argv[1], "runs.jsonl")
runs.write_text('{"task": "a"}\\n{"task": "b"}\\n{"task": "a", "attempt": 2}\\n')
counted = {"schema_version": 1, "tasks": [{"task": "a", "runs": 2}], "findings": []}
assert attempts(runs, min_runs=2).to_dict() == counted
assert "Count the runs of each task." in steelyard("--help")[1]
assert "Only tasks with this many runs (default: 1)." in steelyard("attempts", "--help")[1]
assert json.loads(steelyard("attempts", str(runs), "--min-runs", "2", "--json")[1]) == counted
assert steelyard("attempts", str(runs), "--csv")[1] == "task,runs\\na,2\\nb,1\\n"
assert "/api/v1/attempts" in openapi_document(ROUTES)["paths"]
with serving(RunsSource([runs])) as served:
    assert served.api("/attempts?min_runs=2") == counted
    assert "Attempts" in served.ask("/attempts").body.decode()
    assert attempts(sy.connect(served.address), min_runs=2) == attempts(runs, min_runs=2)
sys.path.insert(0, sys.argv[2])
import generate

line = "from .questions.attempts import AttemptsOptions as AttemptsOptions, attempts as attempts"
assert line in generate.stub_page().splitlines()

local = arena.turnout()
shape = {"schema_version": 1, "tasks": [{"task_id": "fix-race", "n": 6}]}
assert local.to_dict() == shape
assert arena.turnout(task="add-login").tasks == ()
assert "Count the submissions to each task." in command("--help")[1]
assert "--task NAME" in command("turnout", "--help")[1]
assert json.loads(command("turnout", "--json", *store)[1]) == shape
assert command("turnout", "--csv", *store)[1] == "task_id,n\\nfix-race,6\\n"
assert "/api/v1/turnout" in openapi_document(ROUTES)["paths"]

assert "Shade of the answer" in command("leaderboard", "--help")[1]
assert "Shade of the answer" in command("bias", "--help")[1]
assert command("bias", "--shade", "current", *store)[0] == 0
assert "unknown value 'grey' for --shade" in command("bias", "--shade", "grey", *store)[1]
assert command("leaderboard", "fix-race", "--shade", "current", *store)[0] == 0
parameters = openapi_document(ROUTES)["paths"]["/api/v1/tasks/{task}/leaderboard"]["get"]["parameters"]
assert "shade" in {each["name"] for each in parameters}
with serving(ArenaSource(arena)) as served:
    assert served.api("/turnout") == shape
    assert "fix-race" in served.ask("/turnout").body.decode()
    remote = sy.connect(served.address)
    assert remote.turnout() == local
    assert remote.bias(shade="current") == arena.bias()
print("works")
"""


def test_questions_in_one_file_and_an_option_in_one_line_work(tmp_path: Path) -> None:
    copy = tmp_path / "src"
    shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
    views = copy / "steelyard" / "questions" / "arena"
    (views / "turnout.py").write_text(VIEW, "utf-8")
    question = GUIDE.read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    (views.parent / "attempts.py").write_text(question, "utf-8")
    file = views / "_rankings.py"
    source = file.read_text("utf-8")
    after = source.index('"""\n\n', source.index("class PolicyOptions(")) + len('"""\n\n')
    file.write_text(source[:after] + LINE + source[after:], "utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{copy}{os.pathsep}{ROOT / 'tests' / 'support'}", "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path), str(ROOT / "docs")],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.stdout == "works\n", done.stderr
