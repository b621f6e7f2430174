"""Judges: whether those who scored the runs agree with each other and with themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steelyard.errors import NoValidInputError
from steelyard.formatting import counted
from steelyard.questions._figure_options import JudgesOptions
from steelyard.questions._opening_runs import RecordReader, Runs
from steelyard.questions._question import question
from steelyard.questions._tiers import keys_with_scheme
from steelyard.questions.measure import checked_keys
from steelyard.records import Judgment, Run, key_of

if TYPE_CHECKING:
    from steelyard.questions.analysis import Rating
    from steelyard.results import Judges


@question(JudgesOptions)
def judges(runs: Runs, options: JudgesOptions) -> Judges:
    """Measure inter-rater agreement, judge severity and the consistency of scores and votes.

    >>> import steelyard as sy
    >>> sy.judges(sy.demo_runs())
    Judges(3 judges of 1,400 runs, alpha 0.987)
    """
    from steelyard.questions.analysis import JudgedRun, examine  # brings numpy and scipy
    from steelyard.statistics import check_level

    check_level(options.confidence)
    profile, by = options.outcome_profile(), checked_keys(options.by)
    reader = RecordReader(options.reading())
    schemes: set[str] = set()
    judged_runs = []
    for id_, entry in reader.read(runs):
        run = entry.run
        if run.judgments:
            schemes |= {run.tier_scheme} if run.tier is not None else set()
            judged_runs.append(JudgedRun(id_, run.task, _group(run, by), _ratings(run.judgments), _verdict(run)))
    by, _, scheme_findings = keys_with_scheme(by, sorted(schemes))
    findings = [*reader.finish(), *scheme_findings]
    if not judged_runs:
        raise NoValidInputError(f"no judgments in {counted(reader.read_count, 'run')}")
    return examine(
        judged_runs,
        by=by,
        threshold=profile.findings.judge_pass_threshold,
        tolerance=profile.findings.judge_score_tolerance,
        profile=profile.name,
        level=options.confidence,
        findings=findings,
        rejected_count=len(reader.set_aside),
    )


def _group(run: Run, by: Sequence[str]) -> tuple[str | None, ...]:
    """The run's values of the keys; T2 of another scheme is another tier."""
    scheme = run.tier_scheme if run.tier is not None and "tier" in by else None
    return (*(key_of(run, key) for key in by), scheme)


def _verdict(run: Run) -> bool | None:
    """Return whether the run passed by tests or by its record, ignoring judges' votes."""
    is_known = run.stated_pass is not None or (run.tests is not None and run.tests.total)
    return run.verdict if is_known else None


def _ratings(judgments: Sequence[Judgment]) -> tuple[Rating, ...]:
    """The judgments with a name for each judge; a judge who judged a run twice counts as two."""
    from steelyard.questions.analysis import Rating  # brings numpy and scipy

    seen: Counter[str] = Counter()
    ratings = []
    for judgment in judgments:
        name = judgment.judge or "unnamed"
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} #{seen[name]}"
        ratings.append(
            Rating(label, judgment.score, judgment.weighted_score, judgment.recomputed_score, judgment.passed)
        )
    return tuple(ratings)
