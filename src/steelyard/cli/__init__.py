"""The command line. Each command is a file in this folder with a function or app of the same name."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
