"""The commands: where the layers are joined. One thin file a command, found by standing here under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.questions._answer import (
        Answer as Answer,
        Rows as Rows,
        answer_schemas as answer_schemas,
        read_answer as read_answer,
    )
    from steelyard.questions._arena import (
        AppliedMigration as AppliedMigration,
        FileProgress as FileProgress,
        Notifier as Notifier,
        arena_settings as arena_settings,
        notifier as notifier,
        submit_files as submit_files,
        upgrade_arena as upgrade_arena,
        watch_arena as watch_arena,
    )
    from steelyard.questions._arena_object import (
        LocalArena as LocalArena,
        init_arena as init_arena,
        open_arena as open_arena,
    )
    from steelyard.questions._arena_requests import (
        Intake as Intake,
        NumberedLine as NumberedLine,
        add_task_from as add_task_from,
        refusal_status as refusal_status,
    )
    from steelyard.questions._arena_runs import (
        submit_runs as submit_runs,
    )
    from steelyard.questions._declaration import (
        REQUIRED as REQUIRED,
        Option as Option,
        Options as Options,
        command_text as command_text,
        doc as doc,
        option_texts as option_texts,
        split_names as split_names,
    )
    from steelyard.questions._figure_options import (
        MeasureOptions as MeasureOptions,
        RankOptions as RankOptions,
    )
    from steelyard.questions._options import (
        Count as Count,
        FilePaths as FilePaths,
        ManyChosen as ManyChosen,
        MapName as MapName,
        Moment as Moment,
        Names as Names,
        ProfileName as ProfileName,
        ReadOptions as ReadOptions,
        Texts as Texts,
    )
    from steelyard.questions._plan_outcomes import (
        PlanExport as PlanExport,
        PlanOutlook as PlanOutlook,
        PlanRun as PlanRun,
    )
    from steelyard.questions._question import (
        ARENA as ARENA,
        ArenaMethods as ArenaMethods,
        Question as Question,
        QuestionFunction as QuestionFunction,
        is_question as is_question,
        module_name as module_name,
        question_named as question_named,
        question_names as question_names,
        question_summary as question_summary,
        unplaced_arena_questions as unplaced_arena_questions,
    )
    from steelyard.questions._run_input import (
        EngineName as EngineName,
        Progress as Progress,
        Runs as Runs,
        reporting as reporting,
    )
    from steelyard.questions._run_rows import (
        RunList as RunList,
        list_runs as list_runs,
    )
    from steelyard.questions._sources import (
        ArenaSource as ArenaSource,
        RunsSource as RunsSource,
        open_source as open_source,
    )
    from steelyard.questions.speedup._inputs import TaskFiles as TaskFiles
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
