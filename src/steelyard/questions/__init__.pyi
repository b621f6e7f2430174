from ._answer import Answer as Answer, Rows as Rows, answer_schemas as answer_schemas, read_answer as read_answer
from ._arena_object import Arena as Arena, init_arena as init_arena, open_arena as open_arena
from ._arena_requests import (
    Intake as Intake,
    NumberedLine as NumberedLine,
    add_task_from as add_task_from,
    refusal_status as refusal_status,
)
from ._figure_options import MeasureOptions as MeasureOptions, RankOptions as RankOptions
from ._options import (
    Count as Count,
    FilePaths as FilePaths,
    MapName as MapName,
    Moment as Moment,
    ProfileName as ProfileName,
    ReadOptions as ReadOptions,
    Selections as Selections,
)
from ._plan_outcomes import PlanExport as PlanExport, PlanOutlook as PlanOutlook, PlanRun as PlanRun
from ._question import (
    ARENA as ARENA,
    REQUIRED as REQUIRED,
    ArenaMethods as ArenaMethods,
    Names as Names,
    Option as Option,
    Options as Options,
    Question as Question,
    QuestionFunction as QuestionFunction,
    Texts as Texts,
    command_text as command_text,
    doc as doc,
    is_question as is_question,
    module_name as module_name,
    option_texts as option_texts,
    question_named as question_named,
    question_names as question_names,
    question_summary as question_summary,
    split_names as split_names,
    unplaced_arena_questions as unplaced_arena_questions,
)
from ._run_input import EngineName as EngineName, Progress as Progress, Runs as Runs, reporting as reporting
from ._run_rows import RunList as RunList, list_runs as list_runs
from ._sources import ArenaSource as ArenaSource, RunsSource as RunsSource, open_source as open_source
from .speedup._inputs import TaskFiles as TaskFiles
