"""Log, report and timing formats, one file each, and the words to write more.

A format's author writes one module with

    def recognizes(head: Head) -> bool: ...
    def read(path: Path) -> Iterator[ReadItem]: ...
    FORMAT = LogFormat(name=..., title=..., kind=..., yields=(...), recognizes=recognizes, read=read)

and puts it in this folder, in a folder that `STEELYARD_FORMATS` names, or in a package whose entry point of the group
`steelyard.formats` names the module (or the `LogFormat` itself). Formats of ours are asked first, then those of
plug-ins by distribution and by file, then our own run records; the first that recognizes a file reads it, and
`--format NAME` asks one alone. A name that is taken is rejected.

- `recognizes` goes by content, never by the file's name, and never raises, whatever the bytes. A sample of the format
  is recognized by no other format, and it recognizes no sample of theirs.
- `read` gives a `RunPart` for a run that other files may add to (`role` is its kind), a `PlacedRun` for a run that
  is complete, a `Rejected` with file and line for each record that it cannot use, and a `Finding` for what a reader of
  the numbers should know. `run_from` makes the runs: it checks every value and names the format as their origin.
- `read` may raise `UnreadableFileError`, `DecodeError` and `OSError`: the file is then listed as rejected. Any other
  exception is a bug in the format.
- Memory stays bounded: `records` and `document` of `steelyard.files` read lines and documents up to a limit.
- A file cut at any byte gives a true prefix of its runs, or reports what was cut off; reading twice gives the same.
- Unknown is not zero: a number that the tool does not state is left out, and `how` is `reported`, `counted`,
  `lower_bound` or `unknown`. Kinds of tokens are disjoint (`disjoint_usage`).

A format of timings is a `TimingFormat`, whose `recognizes` and `read` are given an `OpenedFile` and whose result
`collected` makes. The laws are in `tests/format_laws.py`; docs/project/guides/formats.md has a tested example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.formats._catalog import (
        Format as Format,
        all_formats as all_formats,
        each_timing_format as each_timing_format,
        log_format_named as log_format_named,
        log_formats as log_formats,
    )
    from steelyard.formats._file_reader import (
        FileKind as FileKind,
        FileResult as FileResult,
        ReadJob as ReadJob,
        read_file as read_file,
        read_files as read_files,
        recognized as recognized,
    )
    from steelyard.formats._frames import (
        GIVEN_FRAME as GIVEN_FRAME,
        frame_cells as frame_cells,
        frame_runs as frame_runs,
        is_frame as is_frame,
    )
    from steelyard.formats._log_format import (
        SQLITE as SQLITE,
        FormatKind as FormatKind,
        Head as Head,
        LogFormat as LogFormat,
        LogLocations as LogLocations,
        PlacedRun as PlacedRun,
        Precedence as Precedence,
        ReadItem as ReadItem,
        Role as Role,
        RunPart as RunPart,
        head_of as head_of,
    )
    from steelyard.formats._provider_usage import (
        ClaudeUsage as ClaudeUsage,
        GeminiUsage as GeminiUsage,
        ProviderUsage as ProviderUsage,
    )
    from steelyard.formats._run_records import (
        ALIASES as ALIASES,
        column_problem as column_problem,
        run_of_row as run_of_row,
        run_refusal as run_refusal,
    )
    from steelyard.formats._run_values import (
        busiest_model as busiest_model,
        disjoint_usage as disjoint_usage,
        failure_of as failure_of,
        itemized as itemized,
        run_from as run_from,
        stated_cost as stated_cost,
        token_contradiction as token_contradiction,
        tokens_in as tokens_in,
    )
    from steelyard.formats._test_reports import (
        format_of_tests as format_of_tests,
        report_part as report_part,
        tests_in as tests_in,
    )
    from steelyard.formats._timing_files import (
        contradiction as contradiction,
        contradictions as contradictions,
        open_timings as open_timings,
        read_timings as read_timings,
    )
    from steelyard.formats._timing_format import (
        OpenedFile as OpenedFile,
        TimingFile as TimingFile,
        TimingFormat as TimingFormat,
        collected as collected,
    )
    from steelyard.formats._trajectories import (
        LOG_SUFFIXES as LOG_SUFFIXES,
        trajectory_of as trajectory_of,
        usage_of as usage_of,
    )
    from steelyard.formats.timings.fceval import (
        FCEVAL as FCEVAL,
        NO_BLOCK as NO_BLOCK,
        NOT_THE_DIFFERENCE as NOT_THE_DIFFERENCE,
        TrialAgent as TrialAgent,
        is_baseline as is_baseline,
        is_log as is_log,
        log_block as log_block,
        read_trials as read_trials,
        snapshot_of as snapshot_of,
        tests_of as tests_of,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
