"""Speed of finished work: measured after all agents have ended, one version at a time, on reserved cores.

A round measures every side of a task once, in a new order, so that drift (heat, other load) falls
on all sides alike. A round is kept when all its sides are measured; an incomplete one is measured again.

A kernel lock on one file per user keeps trials and measurements apart: it ends with the process that holds it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event
from typing import Annotated

import msgspec

from steelyard import sandbox
from steelyard.errors import InputError, UsageError
from steelyard.files import PLAN_TIMINGS, whole_file
from steelyard.records import SECONDS, BenchmarkTiming, Finding, Record, Run, Timing, encode_run
from steelyard.runner._digests import digest_of
from steelyard.runner._execution import AGENT_LIMITS, files_below
from steelyard.runner._plan import NOP, ORACLE, PlanRead
from steelyard.runner._plan_folder import PlanFolder, read_record
from steelyard.runner._plan_records import Bounds, Measure, seconds_of
from steelyard.runner._programs import program_named
from steelyard.runner._trial_records import Trial
from steelyard.runner._verification import TIME_LIMIT
from steelyard.sandbox import Stay
from steelyard.sources import read_timings


@contextmanager
def trials_running() -> Iterator[None]:
    """Lock held while trials run here; fails while speed is measured."""
    message = "speed is being measured on this machine, and trials would distort the timings"
    with _locked(fcntl.LOCK_SH, message):
        yield


@contextmanager
def measuring() -> Iterator[None]:
    """Lock held while speed is measured here; fails while trials run."""
    message = "trials are running on this machine and would distort the timings"
    with _locked(fcntl.LOCK_EX, message):
        yield


@contextmanager
def _locked(kind: int, message: str) -> Iterator[None]:
    path = Path(tempfile.gettempdir(), f"steelyard-{os.getuid()}.lock")
    # Others may write to that folder: a link of theirs is not followed, and nothing is written to the file.
    handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(message, hint="wait until they end, then run the same command again") from None
        yield
    finally:
        os.close(handle)


_MAX_OUTPUT_CHARS = 200
_PIN = "import os,sys;os.sched_setaffinity(0,set(map(int,sys.argv[1].split(','))));os.execvp(sys.argv[2],sys.argv[2:])"
"""Pins the command alone: who waits for it stays on the other cores."""
Samples = dict[str, tuple[float, ...]]
Progress = Callable[[int, int, str], None]
"""Progress callback: measurements done, total, and what was measured."""


class MeasuredRound(Record, frozen=True, kw_only=True):
    """One round of a task: every side measured once."""

    number: Annotated[int, msgspec.Meta(ge=1)]
    """Which round, from 1 on."""
    command: str
    """The digest of how it was measured; a round measured in another way is not mixed in."""
    order: tuple[str, ...]
    """The trials in the order in which they were measured."""
    sides: dict[str, Samples]
    """Seconds by benchmark, for each trial."""
    failures: dict[str, str] = msgspec.field(default_factory=dict)
    """Why a trial has no timings in this round."""


def measure_sides(
    read: PlanRead,
    folder: PlanFolder,
    trials: Sequence[Trial],
    *,
    no_sandbox: bool = False,
    stop: Event | None = None,
    progress: Progress | None = None,
) -> list[Finding]:
    """Measure what is not measured yet, and write `timings/`, which `steelyard speedup` reads."""
    measure = read.plan.plan.measure
    assert measure is not None  # required for measuring
    by_task = _sides(read, folder, trials)
    command = _command_digest(measure)
    rounds = {task: _kept(folder.root, task, command, sides) for task, sides in by_task.items()}
    missing = [
        (number, task)
        for number in range(1, measure.repeats + 1)
        for task in by_task
        if number not in {made.number for made in rounds[task]}
    ]
    total = measure.repeats * sum(map(len, by_task.values()))
    done = total - sum(len(by_task[task]) for _, task in missing)
    with measuring() if missing else nullcontext():
        for number, task in missing:
            order = list(by_task[task])
            hidden = read.path_of(measure.hidden_of(task)) if measure.hidden else None
            Random(f"{read.plan.plan.seed}/{task}/{number}").shuffle(order)  # noqa: S311  # an order, not a secret
            sides: dict[str, Samples] = {}
            failures: dict[str, str] = {}
            for trial in order:
                measured = _measured(measure, by_task[task][trial], hidden, no_sandbox=no_sandbox, stop=stop)
                if isinstance(measured, str):
                    failures[trial] = measured
                else:
                    sides[trial] = measured
                done += 1
                if progress is not None:
                    progress(done, total, f"{task}, round {number} of {measure.repeats}")
            made = MeasuredRound(number=number, command=command, order=tuple(order), sides=sides, failures=failures)
            _keep(folder.root, task, made)
            rounds[task].append(made)
    for task, kept in rounds.items():
        _write_timings(read, folder, task, [trial for trial in trials if trial.id in by_task[task]], samples_of(kept))
    return [finding for task, kept in rounds.items() for finding in _failed(task, kept, trials)]


def _command_digest(measure: Measure) -> str:
    """Digest of the measurement method; the number of rounds is not part of it."""
    return digest_of(measure.command, measure.format, measure.report, measure.cores, measure.hidden)


def _sides(read: PlanRead, folder: PlanFolder, trials: Iterable[Trial]) -> dict[str, dict[str, Path]]:
    """The work to measure, by task and trial: every finished attempt of agents, and nop and oracle once."""
    sides: dict[str, dict[str, Path]] = {}
    for trial in trials:
        if trial.kind != "run" or not folder.is_done(trial.id):
            continue
        if trial.attempt == 1 or read.use_of(trial.agent).use not in (NOP, ORACLE):
            work = folder.executions(trial.id)[-1] / "work"
            if work.is_dir():
                sides.setdefault(trial.task, {})[trial.id] = work
    return sides


def _measured(
    measure: Measure, work: Path, hidden: Path | None, *, no_sandbox: bool, stop: Event | None
) -> Samples | str:
    """Seconds by benchmark, or why there are none."""
    program = program_named(measure.command[0])
    command = [program.path if program else measure.command[0], *measure.command[1:]]
    if measure.cores:
        command = ["python3", "-I", "-S", "-c", _PIN, ",".join(map(str, measure.cores)), *command]
    with TemporaryDirectory() as place:
        result = sandbox.run(
            command,
            copy=work,
            files=files_below(hidden) if hidden else {},
            absent=[measure.report] if measure.report else [],
            variables={"PATH": program.search_path} if program else {},
            limits=Bounds().limits(seconds_of(measure.time_limit or TIME_LIMIT), default=AGENT_LIMITS),
            readable=program.readable if program else (),
            stay=Stay(Path(place), kept=("work",)),
            no_sandbox=no_sandbox,
            stop=stop,
        )
        if not result.ok:
            message = _last_line(Path(place, "stderr"))
            return f"{result.ending}{f': {message}' if message else ''}"
        return _samples(measure, Path(place))


def _last_line(path: Path) -> str:
    lines = (
        whole_file(path)[-_MAX_OUTPUT_CHARS:].decode("utf-8", "replace").strip().splitlines() if path.is_file() else []
    )
    return lines[-1][:_MAX_OUTPUT_CHARS] if lines else ""


def _samples(measure: Measure, place: Path) -> Samples | str:
    report = place / "work" / measure.report if measure.report else place / "stdout"
    # The measured code is an agent's: a link could lead to any file of this machine.
    if not report.exists() or not report.resolve().is_relative_to(place.resolve()):
        return f"no {measure.report or 'timings on standard output'}"
    try:
        timings = read_timings(report)
    except InputError as error:
        return error.message
    if timings.format != measure.format:
        return f"unexpected timing format {timings.format!r}; expected {measure.format!r}"
    return {timing.name: values for timing in timings.timings if (values := _seconds(timing))}


def _seconds(timing: Timing) -> tuple[float, ...]:
    """The samples of a benchmark; a tool that kept only the median gives one for each round."""
    if timing.unit != SECONDS or timing.status != "ok":
        return ()
    if timing.usable_samples:
        return tuple(timing.usable_samples)
    median = timing.summary.median if timing.summary else None
    return () if median is None else (median,)


def _place(root: Path, task: str) -> Path:
    """The folder of a task's rounds: ids may hold what no file name does."""
    return root / "measured" / f"{file_name(task)}-{digest_of(task)[:8]}"


def file_name(text: str) -> str:
    """The text as a file name that people recognize."""
    return re.sub(r"[^A-Za-z0-9._+@=,-]+", "-", text).strip(".-")[:100] or "unnamed"


def _kept(root: Path, task: str, command: str, sides: Mapping[str, Path]) -> list[MeasuredRound]:
    """The rounds measured in the same way that hold every side of today."""
    rounds = []
    for path in sorted(_place(root, task).glob("round-*.json")):
        made = read_record(path, MeasuredRound)
        if made is not None and made.command == command and set(sides) <= set(made.order):
            rounds.append(made)
    return rounds


def _keep(root: Path, task: str, made: MeasuredRound) -> None:
    place = _place(root, task)
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"round-{made.number:03}.json"
    partial = path.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(made))
    partial.replace(path)


def samples_of(rounds: Sequence[MeasuredRound]) -> dict[str, Samples]:
    """All samples of each trial, round after round."""
    joined: dict[str, Samples] = {}
    for made in sorted(rounds, key=lambda made: made.number):
        for trial, samples in made.sides.items():
            own = joined.setdefault(trial, {})
            for name, values in samples.items():
                own[name] = (*own.get(name, ()), *values)
    return joined


def _failed(task: str, rounds: Sequence[MeasuredRound], trials: Iterable[Trial]) -> list[Finding]:
    names = {trial.id: trial.sentence for trial in trials}
    findings = []
    for trial in {trial: None for made in rounds for trial in made.failures}:
        reasons = [made.failures[trial] for made in rounds if trial in made.failures]
        message = f"could not be measured in {len(reasons)} of {len(rounds)} rounds: {reasons[-1]}"
        where = names.get(trial, task)
        findings.append(Finding(code="not_measured", severity="error", message=message, where=where))
    return findings


def with_benchmarks(run: Run, samples: Samples | None) -> Run:
    """The run with its timings; as it is without any."""
    if not samples:
        return run
    timed = tuple(BenchmarkTiming(name=name, samples=values) for name, values in sorted(samples.items()))
    return msgspec.structs.replace(run, benchmarks=timed, weak_timing=True)


def measured_samples(read: PlanRead, folder: PlanFolder, trials: Sequence[Trial]) -> dict[str, Samples]:
    """The samples of every trial that was measured with the plan's settings."""
    measure = read.plan.plan.measure
    if measure is None:
        return {}
    samples: dict[str, Samples] = {}
    for task, sides in _sides(read, folder, trials).items():
        samples |= samples_of(_kept(folder.root, task, _command_digest(measure), sides))
    return samples


def _write_timings(
    read: PlanRead, folder: PlanFolder, task: str, trials: Iterable[Trial], samples: Mapping[str, Samples]
) -> None:
    """The task's folder in the layout that `speedup` reads."""
    place = folder.root / PLAN_TIMINGS / file_name(task)
    attempts: dict[tuple[str, str], int] = {}
    for trial in trials:
        result = folder.result(trial.id)
        if trial.id not in samples or result is None or result.run is None:
            continue
        if (use := read.use_of(trial.agent).use) in (NOP, ORACLE):
            path = place / f"{use}.json"
        else:
            key = (_agent_name(trial), trial.model or "default")
            attempts[key] = number = attempts.get(key, 0) + 1
            *above, last = map(file_name, key[1].split("/"))
            name = f"{last}{'' if number == 1 else f'#{number}'}.json"
            path = Path(place, "agents", key[0], *above, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encode_run(with_benchmarks(result.run, samples[trial.id])) + b"\n")


def _agent_name(trial: Trial) -> str:
    """The agent with its tier and setting, which make it another one."""
    setting = json.dumps(trial.setting, sort_keys=True) if trial.setting else None
    return file_name("+".join(part for part in (trial.agent, trial.tier, setting) if part))
