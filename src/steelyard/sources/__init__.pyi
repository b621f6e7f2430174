from .formats._catalog import (
    all_formats as all_formats,
    each_timing_format as each_timing_format,
    log_format_named as log_format_named,
    log_formats as log_formats,
)
from .formats._file_reader import recognized as recognized
from .formats._frames import (
    GIVEN_FRAME as GIVEN_FRAME,
    frame_cells as frame_cells,
    frame_runs as frame_runs,
    is_frame as is_frame,
)
from .formats._log_format import (
    SQLITE as SQLITE,
    Head as Head,
    LogFormat as LogFormat,
    LogLocations as LogLocations,
    PlacedRun as PlacedRun,
    Precedence as Precedence,
    ReadItem as ReadItem,
    Role as Role,
    RunPart as RunPart,
    SessionLog as SessionLog,
    head_of as head_of,
)
from .formats._provider_usage import (
    ClaudeUsage as ClaudeUsage,
    GeminiUsage as GeminiUsage,
    ProviderUsage as ProviderUsage,
)
from .formats._run_records import run_of_row as run_of_row
from .formats._run_values import (
    disjoint_usage as disjoint_usage,
    failure_of as failure_of,
    itemized as itemized,
    run_from as run_from,
)
from .formats._sqlite_stores import SqliteStore as SqliteStore
from .formats._stated_figures import stated_accuracy as stated_accuracy
from .formats._step_values import (
    StepItem as StepItem,
    arguments_of as arguments_of,
    flat_text as flat_text,
)
from .formats._test_reports import format_of_tests as format_of_tests, tests_in as tests_in
from .formats._timing_files import (
    contradiction as contradiction,
    contradictions as contradictions,
    open_timings as open_timings,
    read_timings as read_timings,
)
from .formats._timing_format import (
    OpenedFile as OpenedFile,
    TimingFile as TimingFile,
    TimingFormat as TimingFormat,
    collected as collected,
)
from .formats._trajectories import LOG_SUFFIXES as LOG_SUFFIXES, trajectory_of as trajectory_of, usage_of as usage_of
from .formats.atif import atif_trajectory as atif_trajectory
from .formats.timings.fceval import (
    FCEVAL as FCEVAL,
    NO_BLOCK as NO_BLOCK,
    NOT_THE_DIFFERENCE as NOT_THE_DIFFERENCE,
    Trial as Trial,
    TrialAgent as TrialAgent,
    TrialFile as TrialFile,
    is_baseline as is_baseline,
    is_log as is_log,
    log_block as log_block,
    read_trials as read_trials,
    snapshot_of as snapshot_of,
    tests_of as tests_of,
)
from .mappings._mapping import (
    Mapping as Mapping,
    load_mapping as load_mapping,
    mapping_of as mapping_of,
    mapping_schema as mapping_schema,
    mapping_text as mapping_text,
    shipped_mappings as shipped_mappings,
)
from .mappings._reader import MappedRun as MappedRun, read_mapped as read_mapped, read_rows as read_rows
from .mappings._speedup_rows import mapped_trials as mapped_trials
from .mappings._suggestion import SuggestedMapping as SuggestedMapping, suggest as suggest
from .tables._cluster import (
    Cluster as Cluster,
    ReadSettings as ReadSettings,
    Row as Row,
    Work as Work,
    gathered_on as gathered_on,
)
from .tables._file_runs import (
    GatheringCount as GatheringCount,
    NamedRun as NamedRun,
    Progress as Progress,
    each_once as each_once,
    gather as gather,
    without_collection as without_collection,
)
from .tables._run_table import (
    RunTable as RunTable,
    TableBuilder as TableBuilder,
    TableSource as TableSource,
    choose as choose,
)
from .tables._spool import SpillFolder as SpillFolder, free_bytes as free_bytes
from .tables._transcripts import (
    Transcript as Transcript,
    check_messages_of as check_messages_of,
    located as located,
    logs_of as logs_of,
    transcript_of as transcript_of,
)
