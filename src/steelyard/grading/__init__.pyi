from ._artifacts import ArtifactError as ArtifactError, locate as locate, staged as staged
from ._criteria import check_all as check_all, reviewers_result as reviewers_result, runs_commands as runs_commands
from ._criterion_result import CriterionResult as CriterionResult
from ._task_files import (
    TaskFiles as TaskFiles,
    digests_of as digests_of,
    folders_of as folders_of,
    read_task_files as read_task_files,
)
