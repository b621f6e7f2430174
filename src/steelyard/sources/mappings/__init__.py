"""A user's own table or JSON to run records, by a mapping that is declared and never guessed."""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
