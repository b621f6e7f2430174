"""The verbs: where the layers are joined. One thin file a verb."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.workflow._arena import (
        EXPORTED as EXPORTED,
        FileTold as FileTold,
        Submitted as Submitted,
        add_tasks as add_tasks,
        doubts_about as doubts_about,
        files_of_task as files_of_task,
        init_arena as init_arena,
        open_arena as open_arena,
        plain as plain,
        policy_named as policy_named,
        standing_rows as standing_rows,
        submit_files as submit_files,
        submit_runs as submit_runs,
        write_standings as write_standings,
    )
    from steelyard.workflow._canon import (
        retire as retire,
        show as show,
    )
    from steelyard.workflow._compare import (
        compare as compare,
    )
    from steelyard.workflow._doctor import (
        as_dicts as as_dicts,
        examine as examine,
    )
    from steelyard.workflow._explain import (
        Explanation as Explanation,
        RunExplanation as RunExplanation,
        explain as explain,
        explain_groups as explain_groups,
        store_of as store_of,
    )
    from steelyard.workflow._gate import (
        gate as gate,
    )
    from steelyard.workflow._judges import (
        judges as judges,
    )
    from steelyard.workflow._measure import (
        measure as measure,
    )
    from steelyard.workflow._opening_runs import (
        Progress as Progress,
        read as read,
    )
    from steelyard.workflow._option_dates import (
        moment_of as moment_of,
    )
    from steelyard.workflow._options import (
        DifferenceOptions as DifferenceOptions,
        StandingOptions as StandingOptions,
    )
    from steelyard.workflow._rank import (
        rank as rank,
    )
    from steelyard.workflow._read import (
        RunReading as RunReading,
    )
    from steelyard.workflow._repeat import (
        RepeatOptions as RepeatOptions,
        repeat as repeat,
    )
    from steelyard.workflow._speedup import (
        DEFAULT_PROFILE as DEFAULT_PROFILE,
        SpeedupResult as SpeedupResult,
        TaskFiles as TaskFiles,
        agent_files as agent_files,
        speedup as speedup,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
