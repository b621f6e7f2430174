"""The verdict on each difference, with p-values corrected for the number of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steelyard.questions.analysis._differences import Difference
from steelyard.questions.analysis._verdicts import (
    CLAIMS,
    INCONCLUSIVE,
    TasksNeeded,
    needed_tasks,
    otherwise_text,
    sample_size_for,
    sample_size_text,
    sentence,
    verdict,
)
from steelyard.statistics import benjamini_hochberg, holm

if TYPE_CHECKING:
    from steelyard.questions.compare import Correction, Verdict


@dataclass(frozen=True, slots=True)
class Judged:
    """A difference with its verdict."""

    difference: Difference
    adjusted_p: float | None
    verdict: Verdict
    sentence: str
    needed: int | None
    """Tasks needed to detect the observed difference with 80% power."""
    sample_size: TasksNeeded | None = None
    """Tasks needed to detect the requested effect size."""


def adjusted_p_values(differences: Sequence[Difference], correction: Correction) -> list[float | None]:
    """Each test's p-value, corrected for how many there are; None where a test has none."""
    known = [
        (place, difference.test.p_value)
        for place, difference in enumerate(differences)
        if difference.test.p_value is not None
    ]
    values = [p_value for _, p_value in known]
    if correction == "holm":
        values = holm(values).tolist()
    elif correction == "bh":
        values = benjamini_hochberg(values).tolist()
    adjusted: list[float | None] = [None] * len(differences)
    for (place, _), p_value in zip(known, values, strict=True):
        adjusted[place] = p_value
    return adjusted


def judge(
    difference: Difference,
    *,
    a: str,
    b: str,
    adjusted: float | None,
    comparisons: int,
    alone: str,
    otherwise: tuple[Difference, Verdict],
    unscored: str,
    effect_size: float | None = None,
) -> Judged:
    """The verdict and the sentence of one difference, and what it would take to detect one of a size asked for.

    `otherwise` is the difference and the verdict if runs without a verdict of their own were counted the other way than
    the policy `unscored` does; where the two disagree, the verdict is inconclusive.
    """
    concluded = verdict(difference, adjusted)
    rests = concluded in CLAIMS and concluded != otherwise[1]
    text = sentence(difference, a=a, b=b, adjusted=adjusted, comparisons=comparisons, alone=alone, rests=rests)
    text += otherwise_text(difference, otherwise[0], unscored)
    wanted = None if effect_size is None else sample_size_for(difference, effect_size, comparisons)
    return Judged(
        difference=difference,
        adjusted_p=adjusted,
        verdict=INCONCLUSIVE if rests else concluded,
        sentence=text if effect_size is None else text + sample_size_text(difference, effect_size, wanted),
        needed=needed_tasks(difference, comparisons),
        sample_size=wanted,
    )
