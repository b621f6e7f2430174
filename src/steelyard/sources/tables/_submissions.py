"""Submissions: which reports, predictions and trajectories are of one agent's attempt at a data set.

Files of one submission are in one directory, or in subdirectories of it with the usual names (`trajs`, `logs`,
`results`, one directory per instance). Nothing else joins them: the ids of the tasks are the same for every agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from steelyard.records import Labels
from steelyard.sources.formats._log_format import RunPart

PARTS_OF_A_SUBMISSION = frozenset(
    {
        *("eval", "eval_outputs", "evals", "evaluation", "evaluation_results", "evaluations", "log", "logs"),
        *("output", "outputs", "patches", "pred", "prediction", "predictions", "preds"),
        *("report", "reports", "result", "results", "traj", "trajectories", "trajectory", "trajs"),
    }
)
"""Names of directories that hold a part of a submission: its name is that of the directory around."""
_HARNESS_LOGS = re.compile(r"(?:^|(?<=/))(?:logs/)?run_evaluation/[^/]+/[^/]+$")
"""SWE-bench's own logs, `logs/run_evaluation/RUN/MODEL/INSTANCE`, below the directory in which it ran."""
_LABELS = frozenset(["experiment", "agent", "model", "tier", "attempt"])
"""The labels that tell submissions apart."""


class Submission(NamedTuple):
    """What files of one submission have in common."""

    folder: str

    @property
    def name(self) -> str:
        """The directory's own name; empty for the directory that the program was started in."""
        name = self.folder.removesuffix("!").rpartition("/")[2]
        return "" if name in (".", "..") else name


def submission_folder(path: str, task: str) -> str:
    """The directory of the submission that a file about the task is in.

    >>> submission_folder("verified/x/logs/django-1/report.json", "django-1")
    'verified/x'
    >>> submission_folder("verified/x/results/results.json", "django-1")
    'verified/x'
    >>> submission_folder("w/logs/run_evaluation/run1/model/django-1/report.json", "django-1")
    'w'
    """
    folder = path.rpartition("/")[0]
    above, _, name = folder.rpartition("/")
    if name == task:
        folder = above
    folder = _HARNESS_LOGS.sub("", folder).rstrip("/")
    while folder:
        above, _, name = folder.rpartition("/")
        if name.lower() not in PARTS_OF_A_SUBMISSION:
            break
        folder = above
    return folder


def submission_of(path: str, task: str) -> Submission:
    """The submission of a file about the task."""
    return Submission(submission_folder(path, task))


def declare_submissions(labels: Labels) -> bool:
    """Whether the user set what a submission is."""
    return any(key in _LABELS for key, _ in labels.texts)


def distinct_predictions(parts: Iterable[RunPart]) -> Iterator[RunPart]:
    """The predictions, where a submission's come in several forms (`preds.json`, `all_preds.jsonl`) only once.

    Two files of one form are two runs of the agent, and so are two forms whose patches differ.
    """
    by_agent: dict[tuple[Submission, str | None], dict[str, list[RunPart]]] = {}
    for part in parts:
        submission = submission_of(part.path, part.run.task)
        forms = by_agent.setdefault((submission, part.run.agent), {})
        forms.setdefault(part.path.rpartition("/")[2].rpartition(".")[2], []).append(part)
    kept: list[RunPart] = []
    for forms in by_agent.values():
        first, *others = sorted(forms.values(), key=len, reverse=True)
        kept += first
        patches = _patches(first)
        for form in others:
            own = _patches(form)
            is_same = all(patches.get(task, texts) == texts for task, texts in own.items())
            kept += [part for part in form if not is_same or part.run.task not in patches]
    yield from sorted(kept, key=lambda part: (part.path, part.line or 0, part.run.task))


def _patches(parts: Sequence[RunPart]) -> dict[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for part in parts:
        texts.setdefault(part.run.task, []).append(part.patch or "")
    return {task: sorted(own) for task, own in texts.items()}
