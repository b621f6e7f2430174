"""From files to runs to the table of runs: parts are joined, duplicates counted once, every run priced once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.tables._cluster import (
        Cluster as Cluster,
        Row as Row,
        Rows as Rows,
        Work as Work,
    )
    from steelyard.tables._file_runs import (
        GatheringCount as GatheringCount,
        NamedRun as NamedRun,
        Progress as Progress,
        each_once as each_once,
        gather as gather,
        without_collection as without_collection,
    )
    from steelyard.tables._run_table import (
        RunTable as RunTable,
        TableBuilder as TableBuilder,
        TableSource as TableSource,
        choose as choose,
    )
    from steelyard.tables._spool import (
        SpillFolder as SpillFolder,
        free_bytes as free_bytes,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
