"""Calls without an end: what is known of them is shown everywhere, their worst case is charged, and nothing blocks."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from agents.model_server import Fault, ModelServer, Script, Step, model_server
from runner.execution import needs_bubblewrap
from runner.planned import MODEL, started, written_plan
from steelyard.records import Usage
from steelyard.runner import ExecutionResult, PlanFolder
from steelyard.runner._metering_records import (
    MAX_OUTPUT_TOKENS,
    CallBudget,
    CallLimits,
    EndpointPriceTable,
    MeteredCall,
    reserve_of,
)
from steelyard.runner._model_apis import request_of
from steelyard.runner._plan_records import ApiKind, EndpointPrice

STEPS = (Step(run="printf 'hello\\n' > hello.txt"), Step(run="true"), Step(say="hello.txt says hello."))
RESET, HANG = Fault("reset"), Fault("hang")


def ran(
    folder: Path, script: Script, *, trials: int = 3, status: int = 0, **settings: object
) -> tuple[PlanFolder, str, ModelServer]:
    """The results of a plan against the script, and what its command said."""
    with model_server(script) as server:
        plan = written_plan(folder, server.url, trials=trials, marker="incomplete", parallel=1, **settings)
        process = started(plan, folder / "runs")
        out, err = process.communicate(timeout=120)
        assert process.returncode == status, err
    return PlanFolder(folder / "runs"), (out + err).decode(), server


def executions(folder: PlanFolder) -> list[list[ExecutionResult]]:
    """The executions of each trial, in the order of the plan."""
    return [
        [outcome.result for path in folder.executions(trial.id) if (outcome := folder.outcome(path)) is not None]
        for trial in folder.trials()
    ]


@needs_bubblewrap
def test_a_call_without_an_end_does_not_block_a_budget(tmp_path: Path) -> None:
    script = Script(steps=STEPS, has_many_calls=True, faults={1: RESET})
    folder, said, server = ran(tmp_path, script, budget={"usd": 50.0})
    assert "3 of 3 trials done (3 passed)" in said
    first, *others = executions(folder)
    assert [each.ending.name for each in first] == ["endpoint_failed", "passed"]
    assert [[each.ending.name for each in each_of] for each_of in others] == [["passed"], ["passed"]]
    broken = first[0]
    assert broken.is_lower_bound
    assert broken.usage is not None
    assert broken.usage.total == sum(server.calls[0].usage.values())
    assert broken.cost_usd == pytest.approx(sum(server.calls[0].usage.values()) / 1e6)
    assert broken.reserved_usd is not None
    assert broken.reserved_usd > MAX_OUTPUT_TOKENS / 1e6  # its output, at $1 per million, and its input
    known = sum(each.cost_usd or 0.0 for each_of in executions(folder) for each in each_of)
    assert f"spent ${known:,.2f} and up to ${broken.reserved_usd:,.2f} more for incomplete calls, of $50.00" in said


@needs_bubblewrap
def test_a_plan_without_a_known_cost_goes_on_too(tmp_path: Path) -> None:
    script = Script(steps=STEPS, has_many_calls=True, faults={0: RESET})
    folder, said, _ = ran(tmp_path, script, budget={"usd": 50.0})
    assert "3 of 3 trials done (3 passed)" in said
    broken = executions(folder)[0][0]
    assert (broken.usage, broken.cost_usd, broken.is_lower_bound) == (None, None, True)


def shown(folder: Path) -> dict[str, dict[str, tuple[float | None, bool]]]:
    """Cost and tokens of each model, and whether they are lower bounds, by the question that says so."""
    place = PlanFolder(folder / "runs")
    told: dict[str, dict[str, tuple[float | None, bool]]] = {}

    def add(
        question: str, model: str | None, cost: float | None, tokens: float | None, *, cost_is_low: bool, is_low: bool
    ) -> None:
        told.setdefault(question, {})[f"{model} cost"] = (cost, cost_is_low)
        told[question][f"{model} tokens"] = (tokens, is_low)

    plan = sy.run(folder / "plan.toml", out=place.root)
    for group in plan.groups:
        add(
            "run",
            group.model,
            group.cost_usd,
            group.tokens,
            cost_is_low=group.is_lower_bound,
            is_low=group.is_lower_bound,
        )
    for trial in place.trials():
        (*_, last) = sy.run_show(place.root, trial.id).executions
        add(
            "run show",
            trial.model,
            last.cost_usd,
            last.tokens,
            cost_is_low=last.is_lower_bound,
            is_low=last.is_lower_bound,
        )
    for count in sy.usage(place.root, by="model").groups:
        add(
            "usage",
            count.key["model"],
            count.cost_usd,
            count.total_tokens,
            cost_is_low=count.lower_bound,
            is_low=count.lower_bound,
        )
    metrics = ["total_cost_usd", "total_tokens_all_kinds"]
    measured: list[tuple[str, Any]] = [
        ("measure", sy.measure(place.root, by="model", metrics=metrics).to_dict()),
        ("report", sy.report(place.root, by="model", metrics=metrics, sections=["measure"]).to_dict()["measurement"]),
    ]
    for question, answer in measured:
        for group in answer["groups"]:
            cost, tokens = (group["metrics"][name] for name in metrics)
            add(
                question,
                group["key"]["model"],
                cost["value"],
                tokens["value"],
                cost_is_low=cost["at_least"],
                is_low=tokens["at_least"],
            )
    return told


@needs_bubblewrap
def test_every_number_of_a_plan_is_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """m-0 passes at its first execution, m-2 reaches its time limit while a call is open, m-1 passes at its second."""
    monkeypatch.setenv("SCRIPTED_KEY", "key-of-the-endpoint")
    script = Script(steps=STEPS, has_many_calls=True, faults={4: RESET, 6: HANG})
    folder, said, server = ran(tmp_path, script, budget={"usd": 50.0}, time_limit="4s")
    assert [[each.ending.name for each in each_of] for each_of in executions(folder)] == [
        ["passed"],
        ["endpoint_failed", "passed"],
        ["agent_timeout"],
    ]
    served = [sum(call.usage.values()) for call in server.calls]
    tokens = [sum(served[0:3]), sum(served[7:10]), served[5]]
    expected = {f"{MODEL.format(number)} tokens": (count, number == 2) for number, count in enumerate(tokens)}
    expected |= {f"{MODEL.format(number)} cost": (count / 1e6, number == 2) for number, count in enumerate(tokens)}
    for question, numbers in shown(tmp_path).items():
        assert numbers == {name: (pytest.approx(value), is_low) for name, (value, is_low) in expected.items()}, question
    assert "at least" in said
    listed = sy.run_list(folder.root)
    assert [trial.retry_cost_usd for trial in listed.trials] == [None, pytest.approx(served[3] / 1e6), None]
    assert [trial.is_lower_bound for trial in listed.trials] == [False, False, True]


@needs_bubblewrap
def test_usage_says_that_a_call_reported_no_tokens(tmp_path: Path) -> None:
    script = Script(steps=STEPS, has_many_calls=True, faults=dict.fromkeys(range(9), RESET))
    folder, said, _ = ran(tmp_path, script, trials=1, status=1, retries=1)
    assert "1 without a result" in said
    runs = [json.loads(line) for line in (folder.root / "runs.jsonl").read_text().splitlines()]
    assert [run["failure"]["cause"] for run in runs] == ["infrastructure"]
    answer = sy.usage(folder.root)
    assert answer.unpriced_models == ()
    assert "without a price" not in answer.about


TABLE = EndpointPriceTable("e", EndpointPrice(input_usd=1.0, output_usd=10.0, cache_write_usd=2.0))


def call(**facts: Any) -> MeteredCall:  # Any: its fields
    """A call without an end."""
    fixed = {"number": 1, "path": "/v1/messages", "model_asked": "m", "is_lower_bound": True}
    return MeteredCall(**{**fixed, "started": datetime(2026, 11, 1, tzinfo=UTC), **facts})


@pytest.mark.parametrize(
    ("facts", "tokens", "usd"),
    [
        # input is at most a token a byte, of the kind that costs most
        ({"request_bytes": 500_000, "max_output_tokens": 100_000}, 600_000, 0.5 * 2 + 0.1 * 10),
        ({"request_bytes": 500_000}, 500_000 + MAX_OUTPUT_TOKENS, 1.0 + MAX_OUTPUT_TOKENS / 1e5),
        # input that the response states is known; 1 of the output is charged as known
        (
            {"usage": Usage(input_tokens=9, output_tokens=1), "request_bytes": 500_000, "max_output_tokens": 101},
            100,
            100 / 1e5,
        ),
        ({"is_lower_bound": False, "usage": Usage(input_tokens=9, output_tokens=1)}, 0, 0.0),
        ({"is_lower_bound": False, "status": 429}, 0, 0.0),
    ],
)
def test_the_reserve_of_a_call_is_its_worst_case(facts: dict[str, Any], tokens: int, usd: float) -> None:
    reserve = reserve_of([call(**facts)], TABLE)
    assert (reserve.tokens, reserve.usd) == (tokens, pytest.approx(usd))


def test_a_reserve_without_a_price_is_unknown() -> None:
    assert reserve_of([call(request_bytes=10)], None).usd is None
    assert reserve_of([], None).usd == 0.0


def test_a_call_without_an_end_counts_toward_the_budget_of_a_trial() -> None:
    known = Usage(input_tokens=200, output_tokens=0)
    budget = CallBudget(CallLimits(tokens=1000), None)
    assert budget.spend(call(request_bytes=300, max_output_tokens=300)) is None
    assert budget.spend(call(is_lower_bound=False, status=200, usage=known)) is None
    assert budget.spend(call(is_lower_bound=False, status=200, usage=known)) == "unfinished_calls"
    budget = CallBudget(CallLimits(usd=1.0), TABLE)
    assert budget.spend(call(request_bytes=10, max_output_tokens=100_000)) == "unfinished_calls"
    expensive = Usage(input_tokens=1_000_000, output_tokens=0)
    assert budget.spend(call(is_lower_bound=False, status=200, usage=expensive)) == "trial_usd"


@pytest.mark.parametrize(
    ("path", "body", "limit"),
    [
        ("/v1/messages", {"max_tokens": 32_000}, 32_000),
        ("/v1/chat/completions", {"max_completion_tokens": 10, "max_tokens": 20, "n": 3}, 30),
        ("/v1/chat/completions", {"max_tokens": "many"}, None),
        ("/v1/embeddings", {"max_tokens": 5}, 0),
        ("/v1/responses", {"max_output_tokens": 7}, 7),
        ("/v1beta/models/m:generateContent", {"generationConfig": {"maxOutputTokens": 9, "candidateCount": 2}}, 18),
        ("/v1beta/models/m:generateContent", {}, None),
    ],
)
def test_the_limit_of_the_output_is_read_from_the_request(path: str, body: dict[str, Any], limit: int | None) -> None:
    kind: ApiKind = "gemini" if "models" in path else "messages" if "messages" in path else "chat"
    request = request_of(kind, "POST", path, json.dumps(body).encode(), base="")
    assert request is not None
    assert request.max_output_tokens == limit
