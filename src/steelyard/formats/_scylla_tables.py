"""ProjectScylla's exported tables: runs.csv, with the judges' and criteria's tables next to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFileError
from steelyard.files import CUT, Row as CsvRow, csv_rows, ends_with_line_end, label
from steelyard.formats._log_format import Head, ReadItem, RunPart, head_of
from steelyard.formats._token_counts import run_from, stated_cost
from steelyard.records import Criterion, DecodeError, Finding, Judgment, Rejected, Usage, exact_mean

KEY = ("experiment", "tier", "subtest", "run_number")
RUNS = frozenset({*KEY, "agent_model", "passed", "cost_usd", "exit_code", "cache_creation_tokens"})
JUDGES = frozenset({*KEY, "judge_model", "judge_number", "judge_score", "judge_passed"})
CRITERIA = frozenset({*KEY, "judge_model", "judge_number", "criterion", "criterion_achieved", "criterion_max"})

SCORE_TOLERANCE = 0.005
"""A score may be rounded to two places."""

Row = dict[str, str]


def _columns(head: Head) -> frozenset[str]:
    first = head.text.split(b"\n", 1)[0].strip()
    return frozenset(first.decode("utf-8", "replace").split(",")) if b"," in first[:4096] else frozenset()


def is_table(head: Head) -> bool:
    """Whether the header line is one of the three tables'."""
    columns = _columns(head)
    return any(known <= columns for known in (RUNS, JUDGES, CRITERIA))


def read_table(path: Path) -> Iterator[ReadItem]:
    """One part per run; the judges' and criteria's tables are read only with the runs next to them."""
    if not _columns(head_of(path)) >= RUNS:
        if not any(_columns(head_of(other)) >= RUNS for other in path.parent.glob("*.csv")):
            yield Rejected(
                path=str(path), reason="no runs table in this directory", hint="put runs.csv in the same directory"
            )
        return
    judgments = _judgments(path.parent)
    for number, row in _rows(path):
        if row is None:
            yield Rejected(
                path=str(path), line=number, reason=f"{CUT}, or its cells do not match the header", code="cut_off"
            )
            continue
        try:
            yield _part(row, judgments, path, number)
        except (DecodeError, ValueError, KeyError) as error:
            yield Rejected(path=str(path), line=number, reason=f"not a run: {error}")


def _rows(path: Path) -> Iterator[tuple[int, Row | None]]:
    """Rows by line; None for one that the file breaks off in. The tool ends each row with a line end."""
    rows = csv_rows(path, column="experiment")
    header = next(rows)
    assert isinstance(header, CsvRow)  # a broken header is an error
    before: tuple[int, Row | None] | None = None
    for row in rows:
        if isinstance(row, Rejected):
            raise UnreadableFileError(str(path), row.reason, hint=row.hint)
        if before is not None:
            yield before
        is_whole = row.problem(header) is None
        before = row.line, dict(zip(header.cells, row.cells, strict=True)) if is_whole else None
    if before is not None:
        yield before[0], before[1] if ends_with_line_end(path) else None


def _judgments(folder: Path) -> dict[tuple[str, ...], list[Judgment]]:
    tables = sorted(folder.glob("*.csv"))
    lines: dict[tuple[str, ...], list[Criterion]] = {}
    for path in tables:
        if _columns(head_of(path)) >= CRITERIA:
            for _, row in _rows(path):
                criterion = _criterion(row) if row else None
                if row and criterion:
                    lines.setdefault((*_key(row), row["judge_number"]), []).append(criterion)
    judgments: dict[tuple[str, ...], list[Judgment]] = {}
    for path in tables:
        columns = _columns(head_of(path))
        if columns >= JUDGES:
            for _, row in _rows(path):
                score = _number(row["judge_score"]) if row else None
                if row and score is not None and 0 <= score <= 1 and row.get("judge_is_valid") != "False":
                    criteria = tuple(lines.get((*_key(row), row["judge_number"]), ()))
                    judgment = Judgment(
                        judge=label(row["judge_model"]),
                        weighted_score=score,
                        passed=_flag(row["judge_passed"]),
                        criteria=criteria or None,
                    )
                    judgments.setdefault(_key(row), []).append(judgment)
    return judgments


def _criterion(row: Row) -> Criterion | None:
    achieved, most = _number(row["criterion_achieved"]), _number(row["criterion_max"])
    if achieved is None or most is None or most <= 0 or not 0 <= achieved <= most or not label(row["criterion"]):
        return None
    return Criterion(name=row["criterion"], achieved=achieved, max=most)


def _part(row: Row, judgments: dict[tuple[str, ...], list[Judgment]], path: Path, number: int) -> RunPart:
    usage = Usage(
        input_tokens=_count(row["input_tokens"]),
        output_tokens=_count(row["output_tokens"]),
        cache_read_tokens=_count(row["cache_read_tokens"]),
        cache_write_5m_tokens=_count(row["cache_creation_tokens"]),
    )
    cost, sure = stated_cost(_number(row["cost_usd"]), usage)
    passed = _flag(row["passed"])
    rate, score = (_number(row.get(name, "")) for name in ("impl_rate", "score"))
    where = f"{path}:{number}"
    notes = [
        Finding(code="rate_out_of_range", message=f"{name} {value} is not a fraction; ignored", where=where)
        for name, value in (("impl_rate", rate), ("score", score))
        if value is not None and not 0 <= value <= 1
    ]
    own = tuple(judgments.get(_key(row), ()))
    notes += _score_notes(score, own, where)
    run = run_from(
        format="scylla",
        path=str(path),
        how={"usage": "reported", "cost_usd": sure, "passed": "unknown" if passed is None else "reported"},
        id=label("/".join((*_key(row)[:3], str(int(row["run_number"]))))),
        experiment=label(row["experiment"]),
        task=label(row["experiment"].split("-", 5)[-1] if row["experiment"][:4].isdigit() else row["experiment"]),
        agent="claude-code",
        model=label(row["agent_model"]),
        tier=row["tier"],
        tier_scheme="scylla-2026",
        attempt=int(row["run_number"]),
        duration_seconds=_number(row.get("duration_seconds", "")),
        passed=passed,
        outcome="not_scored" if passed is None else "passed" if passed else "failed",
        impl_rate=rate if rate is not None and 0 <= rate <= 1 else None,
        judgments=own or consensus(score, passed),
        usage=usage,
        cost_usd=cost,
        extra={"subtest": row["subtest"], "agent_seconds": _number(row.get("agent_duration_seconds", ""))},
    )
    return RunPart(run=run, path=str(path), line=number, role="owner", notes=tuple(notes))


def consensus(score: float | None, passed: bool | None) -> tuple[Judgment, ...]:
    """The judges' joint word, the mean of their scores and their majority's vote, where each one's own is not known."""
    if score is None or not 0 <= score <= 1:
        return ()
    return (Judgment(judge="consensus", weighted_score=score, passed=passed),)


def _score_notes(score: float | None, judgments: Sequence[Judgment], where: str) -> list[Finding]:
    """That the run's score is not the mean of its judges' scores, which is how the tool makes it."""
    if score is None or not judgments:
        return []
    mean = exact_mean([judgment.score for judgment in judgments])
    if math.isclose(score, mean, abs_tol=SCORE_TOLERANCE):
        return []
    message = f"score {score:g} is not the mean of the judges' scores, {mean:g}; the judges' scores are used"
    return [Finding(code="stated_score", message=message, where=where)]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def _number(text: Any) -> float | None:  # Any: a cell, or nothing where the row is short
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _count(text: str) -> int | None:
    value = _number(text)
    if value is not None and (value < 0 or value != int(value)):
        raise ValueError(f"{text!r} is not a token count")
    return None if value is None else int(value)


def _flag(text: str) -> bool | None:
    return {"True": True, "False": False, "true": True, "false": False, "1": True, "0": False}.get(text)
