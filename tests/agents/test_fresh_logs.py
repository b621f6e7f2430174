"""Logs that real agents leave today, against what the model itself counted: `make test-agents`.

Each agent is installed by name and runs as a plan would run it: in the sandbox, without a network, through relay and
proxy to a scripted model. The Run of the trial must say what the model counted, to the token, and so must each of the
agent's logs alone: tokens by kind, calls, model, tool calls and outcome. Where a log cannot show something, `LOGS`
names it, and what is read from it must be marked as a lower bound or the field must be missing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.model_server import SUBAGENT_TOOL, Script, ServedCall, Step
from agents.running import VERSIONS, AgentRun, agents, install, run_agent
from runner.execution import KEY
from steelyard.questions.read import RunReading
from steelyard.records import TOKEN_KINDS, Run

pytestmark = [pytest.mark.long, pytest.mark.agents]

FIELDS = {
    "input": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_5m_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
}
BOTH = "stdout and session"
HIDES_CALLS = ("opencode", "aider")
"""Agents that make calls that none of their logs tells of: for a title, for a commit message."""
MAX_REFUSED = 4
"""Calls that an agent can make before a rejected key stops it: two, and those under way at the same time."""
GIVES_UP = ("claude-code", "codex")
"""Agents that end when they have been told for a while that they ask too often."""


@dataclass(frozen=True)
class Log:
    """What a log can show; what is said here is the difference to the model's count."""

    shows_each_call: bool = True
    """Otherwise it states sums, and how many calls there were stays unknown."""
    model: str | None = "{model}"
    """How it names the model; None where it does not."""
    hides_title: bool = False
    """The agent asks for a title of the session, and no log of it says so: the usage is a lower bound."""
    success: bool | None = None
    """Success as claimed by the agent."""
    outcome: str = "not_scored"
    tells_failure: bool = True
    """Otherwise a run whose every call was refused looks like one without an end."""


LOGS: dict[tuple[str, str], Log] = {
    ("claude-code", "stdout"): Log(shows_each_call=False, success=True),
    ("claude-code", "session"): Log(),
    ("claude-code", BOTH): Log(success=True),
    ("codex", "stdout"): Log(shows_each_call=False, model=None, success=True),
    ("codex", "session"): Log(),
    ("codex", BOTH): Log(success=True),
    ("gemini-cli", "stdout"): Log(shows_each_call=False, success=True),
    ("gemini-cli", "session"): Log(tells_failure=False),
    ("gemini-cli", BOTH): Log(success=True),
    ("opencode", "stdout"): Log(model=None, hides_title=True),
    ("opencode", "session"): Log(hides_title=True),
    ("opencode", BOTH): Log(hides_title=True),
    ("mini-swe-agent", "session"): Log(model="openai/{model}"),
    ("inspect", "session"): Log(shows_each_call=False, model="openai-api/scripted/{model}", outcome="passed"),
}
LOGS = {(name, log): facts for (name, log), facts in LOGS.items() if name in agents()}
REFUSED = [(name, status) for name in agents() for status in (401, 429) if status == 401 or name in GIVES_UP]
"""The refusals after which an agent ends by itself; the other agents try again for longer than a test waits."""


class Fresh:
    """Runs of agents, each made once."""

    def __init__(self, scratch: Path, versions: dict[str, str | None]) -> None:
        self._versions = versions
        kept = os.environ.get("STEELYARD_AGENTS")
        self.installs = Path(kept).resolve() if kept else scratch / "installs"
        self.scratch = scratch
        self._runs: dict[tuple[str, int], AgentRun] = {}

    def run(self, name: str, status: int = 200) -> AgentRun:
        """The agent's one run against a model that answers, or that refuses with the status."""
        if (name, status) not in self._runs:
            agent = agents()[name]
            folder = self.scratch / f"{name}-{status}"
            made = run_agent(agent, install(agent, self.installs), folder, status=status)
            self._runs[name, status], self._versions[name] = made, made.version
        return self._runs[name, status]


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Fresh:
    return Fresh(tmp_path_factory.mktemp("agents"), pytestconfig.stash.setdefault(VERSIONS, {}))


def read_back(made: AgentRun, log: str) -> Run:
    """The one run that the log tells of."""
    paths = [path for name, paths in made.logs.items() if log in (name, BOTH) for path in paths]
    assert paths, made.words  # it no longer keeps its log there
    reading = RunReading(paths)
    runs = list(reading)
    assert reading.summary.rejected_count == 0
    assert len(runs) == 1, made.words
    return runs[0]


def counted(calls: Sequence[ServedCall]) -> dict[str, int]:
    """Tokens by field of a run's usage."""
    kinds = {kind: sum(call.usage[kind] for call in calls) for kind in (calls[0].usage if calls else {})}
    return {FIELDS[kind]: tokens for kind, tokens in kinds.items()}


def logged(made: AgentRun, log: Log) -> list[ServedCall]:
    """The calls that a log can know of."""
    return [call for call in made.calls if call.offered_tools or not log.hides_title]


@pytest.mark.parametrize("name", agents())
def test_an_agent_does_its_task_and_ends(name: str, fresh: Fresh) -> None:
    made = fresh.run(name)
    evidence = made.executed.evidence
    assert (evidence.exit_status, evidence.ended_by) == (0, "itself"), made.words
    assert {call.model for call in made.calls} == {agents()[name].model}
    if name != "inspect":  # works in a folder of its own
        assert (made.executed.folder / "work" / "hello.txt").read_text(encoding="utf-8") == "hello\n"


@pytest.mark.parametrize("name", agents())
def test_the_run_of_a_trial_is_what_the_model_counted(name: str, fresh: Fresh) -> None:
    made = fresh.run(name)
    run, served = made.executed.run, made.calls
    assert [counted([call]) for call in served] == [
        {field: getattr(call.usage, field) for field in counted(served)} for call in run.calls or ()
    ]
    assert {call.model for call in run.calls or ()} == {agents()[name].model}
    has_tools = any(call.offered_tools for call in served)
    assert run.tool_calls == (sum(call.tool is not None for call in served) if has_tools else None)
    assert (run.provenance or {})["usage"] == "counted"
    assert {call.key.removeprefix("Bearer ") for call in served} == {KEY}  # the agent never had it
    expected = {"usage_differs_from_log", "calls_not_logged"} if name in HIDES_CALLS else set()
    assert {finding.code for finding in made.executed.findings} == expected


@pytest.mark.skipif("gemini-cli" not in agents(), reason="another agent was asked for")
def test_tool_calls_of_subagents_are_counted(fresh: Fresh) -> None:
    agent = agents()["gemini-cli"]
    script = Script(
        steps=(Step(call=("invoke_agent", {"agent_name": "generalist", "prompt": "Look."})), Step(say="done")),
        subagent_steps=(Step(run="echo 1"), Step(run="echo 2"), Step(call=(SUBAGENT_TOOL, {"result": "ok"}))),
        has_many_calls=True,
    )
    made = run_agent(agent, install(agent, fresh.installs), fresh.scratch / "subagents", script=script)
    called = [call.tool for call in made.calls if call.tool]
    assert called[:4] == ["invoke_agent", "run_shell_command", "run_shell_command", SUBAGENT_TOOL]
    assert made.executed.run.tool_calls == len(called)
    assert made.executed.findings == ()


@pytest.mark.parametrize("name", agents())
def test_nothing_of_an_agent_is_left_running(name: str, fresh: Fresh) -> None:
    fresh.run(name)
    programs = str(agents()[name].place(fresh.installs).resolve())
    lines = [(entry / "cmdline").read_bytes() for entry in Path("/proc").glob("[0-9]*") if (entry / "cmdline").exists()]
    assert not [line for line in lines if programs.encode() in line]


@pytest.mark.parametrize(("name", "log"), LOGS)
def test_tokens_by_kind_are_those_the_model_counted(name: str, log: str, fresh: Fresh) -> None:
    made, facts = fresh.run(name), LOGS[name, log]
    run = read_back(made, log)
    expected = counted(logged(made, facts))
    usage = run.total_usage
    assert usage is not None
    assert {kind: getattr(usage, kind) for kind in expected} == expected
    others = [getattr(usage, kind) for kind in TOKEN_KINDS if kind not in expected and kind != "total_tokens"]
    assert not any(others)  # the model stated none of them


@pytest.mark.parametrize(("name", "log"), LOGS)
def test_what_a_log_cannot_show_makes_it_a_lower_bound(name: str, log: str, fresh: Fresh) -> None:
    made, facts = fresh.run(name), LOGS[name, log]
    unseen = [call for call in made.calls if call not in logged(made, facts)]
    assert bool(unseen) == facts.hides_title  # an agent that no longer asks for a title is no longer a lower bound
    provenance = read_back(made, log).provenance or {}
    assert (provenance["usage"] == "lower_bound") == bool(unseen)


@pytest.mark.parametrize(("name", "log"), LOGS)
def test_calls_model_and_tools_are_those_the_model_saw(name: str, log: str, fresh: Fresh) -> None:
    made, facts = fresh.run(name), LOGS[name, log]
    run, seen = read_back(made, log), logged(made, facts)
    expected_model = None if facts.model is None else facts.model.format(model=agents()[name].model)
    assert run.model == expected_model
    assert run.tool_calls == sum(call.tool is not None for call in seen)
    calls = run.calls or ()
    if facts.shows_each_call:
        assert [counted([call]) for call in seen] == [
            {field: getattr(call.usage, field) for field in counted(seen)} for call in calls
        ]
        assert run.iterations == len(seen)
    else:
        assert not calls or any(call.summed for call in calls)


@pytest.mark.parametrize(("name", "log"), LOGS)
def test_a_run_that_ended_well_says_so(name: str, log: str, fresh: Fresh) -> None:
    run, facts = read_back(fresh.run(name), log), LOGS[name, log]
    assert (run.outcome, run.success, run.failure) == (facts.outcome, facts.success, None)


@pytest.mark.parametrize(("name", "log"), LOGS)
def test_times_lie_within_the_run(name: str, log: str, fresh: Fresh) -> None:
    made = fresh.run(name)
    run = read_back(made, log)
    for seconds in (run.elapsed_seconds, run.duration_seconds):
        assert seconds is None or 0 <= seconds <= (made.executed.run.elapsed_seconds or 0)
    if log != "stdout":
        assert run.elapsed_seconds is not None


@pytest.mark.parametrize(("name", "status"), REFUSED)
def test_a_try_without_an_answer_did_not_start(name: str, status: int, fresh: Fresh) -> None:
    made = fresh.run(name, status)
    ending = made.executed.ending
    assert made.executed.evidence.ended_by in ("itself", "endpoint"), made.words
    assert {call.status for call in made.calls} == {status}
    assert status != 401 or len(made.calls) <= MAX_REFUSED
    assert (ending.name, ending.cause, ending.stops_agent) == ("not_started", "infrastructure", status == 401)


@pytest.mark.parametrize(
    ("name", "status", "log"), [(name, status, log) for name, status in REFUSED for of, log in LOGS if of == name]
)
def test_a_model_that_refuses_is_no_fault_of_the_agent(name: str, status: int, log: str, fresh: Fresh) -> None:
    made, facts = fresh.run(name, status), LOGS[name, log]
    run = read_back(made, log)
    assert run.success is not True
    assert run.stated_pass is None
    assert not any(getattr(run.total_usage, kind, None) for kind in TOKEN_KINDS)  # nothing was served
    assert run.tool_calls == 0
    if facts.tells_failure:
        assert run.failure is not None
        was_stopped = made.executed.evidence.ended_by == "endpoint"  # so its log may say that it was interrupted
        told = [("errored", "infrastructure"), *([("not_scored", "cancelled")] if was_stopped else [])]
        assert (run.outcome, run.failure.cause) in told
    else:
        assert (run.outcome, run.failure) == ("not_scored", None)
