"""Sandbox for untrusted commands.

>>> from steelyard import sandbox
>>> sandbox.active_isolation().name in ("bubblewrap", "landlock", "none")
True
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
