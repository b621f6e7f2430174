"""Log, report and timing formats: one file a format, found by standing in this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.formats._catalog import (
        log_format_named as log_format_named,
        log_formats as log_formats,
        timing_formats as timing_formats,
    )
    from steelyard.formats._contradictions import (
        contradiction as contradiction,
        contradictions as contradictions,
    )
    from steelyard.formats._log_format import (
        LogFormat as LogFormat,
        PlacedRun as PlacedRun,
        ReadItem as ReadItem,
        Role as Role,
        RunPart as RunPart,
        head_of as head_of,
    )
    from steelyard.formats._reading import (
        FileResult as FileResult,
        ReadJob as ReadJob,
        recognized as recognized,
    )
    from steelyard.formats._table_rows import (
        ALIASES as ALIASES,
        column_problem as column_problem,
        run_of_row as run_of_row,
    )
    from steelyard.formats._timing_files import (
        open_timings as open_timings,
        read_timings as read_timings,
    )
    from steelyard.formats._timing_format import (
        TimingFile as TimingFile,
        amount as amount,
        count as count,
        parse_json as parse_json,
        read_text as read_text,
    )
    from steelyard.formats._token_counts import (
        busiest_model as busiest_model,
        tokens_in as tokens_in,
        total_of as total_of,
    )
    from steelyard.formats._trajectories import (
        LOG_SUFFIXES as LOG_SUFFIXES,
        trajectory_of as trajectory_of,
        usage_of as usage_of,
    )
    from steelyard.formats._workers import (
        read_files as read_files,
    )
    from steelyard.formats.fceval import (
        FCEVAL as FCEVAL,
        NOT_THE_DIFFERENCE as NOT_THE_DIFFERENCE,
        log_block as log_block,
        read_trials as read_trials,
        snapshot_of as snapshot_of,
        tests_of as tests_of,
    )
    from steelyard.formats.opencode import (
        SQLITE as SQLITE,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
