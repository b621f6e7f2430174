"""A runner that is killed at any moment: the next one takes up what is left, and every call is accounted for."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from agents.model_server import BASES, ModelServer, Script, Step, model_server
from processes import alive, until
from runner.execution import needs_bubblewrap
from runner.planned import MODEL, started, written_plan
from steelyard.cli import run
from steelyard.runner import ExecutionResult, PlanFolder, open_plan
from steelyard.runner._metering_records import MeteredCall, read_call_log

pytestmark = needs_bubblewrap
STEPS = (Step(run="printf 'hello\\n' > hello.txt"), Step(run="sleep 0.1"), Step(say="hello.txt says hello."))


def finished(folder: PlanFolder) -> dict[str, tuple[int, int]]:
    """Of each trial with a result: when it was written, and how many executions there are."""
    return {
        trial: ((folder.trial(trial) / "result.json").stat().st_mtime_ns, len(folder.executions(trial)))
        for trial in folder.finished()
    }


def check_calls(folder: PlanFolder, server: ModelServer) -> None:
    """Every call that the model served stands in exactly one execution; one without an end makes a lower bound."""
    served: dict[str, list[int]] = defaultdict(list)
    for call in server.calls:
        served[call.model].append(call.number)
    for trial in folder.trials():
        assert trial.model is not None
        result = folder.result(trial.id)
        assert result is not None, trial
        ended: Counter[int] = Counter()
        open_calls = 0
        for path, told in zip(folder.executions(trial.id), result.executions, strict=True):
            calls = read_call_log(path / "metering.jsonl").calls
            numbers = [number_of(call) for call in calls if call.usage is not None]
            ended.update(numbers)
            open_calls += len(calls) - len(numbers)
            check_execution(told, calls)
        assert set(ended.values()) <= {1}
        assert set(ended) <= set(served[trial.model])
        assert len(set(served[trial.model]) - set(ended)) <= open_calls


def calls_served(server: ModelServer) -> Counter[str | None]:
    """Calls that the model has counted so far, by model and so by trial."""
    return Counter(call.model for call in server.calls)


def calls_recorded(folder: PlanFolder) -> Counter[str | None]:
    """Calls in the logs of all executions, by model and so by trial."""
    logs = folder.root.glob("trials/*/retry-*/metering.jsonl")
    return Counter(call.model_asked for log in logs for call in read_call_log(log).calls)


def interrupted(folder: PlanFolder) -> int:
    """Executions whose runner was killed."""
    results = [folder.result(trial) for trial in folder.finished()]
    return sum(told.ending.name == "interrupted" for result in results if result for told in result.executions)


def number_of(call: MeteredCall) -> int:
    assert call.usage is not None
    assert call.usage.input_tokens is not None
    return call.usage.input_tokens - BASES["input"]


def check_execution(told: ExecutionResult, calls: tuple[MeteredCall, ...]) -> None:
    assert told.calls == len(calls)
    assert told.is_lower_bound == any(call.ended is None or call.usage is None for call in calls)
    known = sum(call.usage.total or 0 for call in calls if call.usage)
    assert (told.usage.total if told.usage else None) == (known if known or not calls else None)


def killed(process: subprocess.Popen[bytes], server: ModelServer, chance: random.Random) -> None:
    """Kill a runner while its trials run, however fast it is today; every fifth while it starts."""
    calls = len(server.calls) + chance.randint(1, 4)
    if chance.random() < 0.8:
        until(lambda: len(server.calls) >= calls or process.poll() is not None)
    time.sleep(chance.uniform(0.0, 0.1))
    process.kill()
    process.communicate()


def spent(folder: PlanFolder) -> tuple[float, float]:
    """Dollars that the executions are known to have cost, and what their calls without an end may have cost more."""
    known = reserved = 0.0
    for trial in folder.trials():
        for path in folder.executions(trial.id):
            outcome = folder.outcome(path)
            assert outcome is not None
            known += outcome.result.cost_usd or 0.0
            assert outcome.result.reserved_usd is not None
            reserved += outcome.result.reserved_usd
    return known, reserved


def check_spending(folder: PlanFolder, server: ModelServer) -> float:
    """What the model charged lies between what is known and that with the reserve."""
    charged = sum(sum(call.usage.values()) for call in server.calls) / 1e6  # every token costs $1 per million
    known, reserved = spent(folder)
    assert known - 1e-9 <= charged <= known + reserved + 1e-9
    return charged


def crash_series(tmp_path: Path, *, trials: int, kills: int, seed: int, count_delay_seconds: float = 0.0) -> None:
    chance = random.Random(seed)
    marker = f"crash-{os.getpid()}-{seed}"
    folder = PlanFolder(tmp_path / "runs")
    script = Script(steps=STEPS, has_many_calls=True, delay_seconds=0.02, count_delay_seconds=count_delay_seconds)
    with model_server(script) as server:
        budget = {"usd": 1.0 * (trials + kills)}  # more than all calls without an end can have cost
        plan = written_plan(tmp_path, server.url, trials=trials, marker=marker, budget=budget)
        before: dict[str, tuple[int, int]] = {}
        for _ in range(kills):
            killed(started(plan, folder.root), server, chance)
            until(lambda: not alive(marker))  # the sandboxes end with their runner
            assert calls_served(server) <= calls_recorded(folder)  # those in flight may arrive later
            now = finished(folder)
            assert before.items() <= now.items()  # what is done stays as it is
            before = now
        process = started(plan, folder.root)
        said = process.communicate()
        assert process.returncode == 0, said
        assert before.items() <= finished(folder).items()
        assert folder.finished() == {trial.id for trial in open_plan(plan).trials}
        assert len(folder.finished()) == trials
        check_calls(folder, server)
        check_spending(folder, server)
        assert {call.key for call in server.calls} == {"Bearer key-of-the-endpoint"}
    assert interrupted(folder) >= kills / 2
    lines = [json.loads(line) for line in (folder.root / "runs.jsonl").read_text().splitlines()]
    assert sorted(line["model"] for line in lines) == sorted(MODEL.format(number) for number in range(trials))
    assert {line["outcome"] for line in lines} == {"passed"}
    assert not list(folder.root.rglob("claim"))
    assert not alive(marker)


@pytest.mark.parametrize("count_delay_seconds", [0.0, 0.3])
def test_a_runner_that_is_killed_thrice_is_resumed(tmp_path: Path, count_delay_seconds: float) -> None:
    crash_series(tmp_path, trials=6, kills=3, seed=1, count_delay_seconds=count_delay_seconds)


def test_a_call_is_recorded_before_the_model_receives_it(tmp_path: Path) -> None:
    marker, folder = f"arrival-{os.getpid()}", PlanFolder(tmp_path / "runs")
    with model_server(Script(steps=STEPS, has_many_calls=True)) as server:
        plan = written_plan(tmp_path, server.url, trials=1, marker=marker)
        for number in range(1, 4):
            process = started(plan, folder.root)
            server.on_call = process.kill  # long before its first call: it has to start
            process.communicate()
            until(lambda: not alive(marker))
            assert calls_served(server) == calls_recorded(folder) == {MODEL.format(0): number}
        server.on_call = None
        process = started(plan, folder.root)
        said = process.communicate()
        assert process.returncode == 0, said
        check_calls(folder, server)
        assert calls_served(server) == calls_recorded(folder)
    assert interrupted(folder) == 3


@pytest.mark.long
def test_a_runner_that_is_killed_200_times_is_resumed(tmp_path: Path) -> None:
    crash_series(tmp_path, trials=300, kills=200, seed=2)


@pytest.mark.parametrize("kills", [2, pytest.param(40, marks=pytest.mark.long)])
def test_a_killed_runner_exceeds_no_budget_and_goes_on_with_more(tmp_path: Path, kills: int) -> None:
    chance, marker, parallel = random.Random(kills), f"budget-{os.getpid()}", 4
    folder, limit, max_call = PlanFolder(tmp_path / "runs"), 0.3 * kills, 0.04
    with model_server(Script(steps=STEPS, has_many_calls=True, delay_seconds=0.02)) as server:
        plan = written_plan(tmp_path, server.url, trials=6 * kills, marker=marker, budget={"usd": limit})
        for _ in range(kills):
            killed(started(plan, folder.root), server, chance)
            until(lambda: not alive(marker))
        process = started(plan, folder.root)
        out, err = process.communicate()
        assert process.returncode == 1, err
        assert b"raise the budget and run the same command again" in out
        charged = check_spending(folder, server)
        _, reserved = spent(folder)
        assert charged <= limit + reserved + parallel * max_call  # calls in progress when the budget is used up
        written_plan(tmp_path, server.url, trials=6 * kills, marker=marker, budget={"usd": 100.0 * limit})
        process = started(plan, folder.root)
        out, err = process.communicate()
        assert process.returncode == 0, err
        check_calls(folder, server)
        check_spending(folder, server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_what_runs_keeps_what_is_done_and_the_same_command_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    marker = f"stop-{os.getpid()}"
    folder = PlanFolder(tmp_path / "runs")
    with model_server(Script(steps=STEPS, has_many_calls=True)) as server:
        plan = written_plan(tmp_path, server.url, trials=6, marker=marker)
        process = started(plan, folder.root)
        until(lambda: len(folder.finished()) >= 1)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130, err
        assert b"run the same command again to resume" in out
        assert not alive(marker)
        assert not list(folder.root.rglob("claim"))
        done = finished(folder)
        assert 1 <= len(done) < 6
        told = [json.loads(line)["x_ending"] for line in (folder.root / "runs.jsonl").read_text().splitlines()]
        assert set(told) == {"passed", "cancelled"}
        process = started(plan, folder.root)
        process.communicate()
        assert process.returncode == 0
        assert done.items() <= finished(folder).items()
        check_calls(folder, server)


def test_two_runners_share_a_plan(tmp_path: Path) -> None:
    folder = PlanFolder(tmp_path / "runs")
    with model_server(Script(steps=STEPS, has_many_calls=True)) as server:
        plan = written_plan(tmp_path, server.url, trials=8, marker=f"both-{os.getpid()}")
        both = [started(plan, folder.root, "--parallel", "2") for _ in range(2)]
        assert [process.communicate() and process.returncode in (0, 1) for process in both] == [True, True]
        last = started(plan, folder.root)
        last.communicate()
        assert last.returncode == 0
        check_calls(folder, server)
    assert [len(folder.executions(trial)) for trial in folder.finished()] == [1] * 8


def test_a_key_that_is_not_set_is_told_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = written_plan(tmp_path, "http://127.0.0.1:1", trials=1, marker="key")
    assert run(["run", str(plan), "--out", str(tmp_path / "runs")]) == 2
    assert "export SCRIPTED_KEY=..." in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
