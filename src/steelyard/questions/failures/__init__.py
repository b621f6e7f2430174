"""Count runs by how they ended.

Categories are passed, time limit, budget, gave up, empty patch, tests not run, crash, wrong file and failed tests.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec
from msgspec import structs

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted, percent
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._options import RunFilterOptions
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import CustomFieldCheck, RecordReader, Runs
from steelyard.questions.integrity import agent_actions
from steelyard.questions.measure import checked_keys
from steelyard.records import (
    Finding,
    Missing,
    Redaction,
    Rejected,
    Run,
    key_of,
    key_text,
    one_a_kind,
    set_aside_findings,
)
from steelyard.sources import PlacedRun, transcript_of

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable

PASSED = "passed"
MAX_LISTED = 1_000
"""Runs that an answer lists; the others are counted."""
MAX_FILES = 1_000
"""Changed files of a run that are compared."""
MAX_REASON = 200
GIVING_UP = (
    "i was unable to",
    "i am unable to",
    "i'm unable to",
    "i could not complete",
    "i couldn't complete",
    "i give up",
    "i'm giving up",
    "unable to complete",
    "could not be completed",
    "i cannot complete",
    "i can't complete",
    "i was not able to",
    "without success",
    "task is impossible",
    "i have not been able to",
)
"""Texts of a last message by which an agent says that it has not done the task."""
READ_ONLY = frozenset(
    (
        "cat",
        "less",
        "more",
        "head",
        "tail",
        "grep",
        "rg",
        "egrep",
        "nl",
        "od",
        "xxd",
        "jq",
        "ls",
        "find",
        "fd",
        "cd",
        "echo",
        "printf",
        "pwd",
        "wc",
        "sort",
        "uniq",
        "cut",
        "tr",
        "which",
        "test",
        "true",
        "env",
        "date",
        "tree",
        "file",
        "stat",
        "diff",
        "cmp",
        "du",
        "df",
        "id",
        "whoami",
        "uname",
        "type",
        "pytest",
        "sleep",
        "awk",
    )
)
"""Commands that change no file unless their output is redirected."""
Fact = Literal[
    "says that it gave up",
    "changed no file",
    "no test has a result",
    "the log states a failure",
    "changed no file that a passed run changed",
    "a test failed",
    "did not pass",
    "always",
]


class FailureCategory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Declaration of a category."""

    id: str
    title: str
    messages: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


@cache
def failure_categories() -> tuple[FailureCategory, ...]:
    """Return the categories of runs that did not pass, in the order in which they are tried."""
    values = tomllib.loads((Path(__file__).parent / "categories.toml").read_text("utf-8"))
    return msgspec.convert(values["categories"], tuple[FailureCategory, ...])


class FailuresOptions(RunFilterOptions):
    """Options of `failures`."""

    by: Names = doc(
        "Comma-separated grouping keys: agent, model, tier, task, experiment or a custom field.",
        default=(),
    )
    redact: bool = doc("Redact API keys and tokens.", default=True, local=True)


class CategoryCount(Part, frozen=True, kw_only=True):
    """Runs of one category in a group."""

    runs: int
    fraction: float
    """Proportion of the group's runs."""
    solved_elsewhere: int
    """Number of these runs on tasks that a run of another group passed."""


class FailureGroup(Part, frozen=True, kw_only=True):
    """Runs of one group by category."""

    key: dict[str, str | None]
    n: int
    """Number of runs."""
    categories: dict[str, CategoryCount]
    """By id of the category; `passed` comes first."""


class FailedRun(Part, frozen=True, kw_only=True):
    """A run that did not pass."""

    run: str
    task: str
    category: str
    reason: str
    """Failure that the log states, else the fact that decided."""
    solved_elsewhere: bool
    """Whether a run of another group passed the task."""
    where: str | None
    """File that the run was read from."""


class FailureSummary(Answer, frozen=True, kw_only=True):
    """How runs ended."""

    rows: ClassVar[Rows] = Rows("groups.categories", keys={"categories": "category"})
    by: tuple[str, ...]
    groups: tuple[FailureGroup, ...]
    """Ordered by key; without keys, the one group of all runs."""
    failed_runs: tuple[FailedRun, ...]
    """Runs that did not pass, in the order of the input, at most 1,000."""
    failed_count: int
    """Number of runs that did not pass or have no verdict."""
    n: int
    """Number of runs."""
    without_steps: int
    """Number of runs whose messages could not be read: their files and last words are unknown."""
    rejected_count: int
    findings: tuple[Finding, ...]

    @property
    def about(self) -> str:
        """Number of runs that passed."""
        return f"{self.n - self.failed_count:,} of {counted(self.n, 'run')} passed"


@question(FailuresOptions, examples=({"": "logs/", "by": "agent"},))
def failures(runs: Runs, options: FailuresOptions) -> FailureSummary:
    """Count runs by how they ended.

    >>> import steelyard as sy
    >>> sy.failures([{"task": "t", "passed": True}, {"task": "u", "passed": False}])
    FailureSummary(1 of 2 runs passed)
    """
    reader = RecordReader(options.reading())
    entries = list(reader.read(runs))
    findings = reader.finish()
    made = failures_of(entries, options)
    return structs.replace(
        made,
        rejected_count=made.rejected_count + len(reader.set_aside),
        findings=one_a_kind((*findings, *made.findings)),
    )


class _RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about one run."""

    id: str
    task: str
    key: tuple[str | None, ...]
    verdict: bool | None
    message: str | None = None
    """Failure that the log states."""
    has_failure: bool = False
    has_no_results: bool = False
    """Whether test results are stated, and none has a result."""
    has_failed_test: bool = False
    changed: frozenset[str] | None = None
    """Files that the run changed; None if its messages are unknown."""
    has_changed_none: bool = False
    """Whether the run called tools, and none of them can have changed a file."""
    last_words: str = ""
    where: str | None = None
    rejected: tuple[Rejected, ...] = ()


def failures_of(entries: Iterable[tuple[str, PlacedRun]], options: FailuresOptions) -> FailureSummary:
    """Return the categories of runs that were read."""
    keys = checked_keys(options.by)
    custom_fields = CustomFieldCheck(keys)
    redaction = Redaction() if options.redact else None
    known = list[_RunFacts]()
    for id_, entry in entries:
        custom_fields.add(entry.run)
        known.append(_facts_of(id_, entry, tuple(key_of(entry.run, name) for name in keys), redaction))
    custom_fields.check()
    passed_files: dict[str, set[str]] = {}
    passed_by: dict[str, set[tuple[str | None, ...]]] = {}
    for run in known:
        if run.verdict:
            passed_by.setdefault(run.task, set()).add(run.key)
            passed_files.setdefault(run.task, set()).update(run.changed or ())
    groups: dict[tuple[str | None, ...], Counter[str]] = {}
    elsewhere: Counter[tuple[tuple[str | None, ...], str]] = Counter()
    listed, failed_count = list[FailedRun](), 0
    for run in known:
        category, reason = _category(run, passed_files.get(run.task, set()))
        groups.setdefault(run.key, Counter())[category] += 1
        if category == PASSED:
            continue
        failed_count += 1
        is_solved = bool(passed_by.get(run.task, set()) - {run.key})
        elsewhere[run.key, category] += is_solved
        if len(listed) < MAX_LISTED:
            listed.append(
                FailedRun(
                    run=run.id,
                    task=run.task,
                    category=category,
                    reason=" ".join(reason.split())[:MAX_REASON],
                    solved_elsewhere=is_solved,
                    where=run.where,
                )
            )
    unread = [line for run in known for line in run.rejected]
    findings = set_aside_findings(unread)
    if failed_count > len(listed):
        message = f"the first {len(listed):,} of {failed_count:,} runs are listed"
        findings.append(Finding(code="more_runs", severity="info", message=message))
    present = {name for counts in groups.values() for name in counts}
    names = [name for name in _titles() if name in present]
    ordered = sorted(groups.items(), key=lambda item: [(value is None, value or "") for value in item[0]])
    return FailureSummary(
        by=tuple(keys),
        groups=tuple(
            FailureGroup(
                key=dict(zip(keys, key, strict=True)),
                n=counts.total(),
                categories={
                    name: CategoryCount(
                        runs=counts[name], fraction=counts[name] / counts.total(), solved_elsewhere=elsewhere[key, name]
                    )
                    for name in names
                },
            )
            for key, counts in ordered
        ),
        failed_runs=tuple(listed),
        failed_count=failed_count,
        n=len(known),
        without_steps=sum(run.changed is None for run in known),
        rejected_count=len(unread),
        findings=one_a_kind(findings),
    )


def _facts_of(id_: str, entry: PlacedRun, key: tuple[str | None, ...], redaction: Redaction | None) -> _RunFacts:
    """Return what decides the category of a run; its messages are read once."""
    run = entry.run
    changed, has_changed_none, last_words, rejected = None, False, "", tuple[Rejected, ...]()
    transcript = transcript_of(entry, None)
    if not isinstance(transcript, Missing):
        files, count, kinds, is_read_only = set[str](), 0, set[str](), True
        for step in transcript:
            count += 1
            if step.kind == "tool_call" and len(files) < MAX_FILES:
                made = list(agent_actions(step.tool or "", step.arguments or {}))
                files.update(_file_name(each.target) for each in made if each.kind in ("change", "delete"))
                kinds.update(each.kind for each in made)
                is_read_only &= bool(made) and all(each.kind != "run" or each.words[0] in READ_ONLY for each in made)
            elif step.kind == "message" and step.role == "assistant" and step.text:
                last_words = step.text
        rejected = tuple(transcript.rejected)
        if count and not rejected:
            changed = frozenset(files)
            has_changed_none = bool(kinds) and not files and is_read_only

    def plain(text: str | None) -> str | None:
        return text if text is None or redaction is None else redaction.text(text)

    return _RunFacts(
        id=plain(id_) or id_,
        task=plain(run.task) or run.task,
        key=key,
        verdict=run.verdict,
        message=plain(run.failure.message if run.failure is not None else None),
        has_failure=run.failure is not None or run.outcome == "errored",
        has_no_results=run.tests is not None and not run.tests.total,
        has_failed_test=run.tests is not None and run.tests.not_passed > 0,
        changed=changed,
        has_changed_none=has_changed_none,
        last_words=plain(last_words) or "",
        where=plain(entry.path),
        rejected=rejected,
    )


def _file_name(path: str) -> str:
    """Return the last two parts of a path: agents name a file by its whole path or by that in the repository."""
    return "/".join(path.strip().removeprefix("./").split("/")[-2:])


def _category(run: _RunFacts, passed_files: set[str]) -> tuple[str, str]:
    """Return the category of a run and what decided."""
    if run.verdict:
        return PASSED, ""
    message = (run.message or "").lower()
    for category in failure_categories():
        if any(text in message for text in category.messages):
            return category.id, run.message or ""
        for fact in category.facts:
            reason = _reason(fact, run, passed_files)
            if reason is not None:
                return category.id, reason
    raise AssertionError("the last category always applies")


def _reason(fact: Fact, run: _RunFacts, passed_files: set[str]) -> str | None:
    """Return the reason if the fact holds."""
    holds = False
    reason: str = fact
    match fact:
        case "says that it gave up":
            line = next(
                (each for each in run.last_words.split("\n") if any(t in each.lower() for t in GIVING_UP)), None
            )
            holds, reason = line is not None, line or fact
        case "changed no file":
            holds = run.has_changed_none and run.verdict is False and not run.has_failure
        case "no test has a result":
            holds = run.has_no_results
        case "the log states a failure":
            holds, reason = run.has_failure, run.message or fact
        case "changed no file that a passed run changed":
            holds = bool(run.changed) and bool(passed_files) and run.verdict is False
            holds = holds and passed_files.isdisjoint(run.changed or ())
        case "a test failed":
            holds = run.has_failed_test
        case "did not pass":
            holds = run.verdict is False
        case "always":
            holds, reason = True, "no verdict and no failure"
    return reason if holds else None


def page(answer: FailureSummary) -> Page:
    """Return the categories per group, then the runs that did not pass."""
    total: Counter[str] = Counter()
    for group in answer.groups:
        total.update({name: count.runs for name, count in group.categories.items() if name != PASSED})
    common = max(total, key=lambda name: total[name], default=None)
    sentence = answer.about
    if common is not None and total[common]:
        fraction = percent(total[common] / answer.failed_count)
        sentence += f". Most frequent category of the others: {_titles()[common]} ({fraction})"
    steps = f"{counted(answer.without_steps, 'run')} without messages: changed files and last words are unknown."
    return pages.Page(
        name="failures",
        title="How did the runs end?",
        answer=f"{sentence}.",
        notes=(steps,) if answer.without_steps else (),
        table=_groups_table(answer),
        also=(*_runs_tables(answer), *pages.folded_findings(answer.findings, rejected=answer.rejected_count)),
        facts=(("runs", f"{answer.n:,}"),),
    )


def _titles() -> Mapping[str, str]:
    """Return the title of each category, in the order of the table."""
    return {PASSED: PASSED, **{each.id: each.title for each in failure_categories()}}


def _groups_table(answer: FailureSummary) -> PageTable:
    """Return one row per group and category."""
    rows = [(group, name, count) for group in answer.groups for name, count in group.categories.items() if count.runs]
    columns = [pages.text_column(key, key, [key_text(group.key[key]) for group, *_ in rows]) for key in answer.by]
    titles = _titles()
    columns += [
        pages.text_column("category", "category", [titles[name] for _, name, _ in rows]),
        pages.count_column("runs", "runs", [count.runs for *_, count in rows]),
        pages.level_column("fraction", "of the group", [count.fraction for *_, count in rows], "fraction"),
    ]
    if answer.by:
        solved = [count.solved_elsewhere for *_, count in rows]
        columns.append(pages.count_column("solved_elsewhere", "passed by others", solved))
    return pages.PageTable(caption="Runs by how they ended", columns=tuple(columns))


def _runs_tables(answer: FailureSummary) -> Sequence[PageTable]:
    runs = answer.failed_runs
    if not runs:
        return ()
    where = pages.text_column("where", "file", [each.where for each in runs])
    titles = _titles()
    table = pages.PageTable(
        name="failed_runs",
        caption=counted(len(runs), "run that did not pass", "runs that did not pass"),
        columns=(
            pages.id_column("run", "run", "runs", [each.run for each in runs]),
            pages.text_column("task", "task", [each.task for each in runs]),
            pages.text_column("category", "category", [titles[each.category] for each in runs]),
            pages.text_column("reason", "reason", [each.reason for each in runs]),
            replace(where, spare=1),
        ),
        is_folded=True,
    )
    return (table,)
