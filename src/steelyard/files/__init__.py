"""Bytes to documents and rows, bounded: folders, archives, packed files, JSON, CSV, standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.files._archives import (
        LIMITS as LIMITS,
        ONE_FILE as ONE_FILE,
        ArchiveLimits as ArchiveLimits,
        archive_kind as archive_kind,
        bounded_member as bounded_member,
        bounded_zip as bounded_zip,
        packing as packing,
        unpack as unpack,
    )
    from steelyard.files._csv_rows import (
        SHORT_OR_LONG as SHORT_OR_LONG,
        Row as Row,
        csv_rows as csv_rows,
        separator_of as separator_of,
    )
    from steelyard.files._documents import (
        CUT as CUT,
        JSON_ERRORS as JSON_ERRORS,
        MAX_DOCUMENT_BYTES as MAX_DOCUMENT_BYTES,
        MAX_LINE_BYTES as MAX_LINE_BYTES,
        decoded as decoded,
        document as document,
        label as label,
        moment as moment,
        numbered_lines as numbered_lines,
        problem as problem,
        records as records,
        recovered as recovered,
        rejected_line as rejected_line,
        whole_file as whole_file,
    )
    from steelyard.files._json_shape import (
        Records as Records,
        shape_of as shape_of,
    )
    from steelyard.files._same_files import (
        SeenFiles as SeenFiles,
        file_repeated as file_repeated,
    )
    from steelyard.files._walking import (
        Found as Found,
        files_below as files_below,
        files_unpacked as files_unpacked,
        piped as piped,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
