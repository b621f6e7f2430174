"""Bytes to documents and rows, bounded: folders, archives, compressed files, JSON, TOML, CSV, Parquet, standard input.

Nothing else opens what a user hands in (`tests/test_bounded_reading.py`). One input has one `Budget`.
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
