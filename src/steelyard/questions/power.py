"""Compute the number of tasks that a comparison needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages, statistics  # names of `pages` are imported on first use
from steelyard.errors import UsageError
from steelyard.formatting import counted, difference_text, exact_percent, percent
from steelyard.option_names import option
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._figure_options import ConfidenceOptions
from steelyard.questions._question import doc, plain_question

if TYPE_CHECKING:
    from steelyard.pages import Page

MAX_ATTEMPTS = 1_000


class PowerOptions(ConfidenceOptions):
    """Options of `power`."""

    pass_rate: float = doc("Assumed pass rate of the baseline, between 0 and 1.")
    effect_size: float = doc("Difference of pass rates to detect; 0.05 is 5 pp.", default=0.05)
    attempts: int = doc("Attempts per task and side.", default=1)
    icc: float | None = doc(
        "Intraclass correlation: fraction of the variance of outcomes that is between tasks, from 0 (all tasks are "
        "equally hard) to below 1; required for several attempts.",
        default=None,
    )
    seed: int | None = doc("Random seed.", default=None)


class PlannedSample(Part, frozen=True, kw_only=True):
    """Sample size for one assumption about the two sides."""

    correlation: float
    """Assumed correlation of both sides' pass probabilities over tasks."""
    tasks_needed: int | None
    """Tasks needed; None above 10 million."""
    runs_per_side: int | None
    """Runs of each side: tasks times attempts."""


class PlannedComparison(Answer, frozen=True, kw_only=True):
    """Tasks needed to detect a difference of pass rates with `compare`, by simulating its decision rule."""

    rows: ClassVar[Rows] = Rows("samples")
    pass_rate: float
    """Pass rate of the baseline."""
    effect_size: float
    """True difference to detect; a decrease if the increase would reach a pass rate of 1."""
    attempts: int
    icc: float
    """Fraction of the variance of outcomes that is between tasks."""
    power: float
    """Probability of detecting the difference."""
    confidence: float
    seed: int
    tasks_needed: int | None
    """Tasks needed if the correlation is 0.5; None above 10 million."""
    min_tasks: int | None
    """Tasks needed if the correlation is 1."""
    max_tasks: int | None
    """Tasks needed if the correlation is 0."""
    samples: tuple[PlannedSample, ...]
    """One entry per correlation; without differences between tasks, the correlation is 0."""

    @property
    def about(self) -> str:
        """Difference and pass rate."""
        return f"{difference_text(self.effect_size, 'fraction')} at a pass rate of {exact_percent(self.pass_rate)}"


@plain_question(
    PowerOptions,
    examples=({"pass_rate": 0.6, "effect_size": 0.05, "attempts": 3, "icc": 0.3},),
    path="",
)
def power(options: PowerOptions) -> PlannedComparison:
    """Return the number of tasks with which `compare` detects a difference of pass rates with 80% power.

    Pass probabilities are beta distributed over tasks with mean `pass_rate` and intraclass correlation `icc`. How
    strongly those of the two sides correlate is unknown before any runs exist, so there is one result for each of the
    correlations 1, 0.5 and 0.

    >>> planned = power(pass_rate=0.6, effect_size=0.1, attempts=3, icc=0.3)
    >>> planned.min_tasks < planned.tasks_needed < planned.max_tasks
    True
    """
    if not 1 <= options.attempts <= MAX_ATTEMPTS:
        message = f"{option('attempts')} must be from 1 to {MAX_ATTEMPTS:,} (got {options.attempts})"
        raise UsageError(message)
    if options.icc is None and options.attempts > 1:
        raise UsageError("several attempts need an intraclass correlation", hint=option("icc", 0.3))
    if options.seed is not None and options.seed < 0:
        raise UsageError(f"{option('seed')} must be 0 or more (got {options.seed})")
    icc = options.icc or 0.0
    seed = statistics.SEED if options.seed is None else options.seed
    found = statistics.sample_size_from_assumptions(
        options.effect_size,
        pass_rate=options.pass_rate,
        icc=icc,
        attempts=options.attempts,
        level=statistics.check_level(options.confidence),
        seed=seed,
    )
    sizes = ((1.0, found.low), (0.5, found.tasks), (0.0, found.high)) if icc > 0 else ((0.0, found.tasks),)
    return PlannedComparison(
        pass_rate=options.pass_rate,
        effect_size=found.effect,
        attempts=options.attempts,
        icc=icc,
        power=found.power,
        confidence=options.confidence,
        seed=seed,
        tasks_needed=found.tasks,
        min_tasks=found.low,
        max_tasks=found.high,
        samples=tuple(
            PlannedSample(
                correlation=correlation,
                tasks_needed=tasks,
                runs_per_side=None if tasks is None else tasks * options.attempts,
            )
            for correlation, tasks in sizes
        ),
    )


def page(answer: PlannedComparison) -> Page:
    """Return the sentence with the range, and one row per correlation."""
    samples = answer.samples
    columns = (
        pages.text_column("correlation", "correlation", [f"{each.correlation:g}" for each in samples]),
        pages.count_column("tasks_needed", "tasks", [each.tasks_needed for each in samples]),
        pages.count_column("runs_per_side", "runs per side", [each.runs_per_side for each in samples]),
    )
    return pages.Page(
        name="power",
        title="How many tasks does a comparison need?",
        answer=_sentence(answer),
        table=pages.PageTable(
            caption="Tasks needed by correlation of both sides' pass probabilities over tasks", columns=columns
        ),
        facts=(
            ("assumed", f"pass rate {exact_percent(answer.pass_rate)}, intraclass correlation {answer.icc:g}"),
            ("attempts", f"{answer.attempts:,} per task and side"),
            ("confidence level", exact_percent(answer.confidence)),
            ("seed", f"{answer.seed}"),
        ),
    )


def _sentence(answer: PlannedComparison) -> str:
    """Return the sample size with its range."""
    purpose = f"to detect {answer.about} ({percent(answer.power, decimals=0)} power)"
    if answer.tasks_needed is None:
        return f"More than 10 million tasks needed {purpose}."
    ends = [answer.min_tasks, answer.max_tasks]
    if ends == [answer.tasks_needed] * 2:
        return f"{counted(answer.tasks_needed, 'task')} needed {purpose}."
    low, high = ("more than 10 million" if end is None else f"{end:,}" for end in ends)
    text = f"{counted(answer.tasks_needed, 'task')} needed {purpose}: {low} if both sides find the same tasks hard"
    return f"{text}, {high} if they do not."
