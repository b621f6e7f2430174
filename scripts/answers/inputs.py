"""Input files of the cases, made from fixed rules: no clock and no chance."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Json = Any  # Any: JSON values
MODELS = ("claude-sonnet-4-20250514", "gpt-4o", "gemini-2.5-pro", "no-such-model")
AGENTS = ("ant", "bee", "cat", "dog")
DAY = "2026-{month:02}-{day:02}T{hour:02}:00:00Z"


def lines(records: Iterable[Json]) -> str:
    """JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def shared_out(number: int, places: int) -> int:
    """A number below `places` that looks drawn and is not: Knuth's multiplicative hash."""
    return (number * 2_654_435_761 >> 7) % places


def many_runs() -> str:
    """Runs of four agents at 24 tasks, twice each: judged, tested, priced, failed and unscored ones among them."""
    records = []
    for number in range(len(AGENTS) * 24 * 2):
        agent, task, attempt = number % 4, number // 4 % 24, number // 96
        chance = shared_out(number, 100)
        skill = 40 + 12 * agent + task % 7 * 4
        record: Json = {
            "id": f"run-{number:03}",
            "experiment": "made" if task % 2 else "other",
            "task": f"task-{task:02}",
            "agent": AGENTS[agent],
            "model": MODELS[agent],
            "tier": f"T{agent}",
            "attempt": attempt + 1,
            "started_at": DAY.format(month=1 + task % 6, day=1 + task, hour=attempt),
            "ended_at": DAY.format(month=1 + task % 6, day=1 + task, hour=attempt + 1 + chance % 3),
            "passed": chance < skill,
            "judgments": judgments(chance / 100, number),
            "usage": {
                "input_tokens": 900 + 37 * chance,
                "output_tokens": 80 + 11 * task,
                "cache_read_tokens": 64 * agent,
            },
            "tool_calls": 3 + chance % 17,
            "iterations": 1 + chance % 5,
            "x_team": "red" if agent % 2 else "blue",
        }
        records.append(record | parts_of(chance, task))
    return lines(records)


def judgments(score: float, number: int) -> Json:
    """Three judges, one strict, one who forgets a run now and then, one whose sum is not that of its criteria."""
    strict = max(0.0, round(score - 0.15, 2))
    criteria = [
        {"name": "correct", "weight": 2.0, "achieved": round(10 * score, 2), "max": 10.0},
        {"name": "clear", "weight": 1.0, "achieved": 5.0, "max": 10.0},
    ]
    told = [
        {"judge": "ada", "weighted_score": score, "passed": score >= 0.5, "cost_usd": 0.002},
        {"judge": "bob", "weighted_score": strict, "passed": strict >= 0.6},
        {"judge": "cyd", "weighted_score": round((20 * score + 5) / 30, 4), "criteria": criteria},
    ]
    return told if number % 9 else told[:2]


def parts_of(chance: int, task: int) -> Json:
    """Parts that only some runs have."""
    parts: Json = {}
    if chance % 3 == 0:
        parts["cost_usd"] = round(0.01 + chance / 500, 4)
    if chance % 5 == 0:
        parts["tests"] = {"passed": 3 + task, "failed": chance % 2, "errors": 0}
    if chance % 7 == 0:
        steps = [{"id": "a"}, {"id": "b", "weight": 2.0}]
        parts["steps"] = {"expected": steps, "achieved": ["a", "b"][: 1 + chance % 2]}
        parts["actions"] = [{"goal_alignment": 0.5}, {"weight": 2.0, "goal_alignment": chance / 100}]
        parts["changes"] = [{"id": "c", "failed": True, "reverted": False}, {"id": "d", "reverted": chance % 2 == 0}]
    if chance % 11 == 0:
        parts["components"] = [
            {"type": "SKILL_PROMPT", "input_tokens": 100 + chance, "output_tokens": 10},
            {"type": "TOOL_SCHEMA", "input_tokens": 40, "output_tokens": 0},
        ]
    if chance % 13 == 0:
        parts |= {"passed": None, "outcome": "errored", "failure": {"cause": "infrastructure", "message": "no network"}}
    return parts


def bad_runs() -> str:
    """Good records between ones that are refused or doubted, each for another reason."""
    good = {"task": "t", "agent": "ant", "passed": True, "impl_rate": 0.5, "cost_usd": 0.1}
    records: list[Json] = [
        {"id": "a", **good},
        {"id": "a", **good},
        {"id": "a", **good, "passed": False},
        {"id": "b", **good, "pased": True},
        {"id": "c", **good, "impl_rate": 2},
        {"id": "d", "agent": "ant"},
        {"id": "e", **good, "tests": {"passed": ["x"], "failed": ["x", "y"]}},
        {"id": "f", **good, "outcome": "failed"},
        {"id": "g", **good, "judgments": [{"judge": "j", "weighted_score": 0.1, "passed": False}]},
        {"id": "h", **good, "attempt": 0, "usage": {"input_tokens": 5, "output_tokens": 1}, "model": "gpt-4o"},
        {"id": "i", **good, "model": "gpt-4o", "calls": [{"usage": {"input_tokens": 9, "output_tokens": 9}}]},
        {"id": "j", **good, "started_at": "2026-01-02T00:00:00Z", "ended_at": "2026-01-01T00:00:00Z"},
        {"id": "k", **good, "outcome": "errored"},
        good,
        good,
    ]
    return lines(records) + '{"task": "cut'


def submissions() -> str:
    """Submissions to two tasks: ties, unknown times and costs, doubtful ones, every tool in both tasks."""
    records = []
    for number in range(28):
        chance = shared_out(number, 1000)
        record: Json = {
            "id": f"sub-{number:02}",
            "task_id": ("fix-race", "add-login")[number // 4 % 2],
            "total_tokens": 2_000 + 97 * chance if number % 10 else 40,
            "tool_calls": 2 + chance % 60,
            "agent": AGENTS[number % 4],
            "model": ("large", "small")[number % 3 == 0],
            "submitter": ("ada", "bob", "cyd")[number % 3],
            "submitted_at": DAY.format(month=10, day=1 + number, hour=number % 24),
        }
        if number % 5:
            record |= {"iterations": 1 + chance % 6, "execution_time": 3.5 + chance / 2}
        if number % 6:
            record |= {"estimated_cost": round(0.01 + chance / 4000, 4), "success": number % 7 != 0}
        if number % 4 == 0:
            record["files_created"] = ["queue.py"]
        records.append(record)
    tied = dict(records[5], id="tied", submitted_at=DAY.format(month=10, day=30, hour=1))
    return lines([*records, tied])


BAD_SUBMISSIONS = lines(
    [
        {
            "id": "good",
            "task_id": "fix-race",
            "total_tokens": 5000,
            "tool_calls": 4,
            "submitted_at": "2026-10-01T00:00:00Z",
        },
        {"id": "good", "task_id": "fix-race", "total_tokens": 5000.0, "tool_calls": 4, "submitted_at": "2026-10-01"},
        {"id": "good", "task_id": "fix-race", "total_tokens": 6000, "tool_calls": 4},
        {"id": "nowhere", "task_id": "fix-rice", "total_tokens": 5000, "tool_calls": 4},
        {"id": "less", "task_id": "fix-race", "tool_calls": 4},
        {"id": "word", "task_id": "fix-race", "total_tokens": "many", "tool_calls": 4},
        {"id": "negative", "task_id": "fix-race", "total_tokens": -1, "tool_calls": 4},
        {"id": "unknown", "task_id": "fix-race", "total_tokens": 1, "tool_calls": 4, "agnt": "ant"},
    ]
)

CHECKED_TASKS = """
[[tasks]]
id = "add"
difficulty = "beginner"
tools = ["ant", "bee"]
[tasks.weights]
efficiency = 0.1
speed = 0.1
cost = 0.1
correctness = 0.7
[tasks.baseline]
max_tokens = 50000
[[tasks.success_criteria]]
type = "tests_pass"
tests = "hidden"
[[tasks.success_criteria]]
type = "code_compiles"
[[tasks.success_criteria]]
type = "command"
command = ["python", "-I", "check.py"]
files = "checker"
[[tasks.success_criteria]]
type = "judge"
threshold = 0.6
"""
_ADD_TEST = """
import unittest
from add import add

class Adds(unittest.TestCase):
    def test_two(self):
        self.assertEqual(add(1, 2), 3)
"""
CHECKED: dict[str, str] = {
    "tasks.toml": CHECKED_TASKS,
    "hidden/test_add.py": _ADD_TEST,
    "checker/check.py": "import sys\nsys.exit('return' not in open('add.py').read())\n",
    "made/good/add.py": "def add(a, b):\n    return a + b\n",
    "made/bad/add.py": "def add(a, b):\n    return a - b\n",
    "made/broken/add.py": "def add(a, b:\n",
    "submissions.jsonl": lines(
        {
            "id": name,
            "task_id": "add",
            "total_tokens": 4000 + 10 * len(name),
            "tool_calls": 5,
            "agent": agent,
            "artifacts": f"made/{name}",
            "judgments": [{"judge": "ada", "weighted_score": 0.7}],
            "submitted_at": "2026-10-01T00:00:00Z",
        }
        for name, agent in (("good", "ant"), ("bad", "bee"), ("broken", "ant"), ("absent", "bee"), ("good", "eel"))
    ),
}
BAD_TASKS = """
[[tasks]]
id = "fine"
category = "gardening"
[[tasks]]
id = "odd"
[[tasks.success_criteria]]
type = "file_exist"
[[tasks]]
id = "fix-race"
title = "another one of this id"
[[tasks]]
id = "heavy"
[tasks.weights]
efficiency = 0.9
speed = 0.9
"""
TASK_MAP = '"parse-csv" = "fix-race"\n"fix-race" = "add-login"\n'
TARGETS = """
[[targets]]
name = "ci"
url = "http://127.0.0.1:{port}/hook"
secret_env = "HOOK_SECRET"
"""
DEAD_TARGETS = TARGETS.replace("{port}", "9")

OUTCOME_PROFILE = """
name = "mine"
extends = "outcome-1"
title = "Passing counts for more"
expected_runs = 2
base_tier = "T1"

[constants]
pass_weight = 0.7
impl_weight = 0.3

[findings]
judge_pass_threshold = 0.4
"""
ARENA_PROFILE = """
name = "mine"
extends = "arena-1"
title = "Speed counts for more"

[constants]
efficiency_weight = 0.15
speed_weight = 0.45
"""
REPEAT_PROFILE = 'name = "mine"\nextends = "repeatability-1"\ntitle = "Near is near enough"\n[constants]\ntau = 0.3\n'
SPEEDUP_PROFILE = """
name = "mine"
extends = "speedup-1"
title = "Broken benchmarks count"
[constants]
agent_only_failures = "worst"
verdict = "asv"
noisy_factor = 1.01
"""
PRICES = """
format = 1
version = "contract of 2026-11"
extends = "maintained"

[models."gpt-4o"]
usd_per_million = { input = 2.00, output = 8.00, cache_read = 1.00 }

[models."no-such-model"]
aliases = ["house-coder"]
[[models."no-such-model".prices]]
usd_per_million = { input = 0.30, output = 1.20, cache_read = 0.1 }
[[models."no-such-model".prices]]
above_input_tokens = 3_000
usd_per_million = { input = 0.60, output = 2.40, cache_read = 0.2 }
"""

_IN_PROSE = """Sure:

```python
def clamp(x, lo, hi):
    # keep it
    return max(lo, min(x, hi))
```
"""
_BY_STEPS = """def clamp(value, low, high):
    while value < low:
        value += 1
    return value
"""
CLAMPS = {
    "clamp/output_1.py": "def clamp(value, low, high):\n    return max(low, min(value, high))\n",
    "clamp/output_2.md": _IN_PROSE,
    "clamp/output_10.txt": _BY_STEPS,
    "clamp/output_11.py": "def clamp(value, low, high:\n",
    "clamp/left-out.bin": "?",
}
_SCRIPTS = ("const a = 1; // one\nconsole.log(a)", "const a  =  1;\nconsole.log( a )", "let b = 1;\nconsole.log(b)")
SCRIPTS = lines(
    {
        "id": f"js-{at}",
        "task": "print",
        "agent": "ant",
        "model": "m",
        "output": {"language": "javascript", "text": text},
    }
    for at, text in enumerate(_SCRIPTS)
)


def timings(*, factor: float, broken: str = "") -> Json:
    """A run record with benchmarks, each measured eight times; a broken one has no time."""
    names = ("mod.Suite.time_a(1)", "mod.Suite.time_a(2)", "mod.time_b", "other.time_c", "other.Deep.time_d")
    benchmarks = []
    for number, name in enumerate(names):
        base = 0.001 * (number + 1) / (factor ** (1 + number % 3))
        samples = [base * (1 + shared_out(17 * number + at, 40) / 1000) for at in range(8)]
        if name != broken:
            benchmarks.append({"name": name, "samples": samples})
    return {"task": "t", "agent": "a", "model": "m", "cost_usd": 0.25, "iterations": 7, "benchmarks": benchmarks}


def task_folder() -> dict[str, str]:
    """Two tasks, two agents, one of which tries the first task twice and breaks a benchmark."""
    files: dict[str, str] = {}
    for task, gain in (("first", 1.2), ("second", 1.5)):
        sides = {
            "nop": timings(factor=1.0),
            "nop-again": timings(factor=1.002),
            "oracle": timings(factor=gain),
            "agents/ant/m": timings(factor=gain - 0.1),
            "agents/bee/m/large": timings(factor=0.97, broken="mod.time_b"),
        }
        files |= {f"tasks/{task}/{name}.json": json.dumps(side) for name, side in sides.items()}
    again = timings(factor=1.4)
    files["tasks/first/agents/ant/m#2.json"] = json.dumps(again)
    files["tasks/first/tests.json"] = json.dumps(
        {
            "ant:m": {"passed": 3, "failed": 0, "errors": 0},
            "ant:m#2": {"passed": 2, "failed": 1, "errors": 0},
            "bee:m/large": {"passed": ["x", "y"], "failed": [], "errors": []},
            "oracle": {"passed": 3, "failed": 0, "errors": 0},
        }
    )
    files["tasks/first/snapshot.json"] = json.dumps({"ant:m": {"status": "passed", "pass_to_fail": 0}})
    files["tasks/second/runs.json"] = json.dumps({"bee:m/large": {"cost_usd": 0.42, "trajectory_length": 31}})
    files["tasks/third/nop.json"] = "not json"
    return files


def packed(folder: Path) -> bytes:
    """The files of a folder in a zip archive, with one time for all of them."""
    packed_bytes = io.BytesIO()
    with zipfile.ZipFile(packed_bytes, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(
                    zipfile.ZipInfo(str(path.relative_to(folder)), (2026, 1, 1, 0, 0, 0)), path.read_bytes()
                )
    return packed_bytes.getvalue()
