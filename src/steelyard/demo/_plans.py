"""Plans for `steelyard run`, one per specification, with a scripted model.

The agent `tiny` is a short program with a custom adapter, like one a user would write.
"""

from __future__ import annotations

from collections.abc import Iterator

ENDPOINT = """\
[endpoints.model]
kind = "chat"
url = "scripted:model.toml"   # a real model: url = "https://HOST/v1", and key = "env:NAME" if it needs one
price = { input_usd = 1.0, output_usd = 4.0 }
"""

TINY = '''\
# A custom agent: its command, environment and files.
about = "sends one model request and writes the file in the response"
command = ["python3", "{home}/tiny.py"]
speaks = "chat"
env = { ENDPOINT = "{endpoint}", TOKEN = "{token}", MODEL = "{model}", PROMPT_FILE = "{prompt_file}" }
logs = ["home/run.jsonl"]

[files]
"home/tiny.py" = """
import json, os, pathlib, urllib.request

work = pathlib.Path(".")
files = [path for path in sorted(work.glob("*")) if path.suffix in (".py", ".md")]
shown = "".join("--- " + path.name + chr(10) + path.read_text() for path in files)
question = pathlib.Path(os.environ["PROMPT_FILE"]).read_text() + chr(10) + shown
body = dict(model=os.environ["MODEL"], messages=[dict(role="user", content=question)])
headers = dict([("Authorization", "Bearer " + os.environ["TOKEN"]), ("Content-Type", "application/json")])
url = os.environ["ENDPOINT"] + "/v1/chat/completions"
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
answer = json.load(urllib.request.urlopen(request))
name, _, content = answer["choices"][0]["message"]["content"].partition(chr(10))
(work / name.strip()).write_text(content)
record = dict(task="task", agent="tiny", tool_calls=1, iterations=1, files_created=[name.strip()])
pathlib.Path.home().joinpath("run.jsonl").write_text(json.dumps(record) + chr(10))
"""
'''

TIERS = f"""\
# Do notes help? Two tasks, without notes (T0) and with (T1), two attempts each, and a judge.
[plan]
name = "tiers"
attempts = 2
time_limit = "2m"
budget = {{ usd = 1 }}

{ENDPOINT}
[[tasks]]
id = "running-total"
prompt = "Fix running_total in total.py: it must return the sums of the first 1, 2, 3, ... values."
work = "tasks/running-total/work"
oracle = "tasks/running-total/solution"
verify = {{ tests = "tasks/running-total/tests" }}

[[tasks]]
id = "middle"
prompt = "Write middle(values) in middle.py: the median of the values, None for no values."
work = "tasks/middle/work"
oracle = "tasks/middle/solution"
verify = {{ tests = "tasks/middle/tests" }}

[[agents]]
use = "tiny"
models = ["small"]
tiers = {{ T0 = {{}}, T1 = {{ overlay = "tiers/T1" }} }}

[[judges]]
use = "model"
model = "judge"
rubric = "rubric.toml"
"""

SAMPLES = f"""\
# Are the outputs repeatable? Five samples at each of two temperatures.
[plan]
name = "samples"
attempts = 5
time_limit = "2m"

{ENDPOINT}
[[tasks]]
id = "running_total"
prompt = "Write a Python function running_total(values) that returns the sums of the first 1, 2, 3, ... values."
contract = "contract.toml"

[[agents]]
use = "model"
models = ["small"]
settings = [{{ temperature = 0.0 }}, {{ temperature = 1.0 }}]
"""

FASTER = f"""\
# Does the agent make code faster? Measures the unchanged code, the reference solution and the agent's code.
[plan]
name = "faster"
time_limit = "2m"

[plan.measure]
calls = "tasks/unique/bench"
repeats = 3

{ENDPOINT}
[[tasks]]
id = "unique"
prompt = "Make unique(values) in unique.py faster: the distinct values in the order of their first appearance."
work = "tasks/unique/work"
oracle = "tasks/unique/solution"
verify = {{ tests = "tasks/unique/tests" }}

[[agents]]
use = "nop"

[[agents]]
use = "oracle"

[[agents]]
use = "tiny"
models = ["small"]
"""

WEEKLY = f"""\
# A weekly leaderboard: each run is submitted to the arena when its trial is done.
[plan]
name = "weekly"
attempts = 2
time_limit = "2m"
deliver = "sqlite:///arena.db"
tasks_from = "arena"

{ENDPOINT}
[[agents]]
use = "tiny"
models = ["small"]
"""

ARENA_TASKS = """\
[[tasks]]
id = "write-greeting"
title = "Write greet(name) in greeting.py: it returns 'Hello, NAME!'."
category = "backend_development"

[[tasks.success_criteria]]
type = "file_exists"
file_path = "greeting.py"

[[tasks.success_criteria]]
type = "code_compiles"
"""

RUBRIC = """\
[[criteria]]
name = "correctness"
description = "The change does what the task asks, including edge cases."
weight = 3

[[criteria]]
name = "readability"
description = "A new contributor understands the change."
"""

_TOTAL_RIGHT = """\
def running_total(values):
    total, sums = 0, []
    for value in values:
        total += value
        sums.append(total)
    return sums
"""
_TOTAL_WRONG = "def running_total(values):\n    return [sum(values[:n]) for n in range(len(values))]\n"
_TOTAL_LIST = "from itertools import accumulate\n\n\ndef running_total(values):\n    return list(accumulate(values))\n"
_MIDDLE_RIGHT = """\
def middle(values):
    ordered = sorted(values)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
"""
_MIDDLE_WRONG = "def middle(values):\n    return sorted(values)[len(values) // 2]\n"
_UNIQUE_SLOW = """\
def unique(values):
    seen = []
    for value in values:
        if value not in seen:
            seen.append(value)
    return seen
"""
_UNIQUE_FAST = "def unique(values):\n    return list(dict.fromkeys(values))\n"
_UNIQUE_SET = """\
def unique(values):
    seen, kept = set(), []
    for value in values:
        if value not in seen:
            seen.add(value)
            kept.append(value)
    return kept
"""
_NOTES = "Notes for contributors: test with no values, with one value, and with an even number of values.\n"

_TESTED = """\
import unittest

from {module} import {name}


class Test(unittest.TestCase):
    def test_cases(self):
        for given, expected in {cases}:
            self.assertEqual({name}(given), expected)


if __name__ == "__main__":
    unittest.main()
"""

_BENCHMARK = """\
function = "unique.unique"


def arguments(random):
    return ([{values} for _ in range({count})],)
"""


def plan_files() -> Iterator[tuple[str, str]]:
    """Yield the path and content of every plan file."""
    yield from {"tiers.toml": TIERS, "samples.toml": SAMPLES, "faster.toml": FASTER, "weekly.toml": WEEKLY}.items()
    yield "model.toml", _script()
    yield "agents/tiny.toml", TINY
    yield "rubric.toml", RUBRIC
    yield "arena-tasks.toml", ARENA_TASKS
    yield "tiers/T1/NOTES.md", _NOTES
    for task, module, name, before, after, cases in (
        ("running-total", "total", "running_total", _TOTAL_WRONG, _TOTAL_RIGHT, "[([1, 2, 3], [1, 3, 6]), ([], [])]"),
        ("middle", "middle", "middle", "", _MIDDLE_RIGHT, "[([3, 1, 2], 2), ([1, 2], 1.5), ([], None)]"),
        ("unique", "unique", "unique", _UNIQUE_SLOW, _UNIQUE_FAST, "[([2, 1, 2], [2, 1]), ([], [])]"),
    ):
        yield f"tasks/{task}/work/{module}.py", before
        yield f"tasks/{task}/solution/{module}.py", after
        yield f"tasks/{task}/tests/test_{module}.py", _TESTED.format(module=module, name=name, cases=cases)
    for name, values, count in (("few", "random.randrange(50)", 4000), ("many", "random.random()", 1000)):
        yield f"tasks/unique/bench/bench_{name}.py", _BENCHMARK.format(values=values, count=count)


def _script() -> str:
    """Return the script of the model, which is right more often if the request contains the notes."""
    good = '{"criteria": [{"name": "correctness", "points": 4}, {"name": "readability", "points": 3}], "passed": true}'
    poor = '{"criteria": [{"name": "correctness", "points": 1}, {"name": "readability", "points": 3}], "passed": false}'
    none = '{"criteria": [{"name": "correctness", "points": 0}, {"name": "readability", "points": 0}], "passed": false}'
    asked = "Write a Python function running_total"
    total = [f"total.py\n{_TOTAL_WRONG}", f"total.py\n{_TOTAL_RIGHT}"]
    middle = [f"middle.py\n{_MIDDLE_RIGHT}", f"middle.py\n{_MIDDLE_WRONG}"]
    greeting = "greeting.py\ndef greet(name):\n    return f'Hello, {name}!'\n"
    entries: list[tuple[str, list[str], list[str]]] = [
        ("The judge. It sees the task, the change and the tests.", ["You judge", "(nothing was changed)"], [none]),
        ("", ["You judge", "total += value"], [good]),
        ("", ["You judge", "half - 1"], [good]),
        ("", ["You judge"], [poor]),
        ("The agent tiny, with the notes of T1 and without.", ["running_total in total.py", "Notes for"], total[1:]),
        ("", ["running_total in total.py"], total),
        ("", ["middle.py", "Notes for"], middle),
        ("", ["middle.py"], [middle[1]]),
        ("", ["unique.py"], [f"unique.py\n{_UNIQUE_SET}"]),
        ("", ["greeting.py"], [greeting]),
        ("Samples: identical at temperature 0.", [asked, "temperature=0.0"], [_TOTAL_RIGHT]),
        ("", [asked], [_TOTAL_RIGHT, _TOTAL_LIST, _TOTAL_RIGHT.replace("sums", "result"), _TOTAL_WRONG, _TOTAL_RIGHT]),
    ]
    lines = [
        "# A scripted model. The first entry whose words all occur in the request is used.",
        "# The texts of an entry are returned in turn.",
    ]
    for comment, when, texts in entries:
        lines += ["", *([f"# {comment}"] if comment else []), "[[answers]]"]
        lines.append(f"when = [{', '.join(map(_quoted, when))}]")
        lines.append("text = [" + ", ".join(map(_quoted, texts)) + "]")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return the text as a TOML string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
