"""Judges: blind to who did the work, asked in orders of their own, and told apart from those that pass everything."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from steelyard.records import Output, Run, TestResults, Usage
from steelyard.runner import (
    Ending,
    ExecutionOutcome,
    ExecutionResult,
    PlanFolder,
    PlanRead,
    PlanTask,
    Trial,
    TrialResult,
    load_plan,
)
from steelyard.runner._judges import completed_runs, judge_question, judge_trial
from steelyard.runner._trials import trials_of

PLAN = """
[plan]
name = "canaries"
seed = 3
{settings}
[endpoints.e]
kind = "chat"
url = "http://127.0.0.1:9/v1"
[[tasks]]
id = "t"
prompt = "Write f in a.py."
work = "work"
oracle = "solution"
verify = {{ command = ["true"] }}
[[agents]]
use = "command"
command = ["true"]
name = "zebra-agent"
models = ["acme/okapi-model-9"]
tiers = {{ quagga = {{ overlay = "tiers/quagga" }}, T1 = {{}} }}
{judges}
"""
JUDGE = '[[judges]]\nuse = "model"\nmodel = "judge-1"\nrubric = "rubric.toml"\n'
RUBRIC = "".join(f'[[criteria]]\nname = "{name}"\ndescription = "Is it?"\n' for name in ("right", "small", "clear"))
WHEN = datetime(2026, 11, 1, tzinfo=UTC)
COST, TOKENS = 0.246813, 98_765
CANARIES = ("zebra", "okapi", "quagga", "0.2468", "98,765", "98765", "secret-folder", "HINTS", "judge-1")


class Bench:
    """A plan in a folder of its own, with finished trials."""

    def __init__(self, root: Path, *, settings: str = "", judges: str = JUDGE) -> None:
        place = root / "secret-folder"
        for name, text in {
            "work/a.py": "def f():\n    pass\n",
            "solution/a.py": "def f():\n    return 1\n",
            "tiers/quagga/HINTS.md": "hints of quagga\n",
            "rubric.toml": RUBRIC,
            "plan.toml": PLAN.format(settings=settings, judges=judges),
        }.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        self.read: PlanRead = load_plan(place / "plan.toml")
        self.trials = trials_of(self.read)
        self.by_id = {trial.id: trial for trial in self.trials}
        self.folder = PlanFolder(place / "runs")
        self.folder.make()
        for trial in self.of_kind("run"):
            self.finish(trial)

    def of_kind(self, kind: str) -> list[Trial]:
        return [trial for trial in self.trials if trial.kind == kind]

    def finish(self, trial: Trial) -> None:
        """The trial as if its agent had run: nop changed nothing, oracle solved it, the agent wrote its name in."""
        assert self.folder.claim(trial.id)
        place = self.folder.new_execution(trial.id)
        (place / "work").mkdir()
        (place / "verify").mkdir()
        source = "solution" if trial.agent == "oracle" else "work"
        (place / "work" / "a.py").write_text((self.read.folder / source / "a.py").read_text())
        if trial.agent == "zebra-agent":
            said = f"# Zebra Agent with okapi-model-9 in tier quagga, ${COST}, {TOKENS:,} tokens, in {place}\n"
            (place / "work" / "a.py").write_text(f"{said}def f():\n    return 1\n")
            (place / "work" / "zebra_agent.log").write_text("done\n")
            (place / "work" / "CLAUDE.md").write_text("zebra\n")
            (place / "work" / "HINTS.md").write_text("hints of quagga, changed\n")
        (place / "verify" / "stdout").write_text(f"ran {place}/work/a.py of zebra-agent\n")
        verdict = trial.agent != "nop"
        run = Run(
            id=trial.id,
            task=trial.task,
            agent=trial.agent,
            model=trial.model,
            tier=trial.tier,
            tier_scheme="canaries",
            cost_usd=COST,
            usage=Usage(input_tokens=TOKENS, output_tokens=5),
            success=True,
            output=Output(text="I am zebra-agent, and this is excellent!"),
            tests=TestResults(passed=("t1",) if verdict else (), failed=() if verdict else ("test_by_zebra_agent",)),
        )
        ended = Ending(name="passed" if verdict else "failed")
        executed = ExecutionResult(retry=0, ending=ended, started_at=WHEN, ended_at=WHEN, cost_usd=COST)
        assert self.folder.finish(TrialResult(id=trial.id, ending=ended, executions=(executed,), run=run))

    def judge(self, answered: Callable[[Trial, str], str]) -> None:
        """Every judge's trial, with what a model answers to its prompt; unreadable answers are asked for again."""
        for trial in self.of_kind("judge"):

            def ask(task: PlanTask, trial: Trial = trial) -> ExecutionOutcome:
                said = Run(task=trial.task, output=Output(text=answered(trial, task.prompt or "")))
                ended = ExecutionResult(
                    retry=0, ending=Ending(name="not_scored"), started_at=WHEN, ended_at=WHEN, cost_usd=0.5
                )
                return ExecutionOutcome(result=ended, run=said)

            assert self.folder.claim(trial.id)
            executions = []
            for retry in (0, 1, 2):
                outcome = judge_trial(trial, self.read, self.folder, retry=retry, trials=self.by_id, ask=ask)
                executions.append(outcome.result)
                if not outcome.result.ending.is_retried:
                    break
            last = executions[-1].ending
            self.folder.finish(
                TrialResult(id=trial.id, ending=last, executions=tuple(executions), judgment=outcome.judgment)
            )

    def completed(self) -> tuple[dict[str, Run], dict[str, str]]:
        """The runs by tier, and findings by code."""
        runs = {
            trial.id: result.run for trial in self.trials if (result := self.folder.result(trial.id)) and result.run
        }
        whole, findings = completed_runs(self.read, self.folder, self.trials, runs)
        return {run.tier or run.agent or "": run for run in whole}, {
            code: "; ".join(finding.message for finding in findings if finding.code == code)
            for code in {finding.code for finding in findings}
        }


def scored(points: int, *, passed: bool) -> str:
    lines = [{"name": name, "points": points} for name in ("right", "small", "clear")]
    return json.dumps({"criteria": lines, "passed": passed})


def fair(_: Trial, prompt: str) -> str:
    """A judge that knows what it is doing: unchanged code fails."""
    return scored(0, passed=False) if "(nothing was changed)" in prompt else scored(3, passed=True)


def test_no_name_cost_or_folder_reaches_a_judge(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    asked: list[str] = []
    bench.judge(lambda trial, prompt: (asked.append(prompt), fair(trial, prompt))[1])
    assert len(asked) == 4  # two tiers, nop and oracle
    for prompt in asked:
        assert [name for name in CANARIES if name.lower() in prompt.lower()] == [], prompt
        assert "excellent" not in prompt  # what the agent says of itself
        assert "return 1" in prompt or "(nothing was changed)" in prompt
    _, told = bench.completed()
    assert "agent" in told["judge_blinded"]
    assert "file" in told["judge_blinded"]


def test_no_key_reaches_a_judge_and_what_was_taken_out_is_counted(tmp_path: Path) -> None:
    body = "Zx9Qw7Er5Ty3Ui1Op0As2Df4Gh6Jk8Lz"
    bench = Bench(tmp_path)
    (trial,) = [trial for trial in bench.of_kind("run") if trial.tier == "T1"]
    place = bench.folder.executions(trial.id)[-1]
    pem = f"-----BEGIN {'PRIVATE KEY'}-----\n{body}\n{body}\n-----END {'PRIVATE KEY'}-----"
    (place / "work" / "a.py").write_text(f'def f():\n    return 1\n\nKEY = "sk-{body}"\nPEM = """{pem}"""\n')
    (place / "work" / f"ghp_{body}.txt").write_text("named\n")
    (place / "verify" / "stdout").write_text(f"AWS_SECRET_ACCESS_KEY={body}{'x' * (4_000 - len(body) // 2)}")
    asked: list[str] = []
    bench.judge(lambda trial, prompt: (asked.append(prompt), fair(trial, prompt))[1])
    assert [prompt for prompt in asked if body in prompt or body[-12:] in prompt] == []
    assert any('+KEY = "[API key 1]"' in prompt for prompt in asked)
    _, told = bench.completed()
    assert "1 API key, 1 GitHub token, 1 private key, 1 secret" in told["judge_blinded"]


def test_judgments_reach_the_runs_and_their_cost_stays_apart(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.judge(fair)
    runs, told = bench.completed()
    assert sorted(runs) == ["T1", "quagga"]  # nop and oracle ran for the judge's sake alone
    [judgment] = runs["T1"].judgments or ()
    assert (judgment.judge, judgment.passed, judgment.score, judgment.cost_usd) == ("judge-1", True, 0.75, 0.5)
    assert runs["T1"].cost_usd == COST
    assert "judge_unfit" not in told


def test_a_judge_that_passes_everything_is_unfit_and_left_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.judge(lambda _trial, _prompt: scored(4, passed=True))
    runs, told = bench.completed()
    assert told["judge_unfit"].startswith("judgments excluded")
    assert "passes unchanged code (t)" in told["judge_unfit"]
    assert all(run.judgments is None for run in runs.values())


def test_a_judge_that_fails_everything_is_unfit_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.judge(lambda _trial, _prompt: scored(0, passed=False))
    assert "fails the reference solution (t)" in bench.completed()[1]["judge_unfit"]


def test_an_answer_that_cannot_be_read_is_asked_for_once_more_and_never_a_zero(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.judge(lambda trial, prompt: "No." if "zebra" in bench.by_id[trial.judged[0]].agent else fair(trial, prompt))
    endings = {trial.judged[0]: bench.folder.result(trial.id) for trial in bench.of_kind("judge")}
    executed = {bench.by_id[id_].agent: len(result.executions) for id_, result in endings.items() if result}
    assert executed == {"zebra-agent": 2, "nop": 1, "oracle": 1}
    runs, told = bench.completed()
    assert told["not_judged"].startswith("2 of 4 responses")
    assert runs["T1"].judgments is None


def test_criteria_come_in_an_order_of_the_seed_the_judge_and_the_trial(tmp_path: Path) -> None:
    two = JUDGE + JUDGE.replace('model = "judge-1"', 'model = "judge-2"')
    bench = Bench(tmp_path, judges=two)
    orders = set()
    for trial in bench.of_kind("judge"):
        prompt, _ = judge_question(trial, bench.read, bench.folder, trials=bench.by_id)
        assert judge_question(trial, bench.read, bench.folder, trials=bench.by_id)[0] == prompt
        orders.add(tuple(sorted(("right", "small", "clear"), key=lambda name: prompt.index(f"- {name} "))))
    assert len(orders) > 1


def test_a_pair_counts_where_both_orders_agree_and_else_is_a_tie(tmp_path: Path) -> None:
    bench = Bench(tmp_path, judges=JUDGE + "pairs = true\n")
    assert len(bench.of_kind("judge")) == 4  # the two tiers, and nop with oracle, each in both orders

    def prefers_quagga(trial: Trial, _prompt: str) -> str:
        better = [bench.by_id[id_].tier == "quagga" or bench.by_id[id_].agent == "oracle" for id_ in trial.judged]
        return json.dumps({"better": "AB"[better.index(True)]})

    bench.judge(prefers_quagga)
    runs, told = bench.completed()
    scores = {name: [judgment.score for judgment in run.judgments or ()] for name, run in runs.items()}
    assert scores == {"quagga": [1.0], "T1": [0.0]}
    assert [judgment.cost_usd for judgment in runs["T1"].judgments or ()] == [0.5]  # half of each of two calls
    assert "pair_disagreement" not in told


def test_a_judge_swayed_by_order_gives_ties_and_is_unfit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, judges=JUDGE + "pairs = true\n")
    bench.judge(lambda _trial, _prompt: '{"better": "A"}')
    runs, told = bench.completed()
    assert "does not prefer the reference solution" in told["judge_unfit"]
    assert all(run.judgments is None for run in runs.values())
    right = {"nop": "B", "oracle": "A"}
    other = Bench(tmp_path / "other", judges=JUDGE + "pairs = true\n")
    other.judge(lambda trial, _: json.dumps({"better": right.get(other.by_id[trial.judged[0]].agent, "A")}))
    runs, told = other.completed()
    assert told["pair_disagreement"].startswith("1 of 2 pairs")
    assert [judgment.score for judgment in runs["T1"].judgments or ()] == [0.5]


def test_a_judge_of_the_same_family_is_flagged(tmp_path: Path) -> None:
    bench = Bench(tmp_path, judges=JUDGE.replace("judge-1", "okapi-judge-2"))
    bench.judge(fair)
    assert "okapi-model-9" in bench.completed()[1]["judge_same_family"]


def test_samples_of_a_judge_are_judgments_of_their_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, judges=JUDGE + "samples = 3\n")
    bench.judge(fair)
    assert len(bench.completed()[0]["T1"].judgments or ()) == 3


@pytest.mark.parametrize("change", ["seed = 3", 'model = "judge-1"', 'name = "small"'])
def test_another_seed_model_or_rubric_is_another_judgment(tmp_path: Path, change: str) -> None:
    first = Bench(tmp_path / "first")
    second = Bench(tmp_path / "second")
    path = second.read.folder / ("rubric.toml" if "small" in change else "plan.toml")
    path.write_text(
        path.read_text().replace(change, change.replace("3", "4").replace("1", "2").replace("small", "big"))
    )
    again = trials_of(load_plan(second.read.path))
    assert {trial.id for trial in first.of_kind("run")} <= {trial.id for trial in again}
    assert not {trial.id for trial in first.of_kind("judge")} & {trial.id for trial in again}
