"""From files to runs: formats, mappings, joined parts and the table of runs; and the words to write more formats."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
