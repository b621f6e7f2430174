"""Matches of the integrity rules in labeled traces, compared with the labels.

`PYTHONPATH=tests python -m integrity.rule_counts` writes the counts into docs/integrity.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import steelyard as sy
from integrity import held_out, traces, traces_2
from integrity.trace import Trace
from steelyard.formatting import percent
from steelyard.questions.integrity import RunCheck, shipped_rules

PAGE = Path(__file__).parents[2] / "docs" / "integrity.md"
MARKS = "<!-- rule counts -->\n", "\n<!-- end of rule counts -->"
TUNING: tuple[Trace, ...] = (*traces.TRACES, *traces_2.TRACES)
HELD_OUT: tuple[Trace, ...] = held_out.TRACES
"""Traces by another author, measured once with the final rules."""


class RuleScore(NamedTuple):
    """Traces by label and result: a trace is right if the rule matches one of the labeled steps, and no other."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / (self.right + self.missed)

    @property
    def text(self) -> str:
        return f"{self.right} | {self.wrong} | {self.missed}"


def wilson(right: int, total: int) -> str:
    """Return a fraction with its 95% confidence interval, after Wilson."""
    z = 1.959964
    center, half = right + z * z / 2, z * (right * (total - right) / total + z * z / 4) ** 0.5
    low, high = (100 * each / (total + z * z) for each in (center - half, center + half))
    return f"{percent(right / total)} ({right} of {total}; 95% CI {low:.1f} to {high:.1f})"


def found_steps(trace: Trace, folder: Path) -> dict[str, set[int]]:
    """Return the actions that each rule objects to, by their number among the tool calls."""
    check = RunCheck(shipped_rules())
    calls: list[int] = []
    for step in sy.steps(trace.write(folder)):
        if step.kind == "tool_call":
            calls.append(step.index)
        check.add(step)
    found: dict[str, set[int]] = {}
    for hit in check.hits():
        if hit.severity != "note":
            found.setdefault(hit.rule.id, set()).add(calls.index(hit.step))
    return found


def scores_of(traces: Iterable[Trace], folder: Path) -> tuple[dict[str, RuleScore], RuleScore]:
    """Return the score of each rule over traces, then that of all steps.

    A rule is right in a trace if it matches a labeled step; a match in a trace without its label is wrong.
    """
    counts: Counter[tuple[str, str]] = Counter()
    steps: Counter[str] = Counter()
    for trace in traces:
        found = found_steps(trace, folder)
        labels = {rule: {trace.call_number(place) for place in places} for rule, places in trace.findings.items()}
        for rule in found.keys() | labels.keys():
            have, want = found.get(rule, set()), labels.get(rule, set())
            steps["right"] += len(have & want)
            steps["wrong"] += len(have - want)
            steps["missed"] += len(want - have)
            if have & want:
                counts[rule, "right"] += 1
            else:
                counts[rule, "wrong"] += bool(have)
                counts[rule, "missed"] += bool(want)
    kinds = RuleScore._fields
    by_rule = {rule.id: RuleScore(*(counts[rule.id, kind] for kind in kinds)) for rule in shipped_rules()}
    return by_rule, RuleScore(*(steps[kind] for kind in kinds))


def total_of(scores: Iterable[RuleScore]) -> RuleScore:
    """Return the sum."""
    return RuleScore(*map(sum, zip(*scores, strict=True)))


def counts_text() -> str:
    """Return the table of counts, and precision and recall on the held-out traces."""
    sets = [("tuning", TUNING), ("held-out", HELD_OUT)]
    with TemporaryDirectory() as folder:
        scores = [scores_of(each, Path(folder) / name)[0] for name, each in sets]
    heads = " | ".join(f"{len(each)} {name}: right | wrong | missed" for name, each in sets)
    lines = [f"| rule | severity | the run | {heads} |", "|---" * (3 + 3 * len(sets)) + "|"]
    for rule in shipped_rules():
        counts = " | ".join(each[rule.id].text for each in scores)
        lines.append(f"| `{rule.id}` | {rule.severity} | {rule.title} | {counts} |")
    totals = [total_of(each.values()) for each in scores]
    lines.append(f"| all | | | {' | '.join(each.text for each in totals)} |")
    right, wrong, missed = totals[1]
    precision, recall = wilson(right, right + wrong), wilson(right, right + missed)
    lines += ["", f"On the {len(HELD_OUT)} held-out traces, precision is {precision} and recall is {recall}."]
    return "\n".join(lines)


def main() -> None:
    """Write the counts into the page."""
    page = PAGE.read_text("utf-8")
    before, start, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{start}{counts_text()}{end}{after}", "utf-8")


if __name__ == "__main__":
    main()
