"""SWE-bench and Multi-SWE-bench: predictions and reports, of an instance, of a run, of a submission to a leaderboard.

A submission's `results.json` lists successes. Those it does not name failed, but how many they are is in another file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import document, label, read_text, records
from steelyard.records import Amount, Count, DecodeError, Failure, Rejected, Run, TestResults
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
    """The verdicts on a run's instances; Multi-SWE-bench and older reports name some lists differently."""

    resolved_ids: list[str] | None = None
    resolved: list[str] = []
    total_instances: int | None = None
    resolved_instances: int | None = None
    unresolved_ids: list[str] = []
    unresolved: list[str] = []
    error_ids: list[str] = []
    empty_patch_ids: list[str] = []
    empty_error_patch_ids: list[str] = []
    """Of Multi-SWE-bench: no patch, or one that cannot be applied."""
    completed_ids: list[str] = []
    """What was evaluated."""
    submitted_ids: list[str] = []
    incomplete_ids: list[str] = []
    """What was not evaluated; of SWE-bench also what was never attempted."""
    infra_failure_ids: list[str] = []
    """Which of those above the environment broke, as the harness sees it."""
    failure_reasons: dict[str, str] = {}


class ListedResults(msgspec.Struct):
    """The verdicts as submissions to the leaderboard list them."""

    resolved: list[str]
    no_generation: list[str] = []
    no_logs: list[str] = []
    generated: list[str] | None = None
    """Instances with a patch; only the harness's own older report lists them, so that none is left out."""
    with_logs: list[str] = []
    applied: list[str] = []
    install_fail: list[str] = []
    reset_failed: list[str] = []
    no_apply: list[str] = []
    test_errored: list[str] = []
    test_timeout: list[str] = []


class Detail(msgspec.Struct):
    """One instance of `per_instance_details.json`."""

    resolved: bool | None = None
    cost: Amount | None = None
    api_calls: Count | None = None


class PullRequest(msgspec.Struct):
    """The report of Multi-SWE-bench on one instance."""

    org: str
    repo: str
    number: int
    valid: bool | None = None
    error_msg: str | None = None


_LINES = msgspec.json.Decoder(Prediction)
_LIST = msgspec.json.Decoder(list[Prediction])
_OBJECT = msgspec.json.Decoder(dict[str, Prediction])
_INSTANCE = msgspec.json.Decoder(dict[str, Instance])
_REPORT = msgspec.json.Decoder(RunReport)
_LISTED = msgspec.json.Decoder(ListedResults)
_DETAILS = msgspec.json.Decoder(dict[str, Detail])
_PULL_REQUEST = msgspec.json.Decoder(PullRequest)
_LISTS = frozenset(ListedResults.__struct_fields__)
_REPORT_WORDS = ("total_instances", "unresolved_ids", "completed_ids", "submitted_ids", "unresolved")


def _kind(head: Head) -> str | None:
    shape = head.shape
    resolved = "resolved_ids" in shape or shape.get("resolved", "") is None
    patch = ("instance_id", "model_name_or_path", "model_patch")
    if head.has(*patch) and "edit_outcome" not in shape:
        return "lines"
    if head.has(*(f"[].{name}" for name in patch)):
        return "list"
    if resolved and "results" not in shape and any(word in shape for word in _REPORT_WORDS):
        return "report"
    if resolved and shape.keys() <= _LISTS:
        return "listed"
    if head.has("org", "repo", "number", "valid"):
        return "pull request"
    leaves = {path.rpartition(".")[2] for path in shape if path.count(".") >= 1}
    if {"model_name_or_path", "model_patch"} <= leaves and "instance_id" not in shape:
        return "object"
    if {"patch_exists", "resolved"} <= leaves:
        return "instance"
    if {"api_calls", "resolved"} <= leaves and all(path.count(".") <= 1 and "[]" not in path for path in shape):
        return "details"
    return None


def recognizes(head: Head) -> bool:
    """Predictions with a patch, or verdicts on instances."""
    return _kind(head) is not None


def holds_no_run(head: Head) -> bool:
    """Whether the file describes a submission, or sums up its results by repository and year."""
    name = head.path.name
    return (name in _METADATA and b"tags:" in head.text) or name in ("resolved_by_repo.json", "resolved_by_time.json")


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
    elif kind == "listed":
        yield from _listed(document(path, _LISTED), path)
    elif kind == "details":
        for name, detail in document(path, _DETAILS).items():
            yield _detail(name, detail, path)
    elif kind == "pull request":
        yield _pull_request(document(path, _PULL_REQUEST), path)
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
        "cost_usd": "unknown" if fields.get("cost_usd") is None else "reported",
        "usage": "unknown",
    }
    return run_from(format=NAME, path=str(path), how=how, task=name, **fields)


def _prediction(prediction: Prediction, path: Path, line: int | None) -> RunPart | Rejected:
    try:
        run = _run(path, prediction.instance_id, agent=label(prediction.model_name_or_path), outcome="not_scored")
    except DecodeError as error:
        return Rejected(path=str(path), line=line, reason=error.reason)
    patch = hashlib.sha256((prediction.model_patch or "").encode("utf-8", "surrogatepass")).hexdigest()
    return RunPart(run=run, path=str(path), line=line, role="prediction", patch=patch, submitted_by=_submitter(path))


def _verdict(path: Path, task: str, **fields: Any) -> RunPart:  # Any: fields of a Run
    return RunPart(run=_run(path, task, **fields), path=str(path), role="verdict", submitted_by=_submitter(path))


_METADATA = ("metadata.yaml", "metadata.yml")
_NAME = re.compile(r"^[ \t]*name:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_MODEL_PAGE = "https://huggingface.co/"
_MODELS = re.compile(r"^[ \t]*model:[ \t]*(.*)\n((?:[ \t]*-[ \t]*.+\n?)*)", re.MULTILINE)


def _submitter(path: Path) -> tuple[str | None, str | None]:
    """Agent and model by the submission's metadata, in the directory of the file or around it."""
    for metadata in (folder / name for folder in path.parents[:3] for name in _METADATA):
        named = _metadata(metadata)
        if named is not None:
            return named
    stem = path.stem if path.suffix == ".json" else ""  # MODEL.RUN.json, written next to the predictions
    return label(stem.rpartition(".")[0]), None


@lru_cache(maxsize=256)
def _metadata(path: Path) -> tuple[str | None, str | None] | None:
    try:
        text = read_text(path)
    except (OSError, UnreadableFileError):
        return None
    name, models = _NAME.search(text), _MODELS.search(text)
    listed = [] if models is None else re.split(r"[\[\],]|\n\s*-", f"{models[1]}\n{models[2]}")
    several = [each for one in listed if (each := one.strip(" \t\n-'\"").removeprefix(_MODEL_PAGE))]
    return label(name[1].strip("'\"")) if name else None, label(several[0]) if len(several) == 1 else None


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
    # logs/run_evaluation/RUN/MODEL/INSTANCE/report.json; the report of that run is called MODEL.RUN.json
    model, run, logs = (
        (folder.name for folder in (path.parents[1], path.parents[2], path.parents[3]))
        if len(path.parents) > 3
        else ("", "", "")
    )
    is_harness_log = path.parent.name == name and logs == "run_evaluation"
    return _verdict(
        path,
        name,
        agent=label(model) if is_harness_log else None,
        experiment=label(f"{model}.{run}") if is_harness_log else None,
        passed=instance.resolved,
        outcome=outcome_of(instance.resolved),
        failure=failure,
        tests=tests,
    )


def _detail(name: str, detail: Detail, path: Path) -> RunPart:
    return _verdict(
        path,
        name,
        passed=detail.resolved,
        outcome=outcome_of(detail.resolved),
        cost_usd=detail.cost or None,  # 0 of a run that called a model is a cost that is not known
        iterations=detail.api_calls or None,
    )


def _pull_request(report: PullRequest, path: Path) -> RunPart:
    failure = Failure(cause="unknown", message=report.error_msg[:500]) if report.error_msg else None
    return _verdict(
        path,
        f"{report.org}/{report.repo}:pr-{report.number}",
        passed=report.valid,
        outcome=outcome_of(report.valid),
        failure=None if report.valid else failure,
    )


def _report(report: RunReport, path: Path) -> Iterator[ReadItem]:
    resolved = dict.fromkeys(report.resolved if report.resolved_ids is None else report.resolved_ids)
    empty = dict.fromkeys((*report.empty_patch_ids, *report.empty_error_patch_ids))
    errors = {name for name in report.error_ids if name not in empty and name not in resolved}
    if report.submitted_ids:
        submitted = frozenset(report.submitted_ids)
        errors |= {name for name in report.incomplete_ids if name in submitted}
    elif report.empty_error_patch_ids or report.resolved_ids is None:  # every instance of the dataset was attempted
        errors |= set(report.incomplete_ids)
    errors -= resolved.keys() | empty.keys()
    evaluated = (*report.unresolved_ids, *report.unresolved, *empty, *report.completed_ids)
    failed = [name for name in dict.fromkeys(evaluated) if name not in errors and name not in resolved]
    known = resolved.keys() | empty.keys() | errors | {*failed}
    errors |= {name for name in report.submitted_ids if name not in known}
    experiment = label(path.stem)  # MODEL.RUN: several reports in one folder are of several experiments
    for name in resolved:
        yield _verdict(path, name, passed=True, outcome="passed", experiment=experiment)
    for name in failed:
        failure = Failure(cause="agent", message="no patch") if name in empty else _broken(report, name)
        yield _verdict(path, name, passed=False, outcome="failed", failure=failure, experiment=experiment)
    for name in sorted(errors):
        failure = _broken(report, name) or Failure(cause="unknown", message="the evaluation was interrupted")
        yield _verdict(path, name, outcome="errored", failure=failure, experiment=experiment)
    yield from stated_count(str(path), "resolved instances", stated=report.resolved_instances, listed=len(resolved))
    if report.total_instances:
        verdicts: list[bool | None] = [True] * len(resolved) + [False] * len(failed) + [None] * len(errors)
        yield stated_accuracy(
            str(path),
            stated=len(resolved) / report.total_instances,
            of=report.total_instances,
            how="all instances of the dataset",
            verdicts=verdicts,
            by_task=True,
        )


def _broken(report: RunReport, name: str) -> Failure | None:
    """Return why the harness could not judge the instance; the cause is unknown unless it reports one."""
    reason = report.failure_reasons.get(name, "")[:500] or None
    if name in report.infra_failure_ids:
        return Failure(cause="infrastructure", message=reason)
    return Failure(cause="unknown", message=reason) if reason else None


def _listed(results: ListedResults, path: Path) -> Iterator[ReadItem]:
    """A submission's lists. Those that generated a patch are known where the file or predictions next to it say so."""
    passes_only = results.generated is None
    resolved, no_logs = dict.fromkeys(results.resolved), dict.fromkeys(results.no_logs)
    verdicts = [_verdict(path, name, passed=True, outcome="passed") for name in resolved]
    for name in dict.fromkeys((*results.no_generation, *(results.generated or ()))):
        if name not in resolved and name not in no_logs:
            empty = Failure(cause="agent", message="no patch") if name in results.no_generation else None
            verdicts.append(_verdict(path, name, passed=False, outcome="failed", failure=empty))
    for name in no_logs:
        if name not in resolved:
            failure = Failure(cause="unknown", message="no evaluation logs")
            verdicts.append(_verdict(path, name, outcome="errored", failure=failure))
    yield from (msgspec.structs.replace(part, lists_passes_only=passes_only) for part in verdicts)


FORMAT = LogFormat(
    name=NAME,
    title="SWE-bench and Multi-SWE-bench predictions, evaluation reports and leaderboard submissions",
    kind="verdicts",
    yields=("passed", "outcome", "tests", "failure", "cost_usd", "reported accuracy"),
    recognizes=recognizes,
    read=read,
    holds_no_run=holds_no_run,
)
