"""Sandbox for untrusted commands.

>>> from steelyard import sandbox
>>> sandbox.active_isolation().name in ("bubblewrap", "landlock", "none")
True
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
