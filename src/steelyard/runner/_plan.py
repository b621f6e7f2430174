"""Reading a plan: every mistake in it is found before anything starts, each with where it is and what to do."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from steelyard.errors import PlanError, SteelyardError, UnknownNameError, UsageError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.grading import BENCHMARKS
from steelyard.prices import DEFAULT_PRICE_TABLE, open_price_table
from steelyard.records import Missing, Record, json_schema, problem_text, unknown_field
from steelyard.runner._adapters import adapters
from steelyard.runner._digests import tree_digest
from steelyard.runner._plan_records import (
    ENVIRONMENT,
    FORMAT_VERSION,
    AgentUse,
    Endpoint,
    JudgeUse,
    Plan,
    PlanSettings,
    PlanTask,
    seconds_of,
)
from steelyard.runner._rubrics import read_rubric
from steelyard.runner._scripted import SCRIPTED, read_script
from steelyard.settings import TEXT_BYTES
from steelyard.sources import each_timing_format

Part = TypeVar("Part", bound=Record)
_UNREAD = Endpoint(kind="chat", url="unread")
"""Placeholder for an invalid endpoint while other errors are collected."""
SCHEMA_HINT = "see: steelyard schema plan"


NOP, ORACLE = "nop", "oracle"
"""The agents whose work is known: none, and the right one."""


class PlanRead:
    """A plan with the file it came from, against which its paths are taken."""

    def __init__(self, plan: Plan, path: Path, text: bytes) -> None:
        self.plan, self.path, self.text = plan, path, text
        self.adapters = adapters(path.parent)
        self.folder = path.parent.absolute()
        self.digest = hashlib.sha256(text).hexdigest()

    def with_tasks(self, tasks: Iterable[PlanTask]) -> PlanRead:
        """The plan with more tasks than its file names."""
        return PlanRead(msgspec.structs.replace(self.plan, tasks=(*self.plan.tasks, *tasks)), self.path, self.text)

    def path_of(self, text: str) -> Path:
        """The path that the plan names, relative to its folder."""
        return self.folder / text

    def prompt_of(self, task: PlanTask) -> str:
        """Prompt."""
        return task.prompt if task.prompt is not None else read_text(self.path_of(task.prompt_file or ""))

    @cached_property
    def _tasks(self) -> dict[str, PlanTask]:
        return {task.id: task for task in self.plan.tasks}

    @cached_property
    def _uses(self) -> dict[str, AgentUse]:
        return {use.label: use for use in (*self.calibrating, *self.plan.agents)}

    @cached_property
    def calibrating(self) -> tuple[AgentUse, ...]:
        """Agents that judging and measuring add: unchanged code and the reference solution."""
        if not self.plan.judges and self.plan.plan.measure is None:
            return ()
        listed = {use.use for use in self.plan.agents} | {use.label for use in self.plan.agents}
        needed = [NOP, *([ORACLE] if any(task.oracle for task in self.plan.tasks) else [])]
        return tuple(AgentUse(use=name) for name in needed if name not in listed)

    def task_of(self, name: str) -> PlanTask:
        """The task of that id."""
        return self._tasks[name]

    def use_of(self, label: str) -> AgentUse:
        """The agent of that label."""
        return self._uses[label]

    @cached_property
    def workers(self) -> dict[str, AgentUse | JudgeUse]:
        """Agents and judges by label."""
        uses: list[AgentUse | JudgeUse] = [*self.plan.judges, *self._uses.values()]
        return {use.label: use for use in uses}

    def endpoint_of(self, use: AgentUse | JudgeUse) -> str | None:
        """The endpoint that an agent or judge uses: the one it names, else the only one; None where it calls none."""
        if self.adapters[use.use].speaks is None:
            return None
        only = next(iter(self.plan.endpoints)) if len(self.plan.endpoints) == 1 else None
        return use.endpoint or only

    def server_of(self, use: AgentUse | JudgeUse) -> tuple[str, ...] | None:
        """What tells the server of an agent or judge from others; None where it calls none.

        The name in the plan is no part of it. A variable that is not set stands for itself.
        """
        name = self.endpoint_of(use)
        if name is None:
            return None
        endpoint = self.plan.endpoints[name]
        if endpoint.id is not None:
            return endpoint.kind, "id", endpoint.id
        url = value_of(endpoint.url) or endpoint.url
        if url.startswith(SCRIPTED):
            return endpoint.kind, "script", tree_digest(self.path_of(url.removeprefix(SCRIPTED)))
        scheme, separator, rest = url.strip().rstrip("/").partition("://")
        host, slash, base = rest.partition("/")
        return endpoint.kind, "url", f"{scheme.lower()}{separator}{host.lower()}{slash}{base}"

    def time_limit_seconds(self, task: PlanTask, use: AgentUse) -> float:
        """Return the time limit of an execution: of the task, else the agent, else the plan."""
        return seconds_of(task.time_limit or use.time_limit or self.plan.plan.time_limit)


def load_plan(path: Path) -> PlanRead:
    """Read a plan from a TOML file; raise `PlanError` with every mistake in it."""
    with errors_as(UsageError):
        text = read_text(path, limit=TEXT_BYTES)
        values = parse_toml(text, path)
    mistakes: list[SteelyardError] = []
    read = PlanRead(_plan_of(values, mistakes), path, text.encode())
    mistakes += _mistakes_in(read)
    if mistakes:
        raise PlanError(str(path), mistakes)
    return read


def plan_schema() -> dict[str, Any]:  # Any: a JSON Schema
    """The JSON Schema of a plan."""
    return {**json_schema(Plan), "title": f"Steelyard plan, version {FORMAT_VERSION}"}


def _plan_of(values: dict[str, Any], mistakes: list[SteelyardError]) -> Plan:  # Any: TOML values
    """Build the plan from its valid parts; parts are parsed separately, so that all errors are reported."""
    known = Plan.__struct_fields__
    mistakes += [UnknownNameError("table", name, known) for name in sorted(set(values) - set(known))]
    settings = None
    if "plan" in values:
        settings = _part(values["plan"], PlanSettings, "[plan]", mistakes)
    else:
        mistakes.append(UsageError("missing table [plan]", hint='add [plan] with name = "..."'))
    named = _table(values.get("endpoints"), "[endpoints]", mistakes)
    endpoints = {name: _part(value, Endpoint, f"[endpoints.{name}]", mistakes) for name, value in named.items()}
    plan = Plan(
        plan=settings or PlanSettings(name="unknown"),
        endpoints={name: endpoint or _UNREAD for name, endpoint in endpoints.items()},
        tasks=_listed(values, "tasks", PlanTask, mistakes),
        agents=_listed(values, "agents", AgentUse, mistakes),
        judges=_listed(values, "judges", JudgeUse, mistakes),
    )
    if not values.get("agents"):
        mistakes.append(UsageError("the plan has no agents", hint='add [[agents]] with use = "nop"'))
    if not values.get("tasks") and plan.plan.tasks_from is None:
        hint = 'add [[tasks]] with an id and a prompt, or tasks_from = "arena"'
        mistakes.append(UsageError("the plan has no tasks", hint=hint))
    return plan


def _listed(
    values: dict[str, Any], table: str, record: type[Part], mistakes: list[SteelyardError]
) -> tuple[Part, ...]:  # Any: TOML values
    listed = values.get(table, [])
    if not isinstance(listed, list):
        mistakes.append(UsageError(f"{table} must be a list of tables", hint=f"start each entry with [[{table}]]"))
        return ()
    parts = [_part(value, record, f"[[{table}]] number {place}", mistakes) for place, value in enumerate(listed, 1)]
    return tuple(part for part in parts if part is not None)


def _table(value: Any, where: str, mistakes: list[SteelyardError]) -> dict[str, Any]:  # Any: TOML values
    if isinstance(value, dict):
        return value
    if value is not None:
        mistakes.append(UsageError("must be a table", where=where, hint="write [endpoints.NAME]"))
    return {}


def _part(value: Any, record: type[Part], where: str, mistakes: list[SteelyardError]) -> Part | None:  # Any: TOML
    try:
        return msgspec.convert(value, record)
    except msgspec.ValidationError as error:
        message, hint = unknown_field(error, record) or _wrong_value(value, problem_text(error))
        mistakes.append(UsageError(message, where=where, hint=hint))
        return None


def _wrong_value(value: Any, problem: str) -> tuple[str, str]:  # Any: TOML values
    """Return the message and the hint for an invalid value."""
    for table in (value, *value.values()) if isinstance(value, dict) else ():
        line = table.get("command") if isinstance(table, dict) else None
        if isinstance(line, str):
            words = ", ".join(msgspec.json.encode(word).decode() for word in _words(line))
            return "command must be a list of strings", f"write command = [{words}]"
    return problem, SCHEMA_HINT


def _words(line: str) -> list[str]:
    """The line as a shell would split it."""
    try:
        return shlex.split(line)
    except ValueError:
        return ["sh", "-c", line]


def _mistakes_in(read: PlanRead) -> Iterator[SteelyardError]:
    """What contradicts itself or points at nothing."""
    plan = read.plan
    yield from _repeated("task", [task.id for task in plan.tasks], "give each task a unique id")
    yield from _repeated("agent", [use.label for use in plan.agents], 'give them different names: name = "..."')
    yield from _repeated("judge", [judge.label for judge in plan.judges], 'give them different names: name = "..."')
    for where, text in _durations(plan):
        yield from _value_errors(where, seconds_of, text)
    for where, text, is_folder in _paths(plan):
        yield from _path_mistakes(where, read.path_of(text), text, is_folder=is_folder)
    for use in plan.agents:
        yield from _use_mistakes(read, use)
    for name in sorted({judge.label for judge in plan.judges} & {use.label for use in plan.agents}):
        yield UsageError(
            f"an agent and a judge have the same name {name!r}", hint='give them different names: name = "..."'
        )
    for judge in plan.judges:
        yield from _endpoint_mistakes(read, judge, f"judge {judge.label!r}")
        yield from _unreadable(read_rubric, read.path_of(judge.rubric), f"judge {judge.label!r}")
    for name, endpoint in plan.endpoints.items():
        if endpoint.url.startswith(SCRIPTED):
            yield from _unreadable(read_script, read.path_of(endpoint.url.removeprefix(SCRIPTED)), f"endpoint {name!r}")
    yield from _measure_mistakes(read)
    yield from _price_mistakes(read)


def _measure_mistakes(read: PlanRead) -> Iterator[SteelyardError]:
    measure, where = read.plan.plan.measure, "[plan.measure]"
    if measure is None:
        return
    known = [each.name for each in each_timing_format()]
    if measure.format is not None and measure.format not in known:
        yield UnknownNameError("format of timings", measure.format, known, where=where)
    usable = os.sched_getaffinity(0)
    if missing := sorted(set(measure.cores) - usable):
        there = ", ".join(map(str, sorted(usable)))
        yield UsageError(f"CPU core {missing[0]} is not available", where=where, hint=f"available: {there}")
    for task in read.plan.tasks:
        if (text := measure.folder_of(task.id)) is None:
            continue
        place, option = read.path_of(text), f"{where} {'calls' if measure.calls else 'hidden'}"
        mistakes = list(_path_mistakes(option, place, text, is_folder=True))
        yield from mistakes
        if measure.calls and not mistakes and not any(place.glob(BENCHMARKS)):
            yield UsageError(f"no benchmarks ({BENCHMARKS}) in {text!r}", where=option)


def _repeated(what: str, names: list[str], hint: str) -> Iterator[SteelyardError]:
    for name, count in Counter(names).items():
        if count > 1:
            yield UsageError(f"{count} {what}s have the name {name!r}", hint=hint)


def _unreadable(reader: Callable[[Path], object], path: Path, where: str) -> Iterator[SteelyardError]:
    """Why a file that the plan names cannot be read."""
    try:
        reader(path)
    except UsageError as error:
        yield UsageError(error.message, where=f"{where}, {path.name}", hint=error.hint)


def _value_errors(where: str, check: Callable[[str], object], text: str) -> Iterator[SteelyardError]:
    try:
        check(text)
    except ValueError as error:
        yield UsageError(str(error), where=where)


def _durations(plan: Plan) -> Iterator[tuple[str, str]]:
    settings = plan.plan
    limits: list[tuple[str, str | None]] = [("[plan] time_limit", settings.time_limit)]
    limits.append(("[plan] retry_wait", settings.retry_wait))
    limits.append(("[plan] measure", settings.measure.time_limit if settings.measure else None))
    limits += [(f"agent {use.label!r}", use.time_limit) for use in plan.agents]
    for task in plan.tasks:
        limits += [(f"task {task.id!r}", task.time_limit)]
        limits += [(f"task {task.id!r}, verify", task.verify.time_limit if task.verify else None)]
    yield from ((where, text) for where, text in limits if text is not None)


def _paths(plan: Plan) -> Iterator[tuple[str, str, bool | None]]:
    """What the plan points at: where it does, the path, and whether it is a folder (None: either)."""
    paths: list[tuple[str, str | None, bool | None]] = []
    for task in plan.tasks:
        where = f"task {task.id!r}"
        paths += [(f"{where}, prompt_file", task.prompt_file, False), (f"{where}, work", task.work, True)]
        paths += [(f"{where}, oracle", task.oracle, None), (f"{where}, contract", task.contract, False)]
        paths += [(f"{where}, verify.hidden", task.verify.hidden if task.verify else None, True)]
        paths += [(f"{where}, verify.tests", task.verify.tests if task.verify else None, True)]
    for use in plan.agents:
        paths += [(f"agent {use.label!r}, tier {name!r}", tier.overlay, True) for name, tier in use.tiers.items()]
    paths += [(f"judge {judge.label!r}, rubric", judge.rubric, False) for judge in plan.judges]
    yield from ((where, text, is_folder) for where, text, is_folder in paths if text is not None)


def _path_mistakes(where: str, path: Path, text: str, *, is_folder: bool | None) -> Iterator[SteelyardError]:
    if not os.path.exists(path):  # pathlib raises where a name is too long or has a NUL
        what = "file or directory" if is_folder is None else "directory" if is_folder else "file"
        yield UsageError(
            f"no such {what}: {text[:200]!r}", where=where, hint="paths are relative to the plan's directory"
        )
    elif is_folder is not None and path.is_dir() != is_folder:
        yield UsageError(f"{text!r} is {'a file' if is_folder else 'a folder'}", where=where)


def _use_mistakes(read: PlanRead, use: AgentUse) -> Iterator[SteelyardError]:
    where = f"agent {use.label!r}"
    yield from _endpoint_mistakes(read, use, where)
    if not use.settings:
        yield UsageError("settings is an empty list", where=where, hint="remove it, or add an empty setting: [{}]")
    if use.use == "oracle":
        for task in read.plan.tasks:
            if task.oracle is None:
                hint = 'add oracle = "solution.patch"'
                yield UsageError(f"the task {task.id!r} has no oracle", where=where, hint=hint)


def _endpoint_mistakes(read: PlanRead, use: AgentUse | JudgeUse, where: str) -> Iterator[SteelyardError]:
    adapter = read.adapters.get(use.use)
    if adapter is None:
        yield UnknownNameError("agent", use.use, read.adapters, where=where)
    elif use.endpoint is not None and use.endpoint not in read.plan.endpoints:
        yield UnknownNameError("endpoint", use.endpoint, read.plan.endpoints, where=where)
    elif isinstance(use, AgentUse):
        endpoint = read.endpoint_of(use)
        kind = read.plan.endpoints[endpoint].kind if endpoint is not None else None
        yield from (UsageError(problem, where=where) for problem in adapter.problems(use, endpoint_kind=kind))


def _price_mistakes(read: PlanRead) -> Iterator[SteelyardError]:
    """Models without a price, where a budget in dollars could not be kept."""
    budget = read.plan.plan.budget
    if budget is None or (budget.usd is None and budget.trial_usd is None):
        return
    price_table = open_price_table(DEFAULT_PRICE_TABLE)
    for label, use in read.workers.items():
        endpoint = read.endpoint_of(use) if use.use in read.adapters else None
        if endpoint is None or endpoint not in read.plan.endpoints or read.plan.endpoints[endpoint].price is not None:
            continue
        for model in (use.models or (None,)) if isinstance(use, AgentUse) else (use.model,):
            price = price_table.find(model)
            if isinstance(price, Missing):
                hint = f"state its price in [endpoints.{endpoint}], or set a budget in tokens"
                message = f"the budget is in dollars, but the price is unknown: {price.reason}"
                yield UsageError(message, where=f"{label!r}", hint=hint)


def value_of(text: str) -> str:
    """The text, or what the variable of the environment holds that it names."""
    return os.environ.get(text.removeprefix(ENVIRONMENT), "") if text.startswith(ENVIRONMENT) else text


def key_mistakes(read: PlanRead, names: set[str]) -> Iterator[SteelyardError]:
    """Variables of the environment that these endpoints need and that are not set."""
    for name in sorted(names):
        endpoint = read.plan.endpoints[name]
        for what, text in (("url", endpoint.url), ("key", endpoint.key)):
            if text is not None and not value_of(text):
                yield _unset(name, what, text)


def unknown_urls(read: PlanRead) -> list[SteelyardError]:
    """Variables that hold the URLs of servers without an id, and are not set."""
    return [
        _unset(name, "url", endpoint.url)
        for name, endpoint in sorted(read.plan.endpoints.items())
        if endpoint.id is None and not value_of(endpoint.url)
    ]


def _unset(endpoint: str, what: str, text: str) -> UsageError:
    variable = text.removeprefix(ENVIRONMENT)
    message = f"environment variable {variable} is not set (the {what})"
    return UsageError(message, where=f"[endpoints.{endpoint}]", hint=f"export {variable}=...")
