"""Page of one run: its metrics with their inputs, its parts and its output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import at_least, counted, quantity
from steelyard.option_names import option
from steelyard.questions.explain import ExplainedValue, value_columns
from steelyard.questions.show._answer import CheckedPart, RunDetail, RunDifference
from steelyard.questions.show._run_difference import MAX_ALIGNED, MAX_PAIRS
from steelyard.records import Run, tier_text

if TYPE_CHECKING:
    from steelyard.pages import Column, Facts, LongText, Page, PageLink, PageTable

INSIDE = "└"
"""Indentation per level; pages collapse spaces."""
TERMINAL_ROWS = 60
"""Rows of a table that a terminal shows."""


CHECKS_SHOWN = 3
"""Messages of failures on the overview."""
LINE_CHARACTERS = 300


def page(answer: RunDetail) -> Page:
    """Return the verdict of a run and what failed, its parts and its output."""
    section = answer.section
    numbers = _numbers(answer)
    parts = {table.name: table for table in _parts(answer)}
    tables = {
        "overview": [table for name, table in parts.items() if name not in _folded_parts(answer)],
        "tests": [parts[name] for name in ("tests",) if name in parts],
        "judges": [parts[name] for name in ("judgments",) if name in parts],
        "numbers": [],
    }[section]
    shown = {table.name for table in tables}
    folded = [replace(table, is_folded=True) for name, table in parts.items() if name not in shown]
    if answer.difference is not None:
        tables = [*_difference_tables(answer.difference), *tables]
    tables = [replace(numbers, is_folded=section != "numbers"), *tables, *folded]
    tables = [replace(table, terminal_rows=TERMINAL_ROWS) for table in tables]
    made = pages.Page(
        name="run",
        title=f"Run {answer.run}",
        answer=_sentence(answer),
        notes=tuple(_notes(answer)),
        links=tuple(_links(answer)),
        refs=(pages.Ref("Steps", "show_steps", (("run", answer.run),)),) if answer.transcript else (),
        table=tables[0],
        also=tuple(tables[1:]),
        texts=tuple(_texts(answer)),
        facts=_facts(answer),
    )
    return pages.with_figures(made, answer, ("tokens", "calls"))


def _folded_parts(answer: RunDetail) -> tuple[str, ...]:
    """Return the tables that an overview folds; tests too, unless some failed without a message."""
    tests = answer.record.tests
    has_silent_failures = tests is not None and tests.not_passed and not answer.failures
    return ("calls", "component") if has_silent_failures else ("calls", "component", "tests")


def _sentence(answer: RunDetail) -> str:
    record, tests = answer.record, answer.record.tests
    who = " / ".join(name for name in (record.agent, record.model) if name) or "an unnamed agent"
    parts = [f"{answer.verdict.capitalize()}: {record.task}, {who}"]
    parts += [f"attempt {record.attempt}"] if record.attempt is not None else []
    if tests is not None and tests.total:
        parts.append(f"{tests.total - tests.not_passed:,} of {counted(tests.total, 'test')} passed")
    parts += [
        at_least(quantity(value, unit), is_bound=_is_bound(answer, name))
        for name, unit in _SHOWN
        if (value := answer.number(name)) is not None
    ]
    parts += [counted(len(answer.calls), "call")] if answer.calls else []
    return ", ".join(parts) + "."


def _is_bound(answer: RunDetail, name: str) -> bool:
    provenance = answer.record.provenance or {}
    if name == "cost_usd":
        priced_low = (
            _has_provenance(answer.numbers, "priced_cost_usd", "lower_bound") and answer.record.cost_usd is None
        )
        return bool(answer.record.cost_is_lower_bound) or priced_low
    return name == "total_tokens" and provenance.get("usage") == "lower_bound"


def _has_provenance(parts: Sequence[ExplainedValue], name: str, word: str) -> bool:
    """Whether an input of this name has this provenance."""
    return any(
        (part.name == name and part.provenance == word) or _has_provenance(part.inputs, name, word) for part in parts
    )


_SHOWN = (("cost_usd", "USD"), ("duration_seconds", "s"), ("total_tokens", "tokens"))


def _notes(answer: RunDetail) -> Iterator[str]:
    record, position = answer.record, answer.position
    for check in answer.failures[:CHECKS_SHOWN]:
        line = check.assertion
        yield f"Failed: {check.name}: {line if len(line) <= LINE_CHARACTERS else f'{line[:LINE_CHARACTERS]} ...'}"
    if record.failure is not None:
        yield f"Failed ({record.failure.cause}): {record.failure.message or 'no reason in the log'}"
    yield f"Run {position.number:,} of {position.count:,}, read from {answer.where}."
    about = [f"tier {tier_text(record.tier, record.tier_scheme)}"] if record.tier is not None else []
    about += [f"started {record.started_at.isoformat(sep=' ', timespec='seconds')}"] if record.started_at else []
    about += [f"claims success: {'yes' if record.success else 'no'}"] if record.success is not None else []
    if about:
        yield f"{about[0][0].upper()}{', '.join(about)[1:]}."
    if answer.transcript:
        log = answer.transcript[0]
        yield f"{option('steps')} lists its steps ({log.format}, {log.path})."
    yield f"Profile {answer.profile}, prices {answer.prices}."
    reported, priced = (_fact(answer.numbers, name) for name in ("reported_cost_usd", "priced_cost_usd"))
    if reported is not None and priced is not None and abs(priced - reported) > 0.01 * max(priced, reported):
        yield f"Reported cost: {quantity(reported, 'USD')}; cost by the price table: {quantity(priced, 'USD')}."
    if answer.difference is not None:
        yield from _difference_notes(answer.difference)


def _difference_notes(difference: RunDifference) -> Iterator[str]:
    steps, output = difference.steps, difference.output
    if steps is not None:
        same = f"{counted(steps.same, 'step')} of {steps.count:,} as in {difference.base} ({steps.base_count:,})"
        first = "" if steps.first_divergence is None else f"; first difference at step {steps.first_divergence:,}"
        yield f"Steps: {same}{first}."
        if not steps.is_complete:
            yield f"The first {MAX_ALIGNED:,} steps are aligned, and the first {MAX_PAIRS:,} differences listed."
    if output is not None:
        yield (
            f"Diff with {difference.base}: {counted(output.added, 'line')} added, {output.removed:,} removed."
            if output.added or output.removed
            else f"Diff with {difference.base}: identical output."
        )
        if not output.is_shortest:
            yield "The outputs are long: the diff is complete but may not be minimal."


def _links(answer: RunDetail) -> Iterator[PageLink]:
    """Yield links to neighboring runs and to other pieces of long texts."""
    difference = answer.difference
    kept = {} if difference is None else {"diff": difference.base}
    position = answer.position
    for relation, word, id_ in (("prev", "Previous", position.previous), ("next", "Next", position.next)):
        if id_ is not None:
            yield pages.PageLink(text=f"{word} run", path=_address(id_, {}), relation=relation)
    pieces = [("offset", "output", answer.output)]
    output = None if difference is None else difference.output
    pieces += [("diff_offset", "diff", output.changes)] if output is not None else []
    shown = {name: piece.offset for name, _, piece in pieces if piece is not None and piece.offset}
    for name, what, piece in pieces:
        for word, offset in () if piece is None else (("Earlier", piece.previous_offset), ("More", piece.next_offset)):
            if offset is not None:
                yield pages.PageLink(text=f"{word} {what}", path=_address(answer.run, kept | shown | {name: offset}))


def _address(run: str, query: Mapping[str, object]) -> str:
    asked = urlencode({name: value for name, value in query.items() if value})
    return pages.id_path("runs", run) + (f"?{asked}" if asked else "")


def _fact(parts: Sequence[ExplainedValue], name: str) -> float | None:
    """Return the input of this name."""
    for part in parts:
        if part.name == name:
            return part.value
        inner = _fact(part.inputs, name)
        if inner is not None:
            return inner
    return None


def _numbers(answer: RunDetail) -> PageTable:
    """Return the table of metrics, each followed by its inputs; missing ones are last."""
    names = {each.name for each in answer.numbers}
    rows = [row for each in answer.numbers if not each.reason for row in _walked(each, names)]
    rows += [(0, each) for each in answer.numbers if each.reason]
    return pages.PageTable(caption="Metrics and their inputs", columns=value_columns(rows))


def _walked(part: ExplainedValue, names: set[str], depth: int = 0) -> Iterator[tuple[int, ExplainedValue]]:
    """Yield a metric and its inputs with their depth, each expanded once."""
    yield depth, part
    for inner in part.inputs if not depth or part.name not in names else ():
        yield from _walked(inner, names, depth + 1)


def _parts(answer: RunDetail) -> Iterator[PageTable]:
    record = answer.record
    yield from _tests(record)
    yield from _judgments(record)
    yield from _steps(record)
    if answer.calls:
        yield pages.PageTable(
            name="calls",
            caption=f"Calls ({len(answer.calls):,})",
            columns=(
                pages.level_column("seconds", "after", [call.seconds for call in answer.calls], "s"),
                pages.text_column("model", "model", [call.model for call in answer.calls]),
                pages.count_column("tokens", "tokens", [call.tokens for call in answer.calls]),
                pages.level_column("cost_usd", "cost", [call.cost_usd for call in answer.calls], "USD"),
            ),
        )
    if record.components:
        yield pages.PageTable(
            name="component",
            caption=f"Tokens by component ({len(record.components):,})",
            columns=(
                pages.text_column("component", "component", [each.type.value for each in record.components]),
                pages.count_column("input_tokens", "input tokens", [each.input_tokens for each in record.components]),
                pages.count_column(
                    "output_tokens", "output tokens", [each.output_tokens for each in record.components]
                ),
            ),
        )


def _tests(record: Run) -> Iterator[PageTable]:
    """Yield the table of tests, failures first; counts without names are in the answer."""
    if record.tests is None:
        return
    kinds = (("error", record.tests.errors), ("failed", record.tests.failed), ("passed", record.tests.passed))
    named = [(word, name) for word, names in kinds if isinstance(names, tuple) for name in names]
    if named:
        words = pages.text_column("result", "result", [word for word, _ in named])
        names = pages.text_column("test", "test", [name for _, name in named])
        yield pages.PageTable(name="tests", caption=f"Tests ({len(named):,})", columns=(words, names))


def _judgments(record: Run) -> Iterator[PageTable]:
    """Return one row per judge, followed by its rubric criteria."""
    if not record.judgments:
        return
    rows: list[tuple[str, str | None, float | None, str | None, float | None]] = []
    for number, judgment in enumerate(record.judgments, 1):
        vote = {True: "passed", False: "failed", None: None}[judgment.passed]
        rows.append((judgment.judge or f"judge {number}", vote, judgment.score, None, judgment.cost_usd))
        for line in judgment.criteria or ():
            score, achieved = line.achieved / line.max, f"{line.achieved:g} of {line.max:g}, weight {line.weight:g}"
            rows.append((f"{INSIDE} {line.name}", None, score, achieved, None))
    judges, votes, scores, points, costs = (list(column) for column in zip(*rows, strict=True))
    yield pages.PageTable(
        name="judgments",
        caption=f"Judgments ({len(record.judgments):,})",
        columns=(
            pages.text_column("judge", "judge, criterion", judges),
            pages.text_column("vote", "vote", votes),
            pages.number_column("score", "score", scores),
            pages.text_column("points", "points", points),
            pages.level_column("cost_usd", "cost", costs, "USD"),
        ),
    )


def _steps(record: Run) -> Iterator[PageTable]:
    if record.steps is None:
        return
    achieved = set(record.steps.achieved)
    expected = record.steps.expected or ()
    unexpected = [step for step in record.steps.achieved if step not in {each.id for each in expected}]
    ids = [*(step.id for step in expected), *unexpected]
    if ids:
        yield pages.PageTable(
            name="steps",
            caption=f"Steps ({len(ids):,})",
            columns=(
                pages.text_column("step", "step", ids),
                pages.text_column("achieved", "achieved", ["yes" if step in achieved else "no" for step in ids]),
                pages.number_column(
                    "weight", "weight", [*(step.weight for step in expected), *(None for _ in unexpected)]
                ),
            ),
        )


def _difference_tables(difference: RunDifference) -> Iterator[PageTable]:
    """Yield the numbers of both runs side by side, and their steps from the first that differs on."""
    numbers = difference.numbers
    yield pages.PageTable(
        name="numbers_of_both",
        caption=f"Values of both runs ({len(numbers):,})",
        columns=(
            pages.text_column("number", "number", [each.name for each in numbers]),
            _number_column("value", "this run", [(each.value, each.unit) for each in numbers]),
            _number_column("base_value", difference.base, [(each.base_value, each.unit) for each in numbers]),
        ),
    )
    steps = difference.steps
    if steps is None or not steps.pairs:
        return
    pairs = steps.pairs
    yield pages.PageTable(
        name="steps_of_both",
        caption=f"Steps from the first difference on ({len(pairs):,})",
        columns=(
            pages.count_column("step", "step", [each.step for each in pairs]),
            pages.count_column("base_step", "other", [each.base_step for each in pairs]),
            pages.text_column("relation", "relation", [each.relation for each in pairs]),
            pages.text_column("author", "author", [each.tool or each.author for each in pairs]),
            pages.text_column("content", "this run", [_short(each.content) for each in pairs]),
            pages.text_column(
                "base_content",
                difference.base,
                [None if each.relation == "same" else _short(each.base_content) for each in pairs],
            ),
        ),
    )


def _number_column(name: str, title: str, values: Sequence[tuple[float | None, str | None]]) -> Column:
    texts = [
        pages.DASH if value is None else quantity(value, unit) if unit else f"{value:,.6g}" for value, unit in values
    ]
    return pages.Column(name=name, title=title, values=[value for value, _ in values], decimals=6, texts=texts)


PAIR_CHARACTERS = 80


def _short(content: str | None) -> str | None:
    return content if content is None or len(content) <= PAIR_CHARACTERS else f"{content[:PAIR_CHARACTERS]} ..."


def _texts(answer: RunDetail) -> Iterator[LongText]:
    if answer.section in ("overview", "tests"):
        shown = [each for each in answer.failures if answer.section == "overview" or each.kind == "test"]
        for check in shown[:CHECKS_SHOWN] if answer.section == "overview" else shown:
            yield pages.LongText(heading=_heading("Failed", check), text=check.text, is_open=True)
    if answer.section == "judges":
        for number, judgment in enumerate(answer.record.judgments or (), 1):
            if judgment.reasoning:
                heading = f"Reasoning: {judgment.judge or f'judge {number}'}"
                yield pages.LongText(heading=heading, text=judgment.reasoning, is_open=True)
        for check in answer.checks:
            if check.kind == "grader":
                yield pages.LongText(heading=_heading("Reasoning", check), text=check.text, is_open=True)
    if answer.output is not None and answer.section == "overview":
        yield pages.LongText(heading=answer.output.heading("Output"), text=answer.output.text, is_open=True)
    output = None if answer.difference is None else answer.difference.output
    if answer.difference is not None and output is not None and output.changes.total:
        heading = output.changes.heading(f"Diff with {answer.difference.base}")
        yield pages.LongText(heading=heading, text=output.changes.text, is_open=True)


def _heading(word: str, check: CheckedPart) -> str:
    return f"{word}: {check.name}{f' ({check.where})' if check.where else ''}"


def _facts(answer: RunDetail) -> Facts:
    source = answer.record.source
    read_as = (("format", source.format),) if source is not None and source.format else ()
    return (*read_as, ("profile", answer.profile), ("prices", answer.prices))
