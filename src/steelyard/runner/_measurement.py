"""Speed of finished work: measured after all agents have ended, one version at a time, on reserved cores.

A round measures every side of a task once, in a new order, so that drift (heat, other load) falls
on all sides alike. A round is kept when all its sides are measured; an incomplete one is measured again.

A kernel lock on one file per user keeps trials and measurements apart: it ends with the process that holds it.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import secrets
import statistics
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event
from typing import Annotated

import msgspec

from steelyard import sandbox
from steelyard.errors import InputError, UsageError
from steelyard.files import PLAN_TIMINGS, whole_file
from steelyard.formatting import percent
from steelyard.grading import Bounds as GradingBounds, Interpreter, TimedRun, first_difference, time_calls
from steelyard.records import SECONDS, BenchmarkTiming, Finding, Record, Run, Timing, encode_run
from steelyard.runner._digests import digest_of
from steelyard.runner._execution import AGENT_LIMITS, files_below
from steelyard.runner._plan import NOP, ORACLE, PlanRead
from steelyard.runner._plan_folder import PlanFolder, read_record
from steelyard.runner._plan_records import Bounds, Measure, seconds_of
from steelyard.runner._programs import program_named
from steelyard.runner._trial_records import Trial
from steelyard.runner._verification import TIME_LIMIT
from steelyard.sandbox import Content, Limits, Stay
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
MIN_GAP_ROUNDS = 5
GAP_FACTOR, GAP_SLACK_SECONDS = 1.2, 0.010
"""A command may take this many times, and this much, longer than its samples add up to, compared to unchanged code."""
MAX_TRANSPORT = 0.2
"""Share of a timing that passing data may take."""
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
    gaps: dict[str, float] = msgspec.field(default_factory=dict)
    """Seconds that the command took longer than its samples add up to, where these are known."""
    transport: dict[str, float] = msgspec.field(default_factory=dict)
    """Largest share of passing data in the timings of a benchmark of `calls`."""


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
    uses = {trial.id: read.use_of(trial.agent).use for trial in trials if trial.kind == "run"}
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
            Random(f"{read.plan.plan.seed}/{task}/{number}").shuffle(order)  # noqa: S311  # an order, not a secret
            text = measure.folder_of(task)
            benchmarks: dict[str, Path] = files_below(read.path_of(text)) if text is not None else {}
            method = _Method(measure, benchmarks, secrets.token_hex(16), no_sandbox=no_sandbox, stop=stop)
            found: dict[str, _Side | str] = {}
            for trial in order:
                found[trial] = method.side(by_task[task][trial])
                done += 1
                if progress is not None:
                    progress(done, total, f"{task}, round {number} of {measure.repeats}")
            if measure.calls is not None:
                reference = next((each for use in (ORACLE, NOP) for each in order if uses[each] == use), None)
                found = _compared(found, reference)
            made = _round_of(number, command, order, found)
            _keep(folder.root, task, made)
            rounds[task].append(made)
    findings: list[Finding] = []
    names = {trial.id: trial.sentence for trial in trials}
    for task, kept in rounds.items():
        own = [trial for trial in trials if trial.id in by_task[task]]
        unchanged = next((trial.id for trial in own if uses[trial.id] == NOP), None)
        checked = _check_gaps(kept, unchanged)
        _write_timings(read, folder, task, own, checked.accepted(kept))
        findings += _failed(task, kept, names)
        findings += checked.findings(task, names) if measure.command is not None else ()
        findings += _short_calls(task, kept)
    return findings


def _command_digest(measure: Measure) -> str:
    """Digest of the measurement method; the number of rounds is not part of it."""
    if measure.calls is not None:
        return digest_of("calls", measure.calls, measure.cores)
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


@dataclass(frozen=True)
class _Side:
    """A version of the work, measured once."""

    samples: Samples
    gap: float | None = None
    """Seconds that the command took longer than its samples add up to; None if unknown."""
    timed: TimedRun | None = None
    """Calls with their results."""


@dataclass(frozen=True)
class _Method:
    """How the versions of a task are measured in one round."""

    measure: Measure
    benchmarks: Mapping[str, Content]
    seed: str
    """Seed of the inputs of calls, which the measured code never gets."""
    no_sandbox: bool
    stop: Event | None

    def side(self, work: Path) -> _Side | str:
        """Measure one version; return the reason if that fails."""
        limits = Bounds().limits(seconds_of(self.measure.time_limit or TIME_LIMIT), default=AGENT_LIMITS)
        pinned = ["python3", "-I", "-S", "-c", _PIN, ",".join(map(str, self.measure.cores))]
        prefix = pinned if self.measure.cores else []
        if self.measure.command is None:
            return self._calls(work, limits, prefix)
        return self._command(work, self.measure.command, limits, prefix)

    def _calls(self, work: Path, limits: Limits, prefix: Sequence[str]) -> _Side | str:
        python = program_named("python3")
        if python is None:
            return "no python3 on PATH to call the functions with"
        timed = time_calls(
            self.benchmarks,
            work,
            seed=self.seed,
            python=Interpreter(
                command=(python.path, "-I", "-B"), readable=python.readable, search_path=python.search_path
            ),
            bounds=GradingBounds(limits=limits, no_sandbox=self.no_sandbox, stop=self.stop),
            prefix=prefix,
        )
        if timed.problem is not None:
            return timed.problem
        return _Side({name: calls.seconds for name, calls in timed.timed.items()}, timed=timed)

    def _command(self, work: Path, words: Sequence[str], limits: Limits, prefix: Sequence[str]) -> _Side | str:
        measure = self.measure
        program = program_named(words[0])
        with TemporaryDirectory() as place:
            result = sandbox.run(
                [*prefix, program.path if program else words[0], *words[1:]],
                copy=work,
                files=self.benchmarks,
                absent=[measure.report] if measure.report else [],
                variables={"PATH": program.search_path} if program else {},
                limits=limits,
                readable=program.readable if program else (),
                stay=Stay(Path(place), kept=("work",)),
                no_sandbox=self.no_sandbox,
                stop=self.stop,
            )
            if not result.ok:
                message = _last_line(Path(place, "stderr"))
                return f"{result.ending}{f': {message}' if message else ''}"
            timings = _timings(measure, Path(place))
        if isinstance(timings, str):
            return timings
        measured = [timing.measured_seconds for timing in timings if timing.unit == SECONDS and timing.status == "ok"]
        known = [seconds for seconds in measured if seconds is not None]
        gap = result.wall_seconds - math.fsum(known) if known and len(known) == len(measured) else None
        return _Side({timing.name: values for timing in timings if (values := _seconds(timing))}, gap)


def _compared(found: Mapping[str, _Side | str], reference: str | None) -> dict[str, _Side | str]:
    """Replace each version with other results than the reference solution by the difference."""
    expected = found[reference] if reference is not None else "neither unchanged code nor a reference solution"
    compared: dict[str, _Side | str] = {}
    for trial, side in found.items():
        if isinstance(side, str):
            compared[trial] = side
        elif isinstance(expected, str):
            compared[trial] = f"no results to compare with: {expected}"
        else:
            assert side.timed is not None  # measured by calls
            assert expected.timed is not None  # as above
            compared[trial] = first_difference(side.timed, expected.timed) or side
    return compared


def _round_of(number: int, command: str, order: Sequence[str], found: Mapping[str, _Side | str]) -> MeasuredRound:
    sides = {trial: side for trial, side in found.items() if isinstance(side, _Side)}
    shares: dict[str, float] = {}
    for side in sides.values():
        for name, calls in side.timed.timed.items() if side.timed is not None else ():
            share = statistics.median(calls.transport) / statistics.median(calls.seconds)
            shares[name] = max(share, shares.get(name, 0.0))
    return MeasuredRound(
        number=number,
        command=command,
        order=tuple(order),
        sides={trial: side.samples for trial, side in sides.items()},
        failures={trial: side for trial, side in found.items() if isinstance(side, str)},
        gaps={trial: side.gap for trial, side in sides.items() if side.gap is not None},
        transport=shares,
    )


@dataclass(frozen=True)
class _CheckedGaps:
    """Timings of a command, checked against the clock outside of its sandbox."""

    rejected: dict[str, str]
    """Reason by trial."""
    unknown: str | None = None
    """Why they could not be checked."""

    def accepted(self, rounds: Sequence[MeasuredRound]) -> dict[str, Samples]:
        """The samples of the trials that were not rejected."""
        return {trial: samples for trial, samples in samples_of(rounds).items() if trial not in self.rejected}

    def findings(self, task: str, names: Mapping[str, str]) -> Iterator[Finding]:
        for trial, reason in self.rejected.items():
            where = names.get(trial, task)
            yield Finding(code="timings_rejected", severity="error", message=reason, where=where)
        if self.unknown is not None:
            message = f"the timings were not compared with the time of the command: {self.unknown}"
            yield Finding(code="timings_not_checked", severity="info", message=message, where=f"task {task}")


def _check_gaps(rounds: Sequence[MeasuredRound], unchanged: str | None) -> _CheckedGaps:
    """Reject timings of a command that ran longer than they say, compared to the unchanged code.

    Code that replaces the clock makes its samples smaller, but not the time that its command takes.
    """
    gaps: dict[str, list[float]] = {}
    for made in rounds:
        for trial, gap in made.gaps.items():
            gaps.setdefault(trial, []).append(gap)
    expected = gaps.get(unchanged or "", [])
    if not any(made.sides for made in rounds):
        return _CheckedGaps({})
    if len(rounds) < MIN_GAP_ROUNDS:
        return _CheckedGaps({}, f"only {len(rounds)} rounds; at least {MIN_GAP_ROUNDS} are required")
    if len(expected) < MIN_GAP_ROUNDS:
        return _CheckedGaps({}, "the format does not state how long the unchanged code was measured")
    usual = statistics.median(expected)
    if usual < 0:
        return _CheckedGaps({}, "the samples of the unchanged code add up to more than the time of the command")
    limit = usual * GAP_FACTOR + GAP_SLACK_SECONDS
    rejected = {}
    for trial, own in gaps.items():
        if (gap := statistics.median(own)) > limit:
            rejected[trial] = (
                f"the command ran {gap:.3f} s longer than the sum of its samples (median of {len(own)} rounds; "
                f"unchanged code: {usual:.3f} s, limit: {limit:.3f} s), so the timings are rejected"
            )
    return _CheckedGaps(rejected)


def _short_calls(task: str, rounds: Sequence[MeasuredRound]) -> Iterator[Finding]:
    shares: dict[str, list[float]] = {}
    for made in rounds:
        for name, share in made.transport.items():
            shares.setdefault(name, []).append(share)
    for name, each in sorted(shares.items()):
        if (share := statistics.median(each)) > MAX_TRANSPORT:
            message = (
                f"passing arguments and results takes {percent(share, decimals=0)} of the shortest timings of {name!r},"
                " so its speedups are lower bounds; let each call do more work"
            )
            yield Finding(code="calls_too_short", severity="info", message=message, where=f"task {task}")


def _last_line(path: Path) -> str:
    lines = (
        whole_file(path)[-_MAX_OUTPUT_CHARS:].decode("utf-8", "replace").strip().splitlines() if path.is_file() else []
    )
    return lines[-1][:_MAX_OUTPUT_CHARS] if lines else ""


def _timings(measure: Measure, place: Path) -> Sequence[Timing] | str:
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
    return timings.timings


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


def _failed(task: str, rounds: Sequence[MeasuredRound], names: Mapping[str, str]) -> list[Finding]:
    findings = []
    for trial in {trial: None for made in rounds for trial in made.failures}:
        reasons = [made.failures[trial] for made in rounds if trial in made.failures]
        message = f"could not be measured in {len(reasons)} of {len(rounds)} rounds: {reasons[-1]}"
        where = names.get(trial, task)
        findings.append(Finding(code="not_measured", severity="error", message=message, where=where))
    return findings


def with_benchmarks(run: Run, samples: Samples | None, measure: Measure | None) -> Run:
    """The run with its timings; as it is without any."""
    if not samples:
        return run
    timed = tuple(BenchmarkTiming(name=name, samples=values) for name, values in sorted(samples.items()))
    is_weak = measure is None or measure.command is not None
    return msgspec.structs.replace(run, benchmarks=timed, weak_timing=True if is_weak else None)


def measured_samples(read: PlanRead, folder: PlanFolder, trials: Sequence[Trial]) -> dict[str, Samples]:
    """The samples of every trial that was measured with the plan's settings."""
    measure = read.plan.plan.measure
    if measure is None:
        return {}
    samples: dict[str, Samples] = {}
    for task, sides in _sides(read, folder, trials).items():
        rounds = _kept(folder.root, task, _command_digest(measure), sides)
        own = [trial for trial in trials if trial.id in sides]
        unchanged = next((trial.id for trial in own if read.use_of(trial.agent).use == NOP), None)
        samples |= _check_gaps(rounds, unchanged).accepted(rounds)
    return samples


def _write_timings(
    read: PlanRead, folder: PlanFolder, task: str, trials: Iterable[Trial], samples: Mapping[str, Samples]
) -> None:
    """The task's folder in the layout that `speedup` reads."""
    place = folder.root / PLAN_TIMINGS / file_name(task)
    attempts: dict[tuple[str, str], int] = {}
    for trial in trials:
        result = folder.result(trial.id)
        if result is None or result.run is None:
            continue
        if (use := read.use_of(trial.agent).use) in (NOP, ORACLE):
            path = place / f"{use}.json"
        else:
            key = (_agent_name(trial), trial.model or "default")
            attempts[key] = number = attempts.get(key, 0) + 1
            *above, last = map(file_name, key[1].split("/"))
            name = f"{last}{'' if number == 1 else f'#{number}'}.json"
            path = Path(place, "agents", key[0], *above, name)
        if trial.id not in samples:
            path.unlink(missing_ok=True)  # of fewer rounds, which were not rejected
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        measured = with_benchmarks(result.run, samples[trial.id], read.plan.plan.measure)
        path.write_bytes(encode_run(measured) + b"\n")


def _agent_name(trial: Trial) -> str:
    """The agent with its tier and setting, which make it another one."""
    setting = json.dumps(trial.setting, sort_keys=True) if trial.setting else None
    return file_name("+".join(part for part in (trial.agent, trial.tier, setting) if part))
