"""Matches of the integrity rules in labeled traces, compared with the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import steelyard as sy
from integrity.trace import Trace
from steelyard.questions.integrity import RunCheck, shipped_rules


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
