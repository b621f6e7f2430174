"""Success criteria, checked on artifacts and in the sandbox before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.grading._checked_submissions import (
        Arrival as Arrival,
        ArtifactPlaces as ArtifactPlaces,
        CheckedSubmission as CheckedSubmission,
        SubmissionOutcome as SubmissionOutcome,
        Waiting as Waiting,
        columns_of as columns_of,
        in_pieces as in_pieces,
        read_digests as read_digests,
    )
    from steelyard.arena.grading._criteria import (
        reviewers_result as reviewers_result,
    )
    from steelyard.arena.grading._task_files import (
        KeptFiles as KeptFiles,
        TaskFiles as TaskFiles,
        digests_of as digests_of,
        files_kept as files_kept,
        keep_task_files as keep_task_files,
        kept_digests as kept_digests,
        read_task_files as read_task_files,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
