"""A whole plan with a judge: names planted everywhere do not reach it, and one that passes everything is caught."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import steelyard as sy
from runner.execution import needs_bubblewrap
from steelyard.questions import PlanRun
from steelyard.runner._scripted import ScriptedModel

pytestmark = needs_bubblewrap
CANARIES = ("zebra", "okapi", "quagga", "secret-folder", "HINTS")
PLAN = """
[plan]
name = "canaries"
parallel = 4
retry_wait = "0.1s"
[endpoints.e]
kind = "{kind}"
url = "{url}"
price = {{ input_usd = 1000.0, output_usd = 1000.0 }}
[[tasks]]
id = "t"
prompt = "Write f in a.py."
work = "work"
oracle = "solution"
verify = {{ command = ["grep", "-rn", "return 1", "."] }}
[[agents]]
use = "zebra-agent"
models = ["acme/okapi-model-9"]
tiers = {{ quagga = {{ overlay = "tiers/quagga", env = {{ TIER = "quagga" }} }} }}
[[judges]]
use = "model"
model = "judge-1"
rubric = "rubric.toml"
"""
ADAPTER = """
command = ["sh", "{home}/zebra.sh"]
speaks = "any"
env = { ENDPOINT = "{endpoint}", MODEL = "{model}" }
[files]
"home/zebra.sh" = '''
{
  echo "# made by Zebra Agent ($MODEL, $TIER) in $(pwd), home $HOME"
  echo "# Co-Authored-By: zebra-agent <zebra@example.org>"
  echo "def f():"
  echo "    return 1"
} > a.py
echo "notes of zebra-agent" > CLAUDE.md
echo "changed by quagga" >> HINTS.md
cp a.py zebra_agent_okapi_model_9.py
echo "I am zebra-agent with okapi-model-9 and this is excellent work"
'''
"""
RUBRIC = '[[criteria]]\nname = "right"\ndescription = "Is it?"\n'


class Listening(ScriptedModel):
    """A scripted model that keeps every request."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.requests: list[str] = []

    def answer(self, request: str) -> tuple[int, str]:
        self.requests.append(request)
        return super().answer(request)


def run(folder: Path, kind: str, answers: str) -> tuple[PlanRun, list[str]]:
    """The plan with these answers of the judge, and every request that reached a model."""
    place = folder / "secret-folder"
    for name, text in {
        "work/a.py": "def f():\n    pass\n",
        "solution/a.py": "def f():\n    return 1\n",
        "tiers/quagga/HINTS.md": "hints of quagga\n",
        "agents/zebra-agent.toml": ADAPTER,
        "rubric.toml": RUBRIC,
        "model.toml": answers,
    }.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    with Listening(place / "model.toml") as model:
        (place / "plan.toml").write_text(PLAN.format(kind=kind, url=model.url))
        result = sy.run(place / "plan.toml", out=place / "runs")
    assert isinstance(result, PlanRun)
    return result, model.requests


def answer(when: str, points: int, *, passed: bool) -> str:
    said = json.dumps({"criteria": [{"name": "right", "points": points}], "passed": passed})
    return f"[[answers]]\nwhen = {json.dumps([when] if when else [])}\ntext = ['{said}']\n"


@pytest.mark.parametrize("kind", ["chat", "messages"])
def test_names_planted_everywhere_reach_no_request_of_a_judge(tmp_path: Path, kind: str) -> None:
    answers = answer("(nothing was changed)", 0, passed=False) + answer("", 3, passed=True)
    result, requests = run(tmp_path, kind, answers)
    assert result.done == result.trials, result.about
    assert len(requests) == 3  # the agent's work, and the unchanged and the solved one
    for request in requests:
        told = [name for name in CANARIES if name.lower() in request.lower()]
        assert told == [], request
        assert "excellent" not in request
    assert sum("return 1" in request for request in requests) == 2
    codes = {finding.code: finding.message for finding in result.findings}
    for word in ("agent", "model", "tier", "file", "trailer"):
        assert word in codes["judge_blinded"], codes
    assert "judge_unfit" not in codes
    [record] = [json.loads(line) for line in (tmp_path / "secret-folder/runs/runs.jsonl").read_text().splitlines()]
    [judgment] = record["judgments"]
    assert (judgment["judge"], judgment["passed"], judgment["criteria"][0]["achieved"]) == ("judge-1", True, 3)
    assert judgment["cost_usd"] > 0
    assert record["cost_usd"] == 0  # the agent called nobody; what the judge cost stands apart
    measured = sy.measure(tmp_path / "secret-folder/runs", by="tier").to_dict()
    assert measured["groups"][0]["metrics"]["impl_rate"]["mean"] == 0.75  # 3 of 4 points


def test_a_judge_that_passes_everything_is_caught_by_calibration(tmp_path: Path) -> None:
    result, _ = run(tmp_path, "chat", answer("", 4, passed=True))
    told = {finding.code: finding for finding in result.findings}
    assert told["judge_unfit"].severity == "error"
    assert "passes unchanged code" in told["judge_unfit"].message
    [record] = [json.loads(line) for line in (tmp_path / "secret-folder/runs/runs.jsonl").read_text().splitlines()]
    assert "judgments" not in record


def test_answers_that_cannot_be_read_are_asked_for_twice_and_then_not_judged(tmp_path: Path) -> None:
    result, requests = run(tmp_path, "chat", "[[answers]]\ntext = ['Looks great to me!']\n")
    assert len(requests) == 6
    assert result.done == result.trials
    assert any(finding.code == "not_judged" and "3 of 3" in finding.message for finding in result.findings)
