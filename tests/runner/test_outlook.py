"""Before a plan runs it tells what it would cost and what that rests on, and afterwards how to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.questions import PlanOutlook, PlanRun

PLAN = """
[plan]
name = "asked"
attempts = {attempts}
budget = {{ usd = 2{budget} }}
[endpoints.e]
kind = "chat"
url = "scripted:model.toml"
key = "env:OUTLOOK_KEY"
price = {{ input_usd = 1000.0, output_usd = 1000.0 }}
[[tasks]]
id = "greet"
prompt = "Say hello."
{task}
[[agents]]
use = "model"
models = ["m"]
{more}
"""
NOP = '[[agents]]\nuse = "nop"\n'
SCRIPT = '[[answers]]\ntext = ["hello", "hello hello hello"]\n'
KEY = "key-that-nobody-may-see"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.toml").write_text(SCRIPT)
    (tmp_path / "contract.toml").write_text(
        'id = "greet"\nentry_point = "greet"\n[[cases]]\narguments = []\nexpected = 1\n'
    )
    monkeypatch.setenv("OUTLOOK_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, attempts: int = 2, budget: str = "", task: str = "", more: str = NOP) -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN.format(attempts=attempts, budget=budget, task=task, more=more))
    return path


def outlook(plan: Path) -> PlanOutlook:
    told = sy.run(plan, out=plan.parent / "runs", dry_run=True)
    assert isinstance(told, PlanOutlook)
    return told


def ran(plan: Path) -> PlanRun:
    told = sy.run(plan, out=plan.parent / "runs")
    assert isinstance(told, PlanRun)
    return told


def test_without_anything_to_go_by_the_cost_is_not_known_and_nothing_is_written(folder: Path) -> None:
    told = outlook(written(folder))
    costs = {each.agent: (each.low_usd, each.high_usd, each.basis) for each in told.forecasts}
    assert costs == {
        "model": (None, None, "no finished trial and no trial_usd in the plan"),
        "nop": (0.0, 0.0, "no model calls"),
    }
    assert "4 trials, 0 done, 4 to run; expected cost unknown for model" in told.about
    assert "spent $0.00 of $2.00" in told.about
    assert not (folder / "runs").exists()


def test_the_budget_of_a_trial_bounds_what_its_trials_cost(folder: Path) -> None:
    model, _ = outlook(written(folder, budget=", trial_usd = 0.5")).forecasts
    assert (model.low_usd, model.high_usd, model.basis) == (0.0, 1.0, "the budget per trial")  # 2 trials


def test_finished_trials_say_what_further_ones_cost(folder: Path) -> None:
    plan = written(folder)
    group = next(group for group in ran(plan).groups if group.agent == "model")
    assert group.cost_usd is not None
    model, _ = outlook(written(folder, attempts=5)).forecasts
    assert (model.trials, model.done) == (5, 2)
    assert model.basis == "lowest and highest cost of 2 finished trials"
    assert model.low_usd is not None
    assert model.high_usd is not None
    assert 0 < model.low_usd < model.high_usd  # three times the shorter answer, three times the longer
    assert model.low_usd + model.high_usd == pytest.approx(3 * group.cost_usd)


def test_what_this_machine_lacks_is_told_before_anything_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outlook(written(folder)).findings == ()
    monkeypatch.delenv("OUTLOOK_KEY")
    more = '[[agents]]\nuse = "command"\nname = "mine"\nmodels = ["m"]\ncommand = ["no-such-agent"]\n'
    plan = written(folder, more=more)
    (finding,) = outlook(plan).findings
    assert [(place.where, place.message) for place in finding.places] == [
        ("[endpoints.e]", "environment variable OUTLOOK_KEY is not set (the key)"),
        ("agent 'mine'", "program not found on PATH: 'no-such-agent'"),
    ]
    assert run(["run", str(plan), "--dry-run"]) == 0
    assert "some requirements of the plan are missing" in capsys.readouterr().err


def test_no_key_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = '[[agents]]\nuse = "command"\nname = "mine"\nmodels = ["m"]\ncommand = ["tool", "--key", "{token}"]\n'
    assert run(["run", str(written(folder, more=more)), "--dry-run"]) == 0
    said = capsys.readouterr()
    assert "tool --key" in said.out
    assert KEY not in said.out + said.err
    assert "sk-" not in said.out


@pytest.mark.parametrize(
    ("task", "command"),
    [
        ("", "steelyard measure runs --by agent,model"),
        (
            'contract = "contract.toml"',
            "steelyard repeatability runs --contract contract.toml --by task,model,x_setting",
        ),
    ],
)
def test_what_answers_the_plans_question_comes_next_and_works(
    folder: Path, task: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", str(written(folder, task=task, more="")), "--out", "runs"]) == 0
    assert f"Next: {command}" in capsys.readouterr().out
    assert run(command.split()[1:]) == 0


def test_what_an_agent_without_a_meter_states_in_its_log_is_what_the_plan_shows(folder: Path) -> None:
    (folder / "agents").mkdir()
    log = '{"task": "t", "usage": {"input_tokens": 22000, "output_tokens": 400}}'
    (folder / "agents/mine.toml").write_text(
        f"""command = ["echo", '{log}']\nspeaks = "any"\nlogs = ["stdout"]\n""", encoding="utf-8"
    )
    plan = folder / "plan.toml"
    plan.write_text(
        """[plan]\nname = "stated"\n[[tasks]]\nid = "t"\nprompt = "Say it."\nverify = { command = ["true"] }\n"""
        """[[agents]]\nuse = "mine"\n""",
        encoding="utf-8",
    )
    told = sy.run(plan, out=folder / "runs")
    assert isinstance(told, PlanRun)
    (group,) = told.groups
    assert (group.tokens, group.cost_usd) == (22_400, None)
    (trial,) = sy.run_list(folder / "runs").trials
    (executed,) = sy.run_show(folder / "runs", trial.id).executions
    assert (trial.cost_usd, executed.tokens, executed.cost_usd) == (None, 22_400, None)
    used = sy.usage(folder / "runs").total
    assert (used.total_tokens, used.cost_usd) == (22_400, None)
