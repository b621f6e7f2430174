from ._artifacts import ArtifactError as ArtifactError, locate as locate, staged as staged
from ._criteria import check_all as check_all, reviewers_result as reviewers_result, runs_commands as runs_commands
from ._criterion_result import CriterionResult as CriterionResult
from ._grader import Grade as Grade, Grader as Grader, ReferenceGrade as ReferenceGrade
from ._split import Bounds as Bounds, Interpreter as Interpreter
from ._task_files import (
    TaskFiles as TaskFiles,
    digests_of as digests_of,
    folders_of as folders_of,
    read_task_files as read_task_files,
)
from ._tests import (
    Framework as Framework,
    HiddenTests as HiddenTests,
    hidden_tests as hidden_tests,
    top_modules as top_modules,
)
from ._timing import (
    BENCHMARKS as BENCHMARKS,
    TimedRun as TimedRun,
    first_difference as first_difference,
    time_calls as time_calls,
)
