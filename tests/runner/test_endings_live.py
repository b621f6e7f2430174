"""One plan whose agents all end differently; each ending follows from evidence, and only some are retried."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from agents.model_server import ModelServer, Script, Step, model_server
from processes import alive
from runner.execution import SHELL_AGENT, needs_bubblewrap
from runner.planned import KEY, KEY_VARIABLE, started
from steelyard.runner import PlanFolder
from steelyard.runner._metering_records import MeteredCall, read_call_log

pytestmark = needs_bubblewrap
HELLO = Step(run="printf 'hello\\n' > hello.txt")
ENDPOINTS = {
    "well": Script(has_many_calls=True),
    "wrong": Script(steps=(Step(run="printf 'bye\\n' > hello.txt"), Step(say="done"))),
    "endless": Script(steps=(HELLO,), has_many_calls=True),
    "keyless": Script(status=401, has_many_calls=True),
    "busy": Script(status=429, has_many_calls=True),
    "shaky": Script(statuses=(500, 503), has_many_calls=True),
    "shy": Script(statuses=(500,), has_many_calls=True),
    "silent": Script(hangs_from=0, has_many_calls=True),
    "tired": Script(hangs_from=1, has_many_calls=True),
}
AGENTS = {
    "passes": ("well", "agent"),
    "fails": ("wrong", "agent"),
    "unauthorized": ("keyless", "retry"),
    "saturated": ("busy", "retry"),
    "patient": ("shaky", "retry"),
    "second-run": ("shy", "agent"),
    "unanswered": ("silent", "agent"),
    "half-answered": ("tired", "agent"),
    "hangs": ("well", "hang"),
    "orphans": ("well", "orphan"),
    "crashes": ("well", "crash"),
    "garbage": ("well", "garbage"),
    "spends": ("endless", "agent"),
}
"""Agent to endpoint, and what the shell agent does besides."""


@dataclass(frozen=True)
class Ended:
    """The plan after its run."""

    servers: dict[str, ModelServer]
    folder: PlanFolder
    status: int
    said: str
    runs: dict[str, dict[str, Any]]
    marker: str

    def calls(self, agent: str) -> list[list[MeteredCall]]:
        """The calls of every execution of the agent's one trial."""
        trial = next(trial for trial in self.folder.trials() if trial.agent == agent)
        return [list(read_call_log(path / "metering.jsonl").calls) for path in self.folder.executions(trial.id)]


def plan_text(urls: dict[str, str], marker: str) -> str:
    endpoints = "".join(
        f'[endpoints.{name}]\nkind = "chat"\nurl = "{url}"\nkey = "env:{KEY_VARIABLE}"\n' for name, url in urls.items()
    )
    agents = "".join(
        f'[[agents]]\nuse = "command"\nname = "{name}"\nmodels = ["m"]\nendpoint = "{endpoint}"\n'
        f'command = ["bash", "agent.sh", "{how}", "{marker}", "{name}"]\n'
        for name, (endpoint, how) in AGENTS.items()
    )
    return f"""
[plan]
name = "endings"
parallel = 4
time_limit = "8s"
retries = 1
retry_wait = "0.1s"
budget = {{ trial_tokens = 100000 }}
[[tasks]]
id = "hello"
prompt = "Write hello into the file hello.txt."
work = "repository"
verify = {{ command = ["grep", "-qx", "hello", "hello.txt"] }}
{endpoints}
{agents}"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    place = tmp_path_factory.mktemp("endings")
    (place / "repository").mkdir()
    (place / "repository" / "agent.sh").write_bytes(SHELL_AGENT)
    marker = str(300_000 + os.getpid())  # seconds that a process left behind would sleep
    with ExitStack() as opened:
        servers = {name: opened.enter_context(model_server(script)) for name, script in ENDPOINTS.items()}
        plan = place / "plan.toml"
        plan.write_text(plan_text({name: server.url for name, server in servers.items()}, marker))
        folder = PlanFolder(place / "runs")
        process = started(plan, folder.root)
        out, err = process.communicate(timeout=200)
        lines = (folder.root / "runs.jsonl").read_text().splitlines()
        runs = {run["agent"]: run for run in map(json.loads, lines)}
        yield Ended(servers, folder, process.returncode, (out + err).decode(), runs, marker)


EXPECTED = {
    "passes": ("passed", None, True, 1),
    "fails": ("failed", None, False, 1),
    "unauthorized": ("not_started", "infrastructure", None, 1),
    "saturated": ("endpoint_saturated", "infrastructure", None, 2),
    "patient": ("passed", None, True, 1),
    "second-run": ("passed", None, True, 2),
    "unanswered": ("not_started", "infrastructure", None, 2),
    "half-answered": ("agent_timeout", "agent", True, 1),
    "hangs": ("agent_timeout", "agent", True, 1),
    "orphans": ("passed", None, True, 1),
    "crashes": ("agent_crashed", "agent", True, 1),
    "garbage": ("passed", None, True, 1),
    "spends": ("budget_trial", "agent", True, 1),
}
"""Ending, whose fault it was, the verdict, and the executions."""


@pytest.mark.parametrize("agent", AGENTS)
def test_an_ending_is_told_by_evidence(agent: str, ended: Ended) -> None:
    run = ended.runs[agent]
    failure = run.get("failure", {})
    told = (run["x_ending"], failure.get("cause"), run.get("passed"), len(ended.calls(agent)))
    assert told == EXPECTED[agent], failure


def test_trials_without_a_result_are_told_and_leave_the_others_alone(ended: Ended) -> None:
    assert ended.status == 1
    assert "10 of 13 trials done (9 passed, 1 failed)" in ended.said
    assert "unauthorized was stopped" in ended.said
    assert len(ended.folder.finished()) == 10


def test_every_call_that_a_model_served_stands_in_a_try(ended: Ended) -> None:
    for name, server in ended.servers.items():
        agents = [agent for agent, (endpoint, _) in AGENTS.items() if endpoint == name]
        metered = [call for agent in agents for calls in ended.calls(agent) for call in calls]
        assert len(metered) == len(server.calls) > 0, name
        counted = sum(call.usage.total or 0 for call in metered if call.usage)
        answered = [call for call in server.calls if not is_silent(server.script, call.number)]
        assert counted == sum(sum(call.usage.values()) for call in answered), name
        assert {call.key for call in server.calls} == {f"Bearer {KEY}"}


def is_silent(script: Script, number: int) -> bool:
    return script.hangs_from is not None and number >= script.hangs_from


def test_statuses_say_who_failed(ended: Ended) -> None:
    assert [call.status for calls in ended.calls("unauthorized") for call in calls] == [401, 401]  # then it is stopped
    assert {call.status for calls in ended.calls("saturated") for call in calls} == {429}
    assert [call.status for (calls) in ended.calls("patient") for call in calls] == [500, 503, 200, 200]
    assert [[call.status for call in calls] for calls in ended.calls("second-run")] == [[500], [200, 200]]


def test_a_call_without_an_answer_makes_a_lower_bound(ended: Ended) -> None:
    for agent in ("unanswered", "half-answered"):
        (*_, last) = ended.calls(agent)[-1]
        assert (last.status, last.is_lower_bound, last.was_aborted) == (None, True, True)
        assert ended.runs[agent]["provenance"]["usage"] == "lower_bound"
    assert "at least 22,1" in ended.said


def test_tries_that_were_refused_cost_nothing_and_are_not_unknown(ended: Ended) -> None:
    trial = next(trial for trial in ended.folder.trials() if trial.agent == "second-run")
    result = ended.folder.result(trial.id)
    assert result is not None
    assert [told.usage.total if told.usage else None for told in result.executions] == [0, 44_200 + 12]  # calls 1 and 2


def test_a_budget_stops_in_mid_run_and_only_what_was_open_is_beyond_it(ended: Ended) -> None:
    (calls,) = ended.calls("spends")
    totals = [call.usage.total or 0 for call in calls if call.usage]
    assert sum(totals[:-1]) < 100_000 <= sum(totals)
    assert len(ended.servers["endless"].calls) == len(calls) == 5  # about 22,100 tokens each


def test_nothing_is_left_behind_and_the_key_is_nowhere(ended: Ended) -> None:
    assert not alive(ended.marker)
    assert not list(ended.folder.root.rglob("claim"))
    for path in ended.folder.root.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in ended.said
