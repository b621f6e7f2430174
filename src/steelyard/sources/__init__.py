"""From files to runs: formats, mappings, joined parts and the table of runs; and the words to write more formats."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
