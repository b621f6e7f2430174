"""Conversion of an execution to a Run: its logs, corrected by the metering proxy and the runner."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from steelyard.files import read_text
from steelyard.records import (
    TOKEN_KINDS,
    Call,
    Conditions,
    Failure,
    Finding,
    Flag,
    Outcome,
    Output,
    Provenance,
    Rejected,
    Run,
    Usage,
    add_usage,
    calls_in,
    kinds_of,
)
from steelyard.runner._digests import file_digest
from steelyard.runner._execution import AGENT_LIMITS, MIB, ExecutionEvidence, Job, files_below, initial_files
from steelyard.runner._metering_records import NO_TOKENS, MeteredCalls
from steelyard.runner._trial_records import Ending
from steelyard.runner._verification import VerifyEvidence
from steelyard.sandbox import Content, printable
from steelyard.sources import NamedRun, each_once, gather

MAX_LOGS = 1_000
MAX_FLAGS = 20
"""Changed files that are listed."""
_HOOKS = ("conftest.py", "sitecustomize.py", "usercustomize.py", "*.pth", "pytest.ini", "tox.ini", "noxfile.py")
"""Names of files that run before tests, or decide which tests run."""
_CI_FILES = (".gitlab-ci.yml", ".travis.yml", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml")
_CI_FOLDERS = frozenset({".github", ".circleci", ".buildkite", ".woodpecker"})
_TEST_FILES = ("test_*.py", "*_test.py", "*_test.go", "*.test.*", "*.spec.*", "*Test.java")
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec"})
_INSTALLED_FOLDERS = frozenset({".git", ".tox", ".venv", "venv", "node_modules", "site-packages"})
_KIND_WORDS = {kind: kind.removesuffix("_tokens").replace("_", " ") for kind in TOKEN_KINDS}


def run_of_trial(
    job: Job,
    folder: Path,
    evidence: ExecutionEvidence,
    ending: Ending,
    *,
    verified: VerifyEvidence | None = None,
    tier_scheme: str | None = None,
) -> tuple[Run, tuple[Finding, ...]]:
    """The Run of the execution in the folder, and what a reader of it should know."""
    findings: list[Finding] = []
    logged = _logged(job, folder, findings)
    provenance: dict[str, Provenance] = {"started_at": "counted", "ended_at": "counted"}
    facts = _from_logs(logged, provenance)
    count = evidence.count
    if count is not None:
        _compare(job, logged, count, findings)
        facts |= _from_proxy(count, provenance)
    elif evidence.is_silent and not facts.keys() & {"usage", "calls", "cost_usd"}:
        facts |= {"usage": NO_TOKENS, "cost_usd": 0.0}
        provenance |= {"usage": "counted", "cost_usd": "counted"}
    facts |= _verdict(ending, verified, provenance)
    if job.adapter.name == "model" and evidence.exit_status == 0:
        facts["output"] = Output(text=read_text(folder / "stdout"))
    if tier_scheme is not None:
        facts["tier_scheme"] = tier_scheme
    if (folder / "work").is_dir() and job.adapter.name != "oracle":
        facts["flags"] = tuple(_flags(job, folder / "work", evidence))
    run = Run(
        id=job.trial.id,
        experiment=job.experiment,
        task=job.trial.task,
        agent=job.trial.agent,
        model=job.trial.model,
        tier=job.trial.tier,
        attempt=job.trial.attempt,
        conditions=Conditions(
            time_limit_seconds=job.trial.time_limit_seconds,
            memory_mb=job.adapter.limits.limits(job.trial.time_limit_seconds, default=AGENT_LIMITS).memory_bytes / MIB,
            harness="steelyard",
            harness_version=job.facts.get("steelyard"),
            agent_version=job.facts.get("agent_version"),
        ),
        started_at=evidence.started_at,
        ended_at=evidence.ended_at,
        provenance=provenance,
        extra=_origin(job, evidence, ending, folder, verified),
        **facts,
    )
    findings += _other_models(job, count)
    findings += _settings_not_sent(job, count)
    return run, tuple(findings)


def _logged(job: Job, folder: Path, findings: list[Finding]) -> list[Run]:
    """Return the runs in the agent's logs: one, or one per session."""
    paths = list(log_files(folder, job.adapter.logs))
    runs: list[Run] = []
    rejected: list[Rejected] = []
    for item in each_once(gather(paths, workers=1)) if paths else ():
        if isinstance(item, NamedRun):
            runs.append(item.run)
        elif isinstance(item, Rejected):
            rejected.append(item)
    if job.adapter.logs_optional and not runs:
        return []
    if rejected:
        count = "1 record" if len(rejected) == 1 else f"{len(rejected):,} records"
        reason = f"{count} in the agent's log could not be read: {rejected[0].reason}"
        findings.append(Finding(code="unreadable_log", message=reason, where=f"trial {job.trial.id}"))
    if not runs and job.uses_calls and job.adapter.logs and job.adapter.needs_calls:
        message = "no readable agent log; tokens and calls are metered, tool calls are unknown"
        findings.append(Finding(code="no_log", message=message, where=f"trial {job.trial.id}"))
    return runs


def log_files(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """The logs among the files that the agent left; no link is followed, since it may have put one anywhere.

    In a pattern `*` matches a part of a name and `**` any directories.
    """
    if "stdout" in patterns and (folder / "stdout").is_file():
        yield folder / "stdout"
    wanted = [pattern.split("/") for pattern in patterns if pattern != "stdout"]
    count = 0
    for side in sorted({parts[0] for parts in wanted}):
        for place, folders, names in os.walk(folder / side):
            folders.sort()
            for name in sorted(names):
                path = Path(place, name)
                parts = path.relative_to(folder).parts
                if path.is_symlink() or not path.is_file() or not any(_fits(parts, pattern) for pattern in wanted):
                    continue
                count += 1
                if count > MAX_LOGS:
                    return
                yield path


def _fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the path fits the pattern, name by name.

    >>> _fits(("home", "a", "b", "x.json"), ("home", "**", "*.json")), _fits(("home", "x"), ("home", "**", "x"))
    (True, True)
    >>> _fits(("home", "a", "x.json"), ("home", "*.json"))
    False
    """
    if not pattern or not parts:
        return not pattern and not parts
    if pattern[0] == "**":
        return _fits(parts, pattern[1:]) or _fits(parts[1:], pattern)
    return fnmatch.fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


def _from_logs(logged: Sequence[Run], provenance: dict[str, Provenance]) -> dict[str, Any]:  # Any: a Run's fields
    """Return fields known only from the logs, and tokens and cost if they were not metered."""
    facts: dict[str, Any] = {}
    for name in ("tool_calls", "iterations"):
        known = [value for run in logged if (value := getattr(run, name)) is not None]
        if known and len(known) == len(logged):
            facts[name] = sum(known)
    if len(logged) == 1:
        only = logged[0]
        kept = ("success", "files_created", "output", "usage", "calls", "cost_usd", "steps", "components")
        facts |= {name: value for name in kept if (value := getattr(only, name)) is not None}
        provenance |= {name: how for name, how in (only.provenance or {}).items() if name in (*facts, "usage")}
    elif logged:
        facts["usage"] = add_usage(run.total_usage for run in logged)
        provenance["usage"] = "lower_bound" if any(_is_lower_bound(run) for run in logged) else "reported"
    return facts


def _is_lower_bound(run: Run) -> bool:
    return run.total_usage is None or (run.provenance or {}).get("usage") == "lower_bound"


def _from_proxy(count: MeteredCalls, provenance: dict[str, Provenance]) -> dict[str, Any]:  # Any: a Run's fields
    """Return metered calls and tokens, which replace those of the logs, and the cost derived from them."""
    calls = tuple(
        Call(model=call.model_answered or call.model_asked, at=call.started, usage=call.usage) for call in count.served
    )
    provenance["usage"] = "lower_bound" if count.is_lower_bound else "counted"
    provenance.pop("cost_usd", None)
    # Of calls without an end, some state no tokens: what the others used is the least that the run used.
    usage = count.usage if count.is_lower_bound or not calls else None
    return {"calls": calls or None, "usage": usage, "cost_usd": None}


def _compare(job: Job, logged: Sequence[Run], count: MeteredCalls, findings: list[Finding]) -> None:
    """Where proxy and log differ the metering proxy counts, and a finding gives both."""
    where = f"trial {job.trial.id}"
    reported = add_usage(run.total_usage for run in logged)
    if reported is not None:
        counted = count.usage or Usage()
        differing = [
            f"{word} {theirs:,} in the log, {ours or 0:,} counted"
            for word, theirs, ours in zip(_KIND_WORDS.values(), kinds_of(reported), kinds_of(counted), strict=True)
            if theirs is not None and theirs != (ours or 0)
        ]
        if differing:
            message = f"the agent's log reports other token counts; the metered counts are used: {'; '.join(differing)}"
            findings.append(Finding(code="usage_differs_from_log", message=message, where=where))
    served = [call for call in count.calls if call.usage is not None]
    each = [None if run.calls is None else calls_in(run.calls) for run in logged]
    known = [calls for calls in each if calls is not None]
    if known and len(known) == len(logged) and sum(known) != len(served):
        message = f"the agent's log has {sum(known)} model calls; the metering proxy counted {len(served)}"
        findings.append(Finding(code="calls_not_logged", message=message, where=where))


def _verdict(
    ending: Ending, verified: VerifyEvidence | None, provenance: dict[str, Provenance]
) -> dict[str, Any]:  # Any: a Run's fields
    passed = verified.passed if verified is not None and ending.name != "verifier_broken" else None
    facts: dict[str, Any] = {"outcome": _outcome(ending, passed)}
    if ending.cause is not None:
        facts["failure"] = Failure(cause=ending.cause, message=ending.detail)
    if passed is not None and verified is not None:
        provenance["passed"] = "counted"
        tests = verified.tests if verified.rejected is None else None  # they would say that it passed
        facts |= {"passed": passed, "tests": tests}
    if verified is not None and verified.is_weak:
        facts["weak_check"] = True
    return facts


def _flags(job: Job, work: Path, evidence: ExecutionEvidence) -> Iterator[Flag]:
    """Observations that do not depend on the agent's log."""
    changed = sorted(_changed_files(initial_files(job), files_below(work)))
    for detail in changed[:MAX_FLAGS]:
        yield Flag(kind="protected_file_changed", detail=printable(detail))
    if len(changed) > MAX_FLAGS:
        yield Flag(kind="protected_file_changed", detail=f"{len(changed) - MAX_FLAGS:,} more files")
    if evidence.network_attempts:
        attempts = f"{evidence.network_attempts:,} packets without a route or name lookups"
        yield Flag(kind="network_attempted", detail=attempts)
    if evidence.left_processes:
        yield Flag(kind="process_left", detail=", ".join(evidence.left_processes))


def _changed_files(before: dict[str, Content], after: dict[str, Path]) -> Iterator[str]:
    """Tests that were changed or removed; and files that run before tests, or in CI, that were added too."""
    own_modules = {PurePosixPath(name).parts[0].removesuffix(".py") for name in before}
    for name in before.keys() | after.keys():
        path = PurePosixPath(name)
        folders = set(path.parts[:-1])
        if folders & _INSTALLED_FOLDERS:
            continue
        is_hook = any(fnmatch.fnmatchcase(path.name, pattern) for pattern in (*_HOOKS, *_CI_FILES))
        if name not in before:
            module = path.parts[0].removesuffix(".py")
            is_module = path.suffix == ".py" and module in sys.stdlib_module_names and module not in own_modules
            if is_hook or is_module or folders & _CI_FOLDERS:
                yield f"added {name}"
            continue
        is_test = any(fnmatch.fnmatchcase(path.name, pattern) for pattern in _TEST_FILES)
        if not (is_hook or is_test or folders & (_CI_FOLDERS | _TEST_FOLDERS)):
            continue
        if name not in after:
            yield f"removed {name}"
        elif _content(before[name]) != _content(after[name]):
            yield f"changed {name}"


def _content(file: Content) -> str:
    """What is compared of a file: the digest of its content, or where a link leads."""
    if isinstance(file, bytes):
        return hashlib.sha256(file).hexdigest()
    if file.is_symlink():
        return f"link to {os.readlink(file)}"
    return file_digest(file) if file.is_file() else "not a file"  # reading a pipe would wait for a writer


def _outcome(ending: Ending, passed: bool | None) -> Outcome:
    if passed is not None:
        return "passed" if passed else "failed"
    return "errored" if ending.cause is not None else "not_scored"


def _origin(
    job: Job, evidence: ExecutionEvidence, ending: Ending, folder: Path, verified: VerifyEvidence | None
) -> dict[str, Any]:  # Any: x_ values
    """Where the Run comes from: what was asked for, what was sent, what answered. No address and no key."""
    calls = evidence.count.calls if evidence.count is not None else ()
    sent = {
        name: sorted({value for call in calls if (value := getattr(call, name)) is not None})
        for name in ("temperature", "seed", "model_asked", "model_answered")
    }
    fields = {
        "x_trial": job.trial.id,
        "x_retry": int(folder.name.removeprefix("retry-")) if folder.name.startswith("retry-") else None,
        "x_ending": ending.name,
        "x_isolation": evidence.isolation,
        "x_adapter": f"{job.adapter.name} {job.adapter.digest[:12]}",
        "x_endpoint": job.endpoint if job.uses_calls else None,
        "x_setting": ",".join(f"{name}={value}" for name, value in sorted(job.trial.setting.items())) or None,
        "x_model_sent": ",".join(sent["model_asked"]) or None,
        "x_model_answered": ",".join(sent["model_answered"]) or None,
        "x_temperature_sent": ",".join(map(str, sent["temperature"])) or None,
        "x_seed_sent": ",".join(map(str, sent["seed"])) or None,
        "x_dropped_output_bytes": evidence.dropped_bytes or None,
        "x_shared_tests": verified.shared_tests if verified is not None else None,
        "x_object_operators": verified.object_operators if verified is not None else None,
        **{f"x_{name}": value for name, value in job.facts.items() if name not in ("agent_version", "steelyard")},
    }
    return {name: value for name, value in fields.items() if value is not None}


def _other_models(job: Job, count: MeteredCalls | None) -> Iterator[Finding]:
    """Models that the agent asked besides the one that the plan names: for titles, summaries, commit messages."""
    asked = {call.model_asked for call in count.calls} if count is not None else set()
    others = sorted(name for name in asked - {job.trial.model} if name is not None)
    if others and job.trial.model is not None:
        message = f"the agent also called {', '.join(others)}; the plan specifies {job.trial.model}"
        yield Finding(code="other_model_asked", severity="info", message=message, where=f"trial {job.trial.id}")


def _settings_not_sent(job: Job, count: MeteredCalls | None) -> Iterator[Finding]:
    """Settings of the plan that did not reach the model as they were asked for."""
    for name in ("temperature", "seed"):
        asked = job.trial.setting.get(name)
        sent = {getattr(call, name) for call in count.calls} if count is not None and count.calls else None
        if asked is None or sent is None or sent == {asked}:
            continue
        values = ", ".join(sorted("none" if value is None else str(value) for value in sent))
        message = f"{name} {asked} was requested, but {values} was sent"
        yield Finding(code="setting_not_sent", message=message, where=f"trial {job.trial.id}")
