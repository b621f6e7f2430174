"""What rests on disk, behind one door: `open_store(url)` gives a Store whose schema is up to date.

A table is declared in the migration that makes it (`store/migrations/`), and code imports it from there.
"""

from __future__ import annotations

from steelyard.store._alongside import Alongside, alongside
from steelyard.store._bulk import insert_columns, insert_rows, look_up
from steelyard.store._store import Store, open_store

__all__ = [
    "Alongside",
    "Store",
    "alongside",
    "insert_columns",
    "insert_rows",
    "look_up",
    "open_store",
]
