"""SWE-bench: predictions (lines, list or object) and reports (of an instance, of a run, and the older results)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import document, label, records
from steelyard.records import DecodeError, Failure, Rejected, Run, TestResults
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import outcome_of, run_from
from steelyard.sources.formats._stated_figures import stated_accuracy, stated_count

NAME = "swe-bench"


class Prediction(msgspec.Struct):
    """A patch for an instance."""

    instance_id: str
    model_name_or_path: str | None = None
    model_patch: str | None = None


class Lists(msgspec.Struct):
    """Names of tests that passed and that did not."""

    success: list[str] = []
    failure: list[str] = []


class Instance(msgspec.Struct, kw_only=True):
    """The verdict on one instance."""

    resolved: bool | None = None
    patch_is_none: bool | None = msgspec.field(name="patch_is_None", default=None)
    patch_exists: bool | None = None
    patch_successfully_applied: bool | None = None
    infra_failure: bool | None = None
    infra_failure_reason: str | None = None
    tests_status: dict[str, Lists] | None = None


class RunReport(msgspec.Struct):
    """The verdicts on a run's instances."""

    resolved_ids: list[str]
    total_instances: int | None = None
    resolved_instances: int | None = None
    unresolved_ids: list[str] = []
    error_ids: list[str] = []
    empty_patch_ids: list[str] = []
    infra_failure_ids: list[str] = []
    """Which of those above the environment broke, as the harness sees it."""
    failure_reasons: dict[str, str] = {}


class OldResults(msgspec.Struct):
    """The verdicts as older submissions list them."""

    resolved: list[str]
    no_generation: list[str] = []
    no_logs: list[str] = []


_LINES = msgspec.json.Decoder(Prediction)
_LIST = msgspec.json.Decoder(list[Prediction])
_OBJECT = msgspec.json.Decoder(dict[str, Prediction])
_INSTANCE = msgspec.json.Decoder(dict[str, Instance])
_REPORT = msgspec.json.Decoder(RunReport)
_OLD = msgspec.json.Decoder(OldResults)


def _kind(head: Head) -> str | None:
    shape = head.shape
    patch = ("instance_id", "model_name_or_path", "model_patch")
    if head.has(*patch) and "edit_outcome" not in shape:
        return "lines"
    if head.has(*(f"[].{name}" for name in patch)):
        return "list"
    if (
        head.has("resolved_ids")
        and "results" not in shape
        and (head.has("total_instances") or head.has("unresolved_ids"))
    ):
        return "report"
    if head.has("no_generation", "resolved"):
        return "old"
    leaves = {path.rpartition(".")[2] for path in shape if path.count(".") >= 1}
    if {"model_name_or_path", "model_patch"} <= leaves and "instance_id" not in shape:
        return "object"
    if {"patch_exists", "resolved"} <= leaves:
        return "instance"
    return None


def recognizes(head: Head) -> bool:
    """Predictions with a patch, or verdicts on instances."""
    return _kind(head) is not None


def read(path: Path) -> Iterator[ReadItem]:
    """One part per instance."""
    kind = _kind(head_of(path))
    if kind == "lines":
        for item in records(path, _LINES):
            if not isinstance(item, tuple):
                yield item
            else:
                yield _prediction(item[1], path, item[0])
    elif kind in ("list", "object"):
        predictions = document(path, _LIST) if kind == "list" else list(document(path, _OBJECT).values())
        for prediction in predictions:
            yield _prediction(prediction, path, None)
    elif kind == "report":
        yield from _report(document(path, _REPORT), path)
    elif kind == "old":
        yield from _old(document(path, _OLD), path)
    elif kind == "instance":
        for name, instance in document(path, _INSTANCE).items():
            yield _instance(name, instance, path)
    else:
        raise UnreadableFileError(str(path), "neither predictions nor a report")


def _run(path: Path, task: str, **fields: Any) -> Run:  # Any: fields of a Run
    name = label(task)
    if name is None:
        raise DecodeError("an instance has no name")
    passed = fields.get("passed")
    how: dict[str, Any] = {
        "passed": "unknown" if passed is None else "reported",
        "cost_usd": "unknown",
        "usage": "unknown",
    }
    return run_from(format=NAME, path=str(path), how=how, task=name, **fields)


def _prediction(prediction: Prediction, path: Path, line: int | None) -> RunPart | Rejected:
    try:
        run = _run(path, prediction.instance_id, agent=label(prediction.model_name_or_path), outcome="not_scored")
    except DecodeError as error:
        return Rejected(path=str(path), line=line, reason=error.reason)
    return RunPart(run=run, path=str(path), line=line, role="prediction")


def _verdict(path: Path, task: str, **fields: Any) -> RunPart:  # Any: fields of a Run
    return RunPart(run=_run(path, task, **fields), path=str(path), role="verdict")


def _instance(name: str, instance: Instance, path: Path) -> RunPart:
    status = instance.tests_status or {}
    lists = [status[key] for key in ("FAIL_TO_PASS", "PASS_TO_PASS") if key in status]
    tests = None
    if lists:
        tests = TestResults(
            passed=tuple(test for results in lists for test in results.success),
            failed=tuple(test for results in lists for test in results.failure),
        )
    failure = None
    if instance.patch_is_none or instance.patch_exists is False:
        failure = Failure(cause="agent", message="no patch")
    elif instance.infra_failure:
        failure = Failure(cause="infrastructure", message=(instance.infra_failure_reason or "")[:500] or None)
    elif instance.patch_successfully_applied is False:
        failure = Failure(cause="agent", message="the patch does not apply")
    agent = label(path.parent.parent.name) if path.parent.name == name else None
    outcome = outcome_of(instance.resolved)
    return _verdict(path, name, agent=agent, passed=instance.resolved, outcome=outcome, failure=failure, tests=tests)


def _report(report: RunReport, path: Path) -> Iterator[ReadItem]:
    empty = frozenset(report.empty_patch_ids)
    errors = frozenset(report.error_ids) - empty
    experiment = label(path.stem)  # MODEL.RUN: several reports in one folder are of several experiments
    for name in report.resolved_ids:
        yield _verdict(path, name, passed=True, outcome="passed", experiment=experiment)
    for name in dict.fromkeys((*report.unresolved_ids, *report.empty_patch_ids)):
        failure = Failure(cause="agent", message="no patch") if name in empty else _broken(report, name)
        if name not in errors:
            yield _verdict(path, name, passed=False, outcome="failed", failure=failure, experiment=experiment)
    for name in report.error_ids:
        if name in errors:
            failure = _broken(report, name) or Failure(cause="unknown", message="the evaluation was interrupted")
            yield _verdict(path, name, outcome="errored", failure=failure, experiment=experiment)
    yield from stated_count(
        str(path), "resolved instances", stated=report.resolved_instances, listed=len(report.resolved_ids)
    )
    if report.total_instances:
        verdicts: list[bool | None] = [True] * len(report.resolved_ids)
        verdicts += [False] * len((set(report.unresolved_ids) | empty) - errors)
        verdicts += [None] * len(errors)
        yield stated_accuracy(
            str(path),
            stated=len(report.resolved_ids) / report.total_instances,
            of=report.total_instances,
            how="all instances of the dataset",
            verdicts=verdicts,
        )


def _broken(report: RunReport, name: str) -> Failure | None:
    """Return why the harness could not judge the instance; the cause is unknown unless it reports one."""
    reason = report.failure_reasons.get(name, "")[:500] or None
    if name in report.infra_failure_ids:
        return Failure(cause="infrastructure", message=reason)
    return Failure(cause="unknown", message=reason) if reason else None


def _old(results: OldResults, path: Path) -> Iterator[ReadItem]:
    for name in results.resolved:
        yield _verdict(path, name, passed=True, outcome="passed")
    for name in results.no_generation:
        yield _verdict(path, name, passed=False, outcome="failed", failure=Failure(cause="agent", message="no patch"))
    for name in results.no_logs:
        yield _verdict(path, name, outcome="errored", failure=Failure(cause="unknown", message="no evaluation logs"))


FORMAT = LogFormat(
    name=NAME,
    title="SWE-bench predictions and evaluation reports",
    kind="verdicts",
    yields=("passed", "outcome", "tests", "failure", "reported accuracy"),
    recognizes=recognizes,
    read=read,
)
