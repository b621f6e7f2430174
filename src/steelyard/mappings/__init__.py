"""A user's own table or JSON to run records, by a mapping that is declared and never guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.mappings._mapping import (
        Mapping as Mapping,
        load_mapping as load_mapping,
        mapping_of as mapping_of,
        mapping_schema as mapping_schema,
        mapping_text as mapping_text,
        shipped_mappings as shipped_mappings,
    )
    from steelyard.mappings._reader import (
        MappedRun as MappedRun,
        read_mapped as read_mapped,
        read_rows as read_rows,
        shipped_for as shipped_for,
        takes as takes,
    )
    from steelyard.mappings._suggestion import (
        SuggestedMapping as SuggestedMapping,
        suggest as suggest,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
