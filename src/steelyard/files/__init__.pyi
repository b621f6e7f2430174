from ._archives import ZipLog as ZipLog, extract as extract, stated_bytes as stated_bytes
from ._csv_rows import (
    SEPARATORS as SEPARATORS,
    SHORT_OR_LONG as SHORT_OR_LONG,
    Row as Row,
    csv_rows as csv_rows,
    ends_with_line_end as ends_with_line_end,
    separator_of as separator_of,
)
from ._decompression import ONE_FILE as ONE_FILE, Budget as Budget, archive_kind as archive_kind
from ._file_bytes import (
    HEAD_BYTES as HEAD_BYTES,
    beginning_of as beginning_of,
    errors_as as errors_as,
    file_chunks as file_chunks,
    open_file as open_file,
    parse_json as parse_json,
    parse_toml as parse_toml,
    read_text as read_text,
    toml_or_json as toml_or_json,
    whole_file as whole_file,
)
from ._found_files import (
    PLAN_RUNS as PLAN_RUNS,
    PLAN_TIMINGS as PLAN_TIMINGS,
    PLAN_TRIALS as PLAN_TRIALS,
    FoundFile as FoundFile,
    SeenFiles as SeenFiles,
    content_of as content_of,
    file_repeated as file_repeated,
    files_below as files_below,
    files_in as files_in,
    is_plan_folder as is_plan_folder,
    packing as packing,
    piped as piped,
    rejected_file as rejected_file,
)
from ._json_documents import (
    CUT as CUT,
    Records as Records,
    amount as amount,
    count as count,
    decoded as decoded,
    document as document,
    glued as glued,
    label as label,
    number as number,
    numbered_lines as numbered_lines,
    problem as problem,
    records as records,
    recovered as recovered,
    rejected_line as rejected_line,
    shape_of as shape_of,
    text_or_none as text_or_none,
    too_long as too_long,
    unreadable as unreadable,
)
from ._parquet import (
    check_texts as check_texts,
    parquet_batches as parquet_batches,
    parquet_frame as parquet_frame,
    parquet_rows as parquet_rows,
)
from ._workbooks import is_workbook as is_workbook, sheets as sheets
from ._yaml_documents import is_yaml as is_yaml
