from ._reader import (
    MappedRun as MappedRun,
    read_mapped as read_mapped,
    shipped_for as shipped_for,
    takes as takes,
)
