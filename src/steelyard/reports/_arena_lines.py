"""The arena as lines of text: receipts, evaluations, history, changes, and what other rules would do."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports._plain_text import counted
from steelyard.results import (
    ArenaEvent,
    Evaluation,
    Outliers,
    ProfileComparison,
    Receipt,
    Rescored,
    Review,
    Reviewed,
    ScoreHistory,
    StandingChanges,
    Submitted,
    TaskDetails,
    TaskList,
    ToolBias,
)

DASH = "-"
RECEIPTS_SHOWN = 20


def task_lines(tasks: TaskList) -> Iterator[str]:
    """One line a task."""
    for task in tasks.tasks:
        criteria = f"{len(task.success_criteria)} criteria"
        parts = [task.id, task.category or DASH, task.difficulty or DASH, criteria, task.title or ""]
        yield "  ".join(parts).rstrip()


def task_heading_lines(details: TaskDetails) -> Iterator[str]:
    """What stands above a task's baselines: its title, and what is kept of its own files."""
    yield f"{details.task.id}  {details.task.title or ''}".rstrip()
    if details.files is not None:
        yield f"{details.files.n} files of its own, SHA-256 {details.files.sha256}"


def receipt_lines(submitted: Submitted) -> Iterator[str]:
    """The first receipts, and how many there are of each kind."""
    for receipt in submitted.receipts[:RECEIPTS_SHOWN]:
        score = f"{receipt.overall_score:.2f}{_place(receipt)}"
        yield f"{receipt.submission_id}  {receipt.task_id}  {score}  [{receipt.status}]"
    rest = len(submitted.receipts) - RECEIPTS_SHOWN
    if rest > 0:
        yield f"... and {rest:,} more"
    before = len(submitted.receipts) - submitted.accepted
    yield f"{submitted.accepted:,} accepted, {before:,} known before, {len(submitted.rejected):,} refused"


def _place(receipt: Receipt) -> str:
    """Where it stands; nothing for one that does not count."""
    if receipt.overall_ranking is None:
        return ""
    return f"  rank {receipt.overall_ranking}  percentile {receipt.percentile}"


def review_line(review: Review) -> str:
    """One decision: what, who, when and why."""
    who = f" by {review.by}" if review.by else ""
    why = f": {review.reason}" if review.reason else ""
    return f"{review.decided_at}  {review.task_id}  {review.submission_id}  {review.decision}{who}{why}"


def reviewed_lines(reviewed: Reviewed) -> Iterator[str]:
    """What a decision did."""
    if reviewed.review is not None:
        yield review_line(reviewed.review)
    same = "" if reviewed.changed else "nothing changed: "
    yield (
        f"{same}{reviewed.submission_id} {'is excluded' if reviewed.status == 'excluded' else 'counts'};"
        f" {reviewed.task_id} has {counted(reviewed.submissions, 'submission')}, baseline version"
        f" {reviewed.baseline_version}"
    )


def rescored_line(rescored: Rescored) -> str:
    """What a rescore did, and what it left as it was."""
    shown = counted(rescored.submissions, "submission")
    if rescored.policy == "current":
        return f"{shown} scored by {rescored.profile}, policy current"
    return (
        f"policy as-submitted: {shown} ranked anew by the scores of their day, which stay; new ones are scored by"
        f" {rescored.profile}, and baselines follow it"
    )


def outlier_lines(flagged: Outliers) -> Iterator[str]:
    """One line a submission that wants a person's eye."""
    for outlier in flagged.outliers:
        flags = ", ".join(outlier.flags)
        yield f"{outlier.task_id}  {outlier.submission_id}  {flags}: {outlier.recommended_action}"


def bias_lines(bias: ToolBias) -> Iterator[str]:
    """One line a tool: its mean difference from the others, the interval, and whether it is systematic."""
    for tool in bias.advantages:
        if tool.low is None or tool.high is None or tool.mean_difference is None:
            yield f"{tool.agent}  no interval: {tool.reason}"
        else:
            verdict = "systematic" if tool.systematic else "not shown"
            interval = f"{tool.low:+.2f} to {tool.high:+.2f}, {counted(tool.tasks, 'task')}"
            yield f"{tool.agent}  {tool.mean_difference:+.2f} points ({interval}): {verdict}"


def event_line(event: ArenaEvent) -> str:
    """One event as it happens."""
    what = event.kind.removeprefix("submission.").replace("_", " ")
    before = "" if event.previous_ranking is None else f" (was {event.previous_ranking})"
    who = f"  by {event.by}" if event.by else ""
    why = f": {event.reason}" if event.reason else ""
    return (
        f"{event.task_id}  {event.submission_id}  {event.overall_score:.2f}  rank {event.overall_ranking}{before}"
        f"  percentile {event.percentile}{'' if what == 'evaluated' else f'  {what}'}{who}{why}"
    )


def evaluation_lines(evaluation: Evaluation) -> Iterator[str]:
    """One evaluation with the way to each score."""
    receipt = evaluation.receipt
    yield f"{receipt.submission_id}  task {receipt.task_id}  submitted {evaluation.submitted_at}"
    excluded = receipt.overall_ranking is None
    place = "excluded" if excluded else f"rank {receipt.overall_ranking}, percentile {receipt.percentile}"
    yield f"{place}; {evaluation.profile}, policy {evaluation.policy}, baseline version {receipt.baseline_version}"
    for score in evaluation.scores:
        yield f"{score.name} = {score.value:.2f}   ({score.unrounded!r})"
        yield f"    {score.formula}"
        for name, value in score.inputs.items():
            source = f" ({evaluation.sources[name]})" if name in evaluation.sources else ""
            yield f"    {name} = {'unknown' if value is None else value}{source}"
        for name, value in score.constants.items():
            yield f"    {name} = {value} ({evaluation.sources[name]})"
    for criterion in evaluation.criteria:
        yield (
            f"{'met' if criterion.met else 'not met'}{' (claimed)' if criterion.claimed else ''}:"
            f" {criterion.type}: {criterion.reason}"
        )
    for what, names in (
        ("defaulted", receipt.defaulted),
        ("lower bounds", receipt.lower_bounds),
        ("flags", receipt.flags),
        ("warnings", receipt.warnings),
    ):
        if names:
            yield f"{what}: {', '.join(names)}"
    for review in evaluation.reviews:
        yield review_line(review)


def history_lines(history: ScoreHistory) -> Iterator[str]:
    """Scores of the day, their trend, and the versions of the baseline."""
    is_by_several = len({moment.profile for moment in history.moments}) > 1
    for moment in history.moments:
        yield (
            f"{moment.submitted_at}  {moment.task_id}  {moment.submission_id}  {moment.overall_score:.2f}"
            f"  best {moment.best_so_far:.2f}  baseline {moment.baseline_version}"
            f"{f'  {moment.profile}' if is_by_several else ''}"
        )
    trend = (
        f"no trend: {history.reason}"
        if history.trend_per_day is None
        else f"trend {history.trend_per_day:+.4g} points a day"
    )
    yield f"{counted(history.n, 'submission')}; {trend}"
    for version in history.baselines:
        since = counted(int(version["from_n"]), "submission")
        yield f"baseline {version['version']} from {since} ({version['created_at']})"
    for review in history.reviews:
        yield review_line(review)


def change_lines(changed: StandingChanges, *, since: str) -> Iterator[str]:
    """What changed in each task."""
    if not changed.changes:
        yield f"nothing changed since {since}"
    for task in changed.changes:
        yield (
            f"{task.task_id}: {task.then_n} -> {counted(task.now_n, 'submission')}, baseline {task.then_version} ->"
            f" {task.now_version}, leader {task.then_leader or DASH} -> {task.now_leader or DASH}"
        )
        if (task.then_profile, task.then_policy) != (task.now_profile, task.now_policy):
            yield (
                f"    in force: {task.then_profile}, policy {task.then_policy} ->"
                f" {task.now_profile}, policy {task.now_policy}"
            )
        for move in task.moved:
            if move.now_ranking is None:
                yield f"    {move.submission_id}  excluded, was rank {move.then_ranking} with {move.then_score:.2f}"
            elif move.then_ranking is None:
                yield f"    {move.submission_id}  new at rank {move.now_ranking} with {move.now_score:.2f}"
            else:
                yield (
                    f"    {move.submission_id}  rank {move.then_ranking} -> {move.now_ranking},"
                    f" score {move.then_score:.2f} -> {move.now_score:.2f}"
                )


def profile_lines(comparison: ProfileComparison) -> Iterator[str]:
    """How ranks move between two profiles."""
    shown = DASH if comparison.mean_kendall_tau is None else f"{comparison.mean_kendall_tau:.4f}"
    yield (
        f"{comparison.first} -> {comparison.second}: {counted(comparison.submissions, 'submission')},"
        f" mean Kendall tau {shown}"
    )
    for task in comparison.tasks:
        tau = f"no tau ({task.reason})" if task.kendall_tau is None else f"tau {task.kendall_tau:.4f}"
        lead = ", another leader" if task.leader_changes else ""
        yield f"    {task.task_id}: {tau}, {task.changed} of {task.n} ranks change{lead}"
    for mover in comparison.movers:
        yield (
            f"    {mover.task_id}  {mover.submission_id}  rank {mover.first_ranking} -> {mover.second_ranking},"
            f" score {mover.first_score:.2f} -> {mover.second_score:.2f}"
        )
