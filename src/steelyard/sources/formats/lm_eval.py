"""lm-evaluation-harness: `samples_<task>_<time>.jsonl` (`--log_samples`), a line a question, and `results_<time>.json`.

The results file of the same time, if in the same folder, has the model, the start and what the harness computed. A
question is listed once for each filter, of which the first counts. Nothing marks the metric that is the verdict: it is
the first for which every question has 0 or 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import document, label, number, records
from steelyard.records import Conditions, DecodeError, Finding, Rejected, Run
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import conditions_from, outcome_of, run_from
from steelyard.sources.formats._stated_figures import stated_accuracy

NAME = "lm-eval"
HASH_CHARACTERS = 16
"""How much of a question's digest names its task."""
_FILE = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT[\d.:-]+)")


class Question(msgspec.Struct):
    """One line: a question, its answers and the metrics under keys of their own, which are read apart."""

    doc_id: int
    filter: str | None = None
    metrics: list[str] = []
    doc_hash: str | None = None


class Summary(msgspec.Struct):
    """The results file."""

    results: dict[str, dict[str, Any]]  # Any: figures by `metric,filter`, and words
    higher_is_better: dict[str, Any] = {}  # Any: flags by metric
    model_name: str | None = None
    date: float | None = None
    total_evaluation_time_seconds: Any = None  # Any: a number as text
    lm_eval_version: Any = None  # Any: text
    shots: dict[str, Any] = msgspec.field(name="n-shot", default_factory=dict)  # Any: counts by task
    config: dict[str, Any] = {}  # Any: options of the evaluation


class _Line(msgspec.Struct):
    line: int
    question: Question
    scores: dict[str, float]
    """By metric; what is no number is left out."""


_VALUES = msgspec.json.Decoder(dict[str, Any])  # Any: a line's values, the metrics among them
_SUMMARY = msgspec.json.Decoder(Summary)


def recognizes(head: Head) -> bool:
    """Lines with a document and filtered responses, or results by task and group."""
    return _are_samples(head) or (head.has("results", "group_subtasks") and "samples" not in head.shape)


def _are_samples(head: Head) -> bool:
    if not head.has("doc_id", "doc"):
        return False
    # a long question may fill all that is looked at
    return head.has("arguments", "resps") or (b"\n" not in head.text and head.text.startswith(b'{"doc_id"'))


def read(path: Path) -> Iterator[ReadItem]:
    """One part per question; only a note for the results file, whose questions are in other files."""
    if not _are_samples(head_of(path)):
        yield _of_summary(document(path, _SUMMARY), path)
        return
    lines: list[_Line] = []
    for item in records(path, _VALUES):
        if not isinstance(item, tuple):
            yield item
            continue
        try:
            question = msgspec.convert(item[1], Question)
        except msgspec.ValidationError as error:
            yield Rejected(path=str(path), line=item[0], reason=f"unexpected value: {error}")
            continue
        values = {name: _score(item[1].get(name)) for name in question.metrics}
        scores = {name: value for name, value in values.items() if value is not None}
        lines.append(_Line(item[0], question, scores))
    yield from _evaluated(lines, path)


def _score(value: Any) -> float | None:  # Any: the metric's value
    return float(value) if isinstance(value, bool) else number(value)


def _evaluated(lines: Sequence[_Line], path: Path) -> Iterator[ReadItem]:
    named = _FILE.fullmatch(path.stem)
    task = named["task"] if named else path.stem
    summary, notes = _summary(path, named["time"] if named else None)
    yield from notes
    filters = list(dict.fromkeys(line.question.filter for line in lines))
    kept = [line for line in lines if line.question.filter == filters[0]]
    if len(filters) > 1:
        others = ", ".join(str(name) for name in filters[1:])
        message = f"each question has scores from {len(filters)} filters; using {filters[0]}, not {others}"
        yield Finding(code="several_filters", severity="info", message=message, where=str(path))
    directions = summary.higher_is_better.get(task) if summary else None
    verdict = _verdict(kept, directions if isinstance(directions, dict) else {})
    times_seen: dict[str, int] = {}
    for line in kept:
        digest = label(line.question.doc_hash) or str(line.question.doc_id)
        times_seen[digest] = times_seen.get(digest, 0) + 1
        identity = {
            "id": label(f"{task}_{named['time']}/{line.question.doc_id}") if named else None,
            "experiment": label(task),
            "task": label(f"{task}/{digest[:HASH_CHARACTERS]}"),
            "attempt": times_seen[digest],
        }
        try:
            run = _run(line, identity, summary, verdict, path)
        except DecodeError as error:
            yield Rejected(path=str(path), line=line.line, reason=error.reason, hint=error.hint)
        else:
            yield RunPart(run=run, path=str(path), line=line.line, role="owner")
    yield from _stated(kept, summary, task=task, filter_=filters[0] if filters else None, verdict=verdict, path=path)


def _verdict(lines: Sequence[_Line], higher_is_better: Mapping[str, Any]) -> str | None:  # Any: flags
    """The first metric that is 0 or 1 for every question; None when there is none."""
    names = dict.fromkeys(name for line in lines for name in line.question.metrics)
    for name in names:
        values = {line.scores.get(name) for line in lines}
        if values <= {0.0, 1.0} and higher_is_better.get(name) is not False:
            return name
    return None


def _run(
    line: _Line, identity: dict[str, Any], summary: Summary | None, verdict: str | None, path: Path
) -> Run:  # Any: values of a Run's fields
    passed = line.scores[verdict] == 1 if verdict else None
    graded = next((value for value in line.scores.values() if 0 <= value <= 1), None) if verdict is None else None
    started = _moment(summary.date) if summary else None
    return run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "unknown",
            "cost_usd": "unknown",
            "passed": "unknown" if passed is None else "reported",
            "started_at": "lower_bound" if started else None,  # when the evaluation began
        },
        **identity,
        agent=NAME,
        model=label(summary.model_name) if summary else None,
        conditions=_conditions(summary, identity["experiment"]),
        started_at=started,
        passed=passed,
        outcome=outcome_of(passed),
        impl_rate=graded,
        extra={"filter": label(line.question.filter), "doc_id": line.question.doc_id, **line.scores},
    )


def _conditions(summary: Summary | None, task: str | None) -> Conditions | None:
    if summary is None:
        return conditions_from(harness=NAME)
    generation = summary.config.get("gen_kwargs")
    settings = {**(generation if isinstance(generation, dict) else {}), "n_shot": summary.shots.get(task or "")}
    return conditions_from(harness=NAME, harness_version=summary.lm_eval_version, settings=settings)


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _summary(path: Path, time: str | None) -> tuple[Summary | None, list[Finding]]:
    """The results of the same evaluation. A folder may hold several evaluations, so the time in the name decides."""
    results = path.parent / f"results_{time}.json"
    if time is not None and results.is_file():
        try:
            return document(results, _SUMMARY), []
        except UnreadableFileError as error:
            message = f"unknown model: {error.message}"
            return None, [Finding(code="unreadable_results", message=message, where=error.where)]
    message = "unknown model: results_<time>.json is missing from this directory"
    return None, [Finding(code="model_unknown", message=message, where=str(path))]


def _stated(
    lines: Sequence[_Line], summary: Summary | None, *, task: str, filter_: str | None, verdict: str | None, path: Path
) -> Iterator[Finding]:
    """Compare the harness's own figure with ours."""
    if verdict is None:
        if lines:
            names = ", ".join(dict.fromkeys(name for line in lines for name in line.question.metrics)) or "no metric"
            message = f"no verdict: none of the metrics ({names}) is 0 or 1 for every question"
            yield Finding(code="no_verdict", message=message, where=str(path))
        return
    figures = summary.results.get(task, {}) if summary else {}
    stated = number(figures.get(f"{verdict},{filter_}"))
    if stated is not None and lines:
        verdicts = [line.scores[verdict] == 1 for line in lines]
        how = f"{verdict}, filter {filter_}"
        yield stated_accuracy(str(path), stated=stated, of=len(lines), how=how, verdicts=verdicts)


def _of_summary(summary: Summary, path: Path) -> Finding:
    tasks = "1 task" if len(summary.results) == 1 else f"{len(summary.results)} tasks"
    time = path.stem.removeprefix("results_")
    if any(path.parent.glob(f"samples_*_{escape(time)}.jsonl")):
        message = f"results of {tasks}; the runs are in the samples files in the same directory"
        return Finding(code="results_of_samples", severity="info", message=message, where=str(path))
    message = f"results of {tasks} without samples, so there are no runs; evaluate again with --log_samples"
    return Finding(code="results_without_samples", message=message, where=str(path))


FORMAT = LogFormat(
    name=NAME,
    title="lm-evaluation-harness samples and results",
    kind="trials",
    yields=("passed", "impl_rate", "metrics as x_<metric>", "reported accuracy"),
    recognizes=recognizes,
    read=read,
)
