"""Bytes to documents and rows, bounded: folders, archives, packed files, JSON, CSV, standard input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

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
    from steelyard.files._json_documents import (
        CUT as CUT,
        HEAD_BYTES as HEAD_BYTES,
        JSON_ERRORS as JSON_ERRORS,
        MAX_DOCUMENT_BYTES as MAX_DOCUMENT_BYTES,
        MAX_LINE_BYTES as MAX_LINE_BYTES,
        Records as Records,
        amount as amount,
        beginning_of as beginning_of,
        count as count,
        decoded as decoded,
        document as document,
        label as label,
        moment as moment,
        number as number,
        numbered_lines as numbered_lines,
        problem as problem,
        records as records,
        recovered as recovered,
        rejected_line as rejected_line,
        shape_of as shape_of,
        text_or_none as text_or_none,
        whole_file as whole_file,
    )
    from steelyard.files._walking import (
        Found as Found,
        SeenFiles as SeenFiles,
        file_repeated as file_repeated,
        files_below as files_below,
        files_unpacked as files_unpacked,
        piped as piped,
    )
    from steelyard.files._whole_texts import (
        parse_json as parse_json,
        read_text as read_text,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
