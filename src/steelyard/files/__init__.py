"""Bytes to documents and rows, bounded: folders, archives, compressed files, JSON, TOML, CSV, Parquet, standard input.

Nothing else opens what a user hands in (`tests/test_bounded_reading.py`). One input has one `Budget`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
