"""Grading: success criteria, checked on artifacts and in the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.grading._artifacts import (
        ArtifactError as ArtifactError,
        locate as locate,
        staged as staged,
    )
    from steelyard.grading._criteria import (
        check_all as check_all,
        reviewers_result as reviewers_result,
        runs_commands as runs_commands,
    )
    from steelyard.grading._criterion_result import (
        CriterionResult as CriterionResult,
    )
    from steelyard.grading._task_files import (
        TaskFiles as TaskFiles,
        digests_of as digests_of,
        folders_of as folders_of,
        read_task_files as read_task_files,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
