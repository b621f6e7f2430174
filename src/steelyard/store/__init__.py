"""Database storage: `open_store(url)` returns a Store, `upgrade_store(url)` upgrades an older one.

The tables are in `steelyard.store.schema`.
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
