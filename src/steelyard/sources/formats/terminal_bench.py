"""Terminal-Bench's results.json, of a whole run and of one trial."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import document, label
from steelyard.records import (
    Amount,
    CheckMessage,
    Count,
    Failure,
    FailureCause,
    Finding,
    Rejected,
    SessionStep,
    StepRole,
    TestResults,
    Usage,
    bounded_check_text,
    moment,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import conditions_from, outcome_of, run_from
from steelyard.sources.formats._stated_figures import stated_accuracy, stated_count, stated_pass_at_k
from steelyard.sources.formats._step_values import text_of_file

NAME = "terminal-bench"
CAUSES: dict[str, FailureCause] = {
    "agent_timeout": "agent",
    "context_length_exceeded": "agent",
    "output_length_exceeded": "agent",
    "fatal_llm_parse_error": "agent",
    "unknown_agent_error": "unknown",
    "unknown": "unknown",
    "test_timeout": "unknown",
    "parse_error": "infrastructure",
    "agent_installation_failed": "infrastructure",
    "setup_timeout": "infrastructure",
}
_ATTEMPT = re.compile(r"\.(\d+)-of-\d+")


class Trial(msgspec.Struct, kw_only=True):
    """One attempt at one task."""

    id: str | None = None
    uuid: str | None = None
    trial_name: str
    task_id: str
    is_resolved: bool | None
    failure_mode: str | None = None
    parser_results: dict[str, str] | None = None
    total_input_tokens: Count | None = None
    total_output_tokens: Count | None = None
    total_cost: Amount | None = None
    trial_started_at: str | None = None
    trial_ended_at: str | None = None
    agent_started_at: str | None = None
    agent_ended_at: str | None = None


class Results(msgspec.Struct, kw_only=True):
    """All trials of a run, with the figures that it states itself."""

    id: str | None = None
    results: list[Trial]
    accuracy: float | None = None
    n_resolved: int | None = None
    pass_at_k: Any = None  # Any: figures by k, as far as they are any


class Metadata(msgspec.Struct):
    """What the run was: agent and model, where they were recorded."""

    run_id: str | None = None
    agent_name: str | None = None
    model_name: str | None = None


_RESULTS = msgspec.json.Decoder(Results)
_TRIAL = msgspec.json.Decoder(Trial)
_METADATA = msgspec.json.Decoder(Metadata)


def recognizes(head: Head) -> bool:
    """A trial with a task, a verdict and a failure mode, alone or in a list of results."""
    trial = ("trial_name", "task_id", "is_resolved")
    return head.has(*trial) or head.has(*(f"results[].{name}" for name in trial))


def read(path: Path) -> Iterator[ReadItem]:
    """One part per trial; for a whole run also its stated figures, compared with ours."""
    whole = "results" in head_of(path).shape
    if not whole:
        trial = document(path, _TRIAL)
        yield _part(trial, path, owns=path.parent, about=_metadata(path.parent.parent.parent))
        return
    results = document(path, _RESULTS)
    about = _metadata(path.parent)
    for trial in results.results:
        yield _part(trial, path, owns=path.parent / trial.task_id / trial.trial_name, about=about)
    yield from _stated(results, path)


def steps(path: Path, session: str | None) -> Iterator[SessionStep | Rejected]:
    """Yield the prompts and answers that the harness kept, else what the terminal showed at the end."""
    for folder in _trial_folders(path, session):
        found = False
        for step in _episode_steps(folder):
            found = True
            yield step
        if not found and not (folder / "sessions" / "agent.cast").is_file():
            pane = folder / "panes" / "post-agent.txt"
            if text := text_of_file(pane):
                yield SessionStep(kind="tool_result", role="tool", result=text, source_path=str(pane))


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:
    """Yield what the tests printed, of a trial that is not resolved."""
    for folder in _trial_folders(path, session, is_unresolved=True):
        if text := text_of_file(folder / "panes" / "post-test.txt"):
            yield CheckMessage(name="tests", kind="test", passed=False, text=bounded_check_text(text))


def _trial_folders(path: Path, session: str | None, *, is_unresolved: bool = False) -> Iterator[Path]:
    whole = "results" in head_of(path).shape
    run = None if not whole else _metadata(path.parent).run_id
    for trial in document(path, _RESULTS).results if whole else [document(path, _TRIAL)]:
        folder = path.parent / trial.task_id / trial.trial_name if whole else path.parent
        known = _id(trial, _metadata(path.parent.parent.parent).run_id if not whole else run)
        if session in (None, known) and not (is_unresolved and trial.is_resolved):
            yield folder


def _episode_steps(folder: Path) -> Iterator[SessionStep]:
    """Yield the steps of `agent-logs/episode-N`, as the harness's own agents write them."""
    episodes = [each for each in (folder / "agent-logs").glob("episode-*") if each.name[8:].isdigit()]
    for episode in sorted(episodes, key=lambda each: int(each.name[8:][:9])):
        for name, role in EPISODE_FILES:
            text = text_of_file(episode / name)
            if text:
                yield SessionStep(kind="message", role=role, text=text, source_path=str(episode / name))


EPISODE_FILES: tuple[tuple[str, StepRole], ...] = (
    ("prompt.txt", "user"),
    ("response.txt", "assistant"),
    ("response.json", "assistant"),
)


def _metadata(folder: Path) -> Metadata:
    """Return the content of run_metadata.json; a run without one, or with a broken one, is still a run."""
    path = folder / "run_metadata.json"
    try:
        metadata = document(path, _METADATA)
    except (OSError, UnreadableFileError):
        return Metadata(run_id=folder.name)
    return metadata


def _part(trial: Trial, path: Path, *, owns: Path, about: Metadata) -> RunPart:
    usage, sure = _usage(trial)
    attempt = _ATTEMPT.search(trial.trial_name)
    times = (trial.agent_started_at, trial.agent_ended_at)
    started, ended = map(moment, times if all(times) else (trial.trial_started_at, trial.trial_ended_at))
    cost = trial.total_cost or None  # a cost of 0 is what the harness writes when it has no price
    failure = _failure(trial)
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": sure,
            "cost_usd": "reported" if cost is not None else "unknown",
            "passed": "unknown" if trial.is_resolved is None else "reported",
            "tests": "reported" if trial.parser_results else None,
        },
        id=_id(trial, about.run_id),
        experiment=label(about.run_id),
        task=label(trial.task_id),
        agent=label(about.agent_name),
        model=label(about.model_name),
        attempt=int(attempt[1][:9]) if attempt else None,
        started_at=started,
        ended_at=ended,
        passed=trial.is_resolved,
        outcome=outcome_of(trial.is_resolved, errored=failure is not None),
        failure=failure,
        conditions=conditions_from(harness=NAME),
        usage=usage,
        cost_usd=cost,
        tests=_tests(trial.parser_results),
    )
    return RunPart(run=run, path=str(path), role="owner", owns=str(owns))


def _id(trial: Trial, run: str | None) -> str:
    return label(trial.id) or label(trial.uuid) or f"{run}/{trial.trial_name}"[:1024]


def _usage(trial: Trial) -> tuple[Usage | None, Literal["reported", "unknown"]]:
    """Tokens as stated; 0 and 0 is what agents leave that do not count."""
    if not trial.total_input_tokens and not trial.total_output_tokens:
        return None, "unknown"
    return Usage(input_tokens=trial.total_input_tokens, output_tokens=trial.total_output_tokens), "reported"


def _failure(trial: Trial) -> Failure | None:
    mode = trial.failure_mode
    if mode in (None, "unset", "none"):
        return None
    return Failure(cause=CAUSES.get(str(mode), "unknown"), message=mode)


def _tests(results: dict[str, str] | None) -> TestResults | None:
    if not results:
        return None
    passed = tuple(name for name, word in results.items() if word == "passed")
    return TestResults(passed=passed, failed=tuple(name for name in results if results[name] != "passed"))


def _stated(results: Results, path: Path) -> Iterator[Finding]:
    verdicts = [trial.is_resolved for trial in results.results]
    by_task: dict[str, list[bool | None]] = {}
    for trial in results.results:
        by_task.setdefault(trial.task_id, []).append(trial.is_resolved)
    if results.accuracy is not None and verdicts:
        yield stated_accuracy(
            str(path),
            stated=results.accuracy,
            of=len(verdicts),
            how="trials without a verdict count as unresolved",
            verdicts=verdicts,
        )
    yield from stated_pass_at_k(str(path), results.pass_at_k, by_task)
    yield from stated_count(str(path), "resolved trials", stated=results.n_resolved, listed=verdicts.count(True))


FORMAT = LogFormat(
    name=NAME,
    title="Terminal-Bench results.json (runs and trials)",
    kind="trials",
    yields=(
        "passed",
        "outcome",
        "failure",
        "tests",
        "usage if the agent reports it",
        "times",
        "reported accuracy and pass@k",
    ),
    recognizes=recognizes,
    read=read,
    steps=steps,
    check_messages=check_messages,
)
