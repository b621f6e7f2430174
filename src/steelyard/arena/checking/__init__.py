"""Success criteria, checked on artifacts and in the sandbox before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.checking._checked_submissions import (
        Arrival as Arrival,
        CheckedSubmission as CheckedSubmission,
        SubmissionOutcome as SubmissionOutcome,
        columns_of as columns_of,
    )
    from steelyard.arena.checking._checking_ahead import (
        ArtifactPlaces as ArtifactPlaces,
        Waiting as Waiting,
        in_pieces as in_pieces,
    )
    from steelyard.arena.checking._task_files import (
        FilesKept as FilesKept,
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
