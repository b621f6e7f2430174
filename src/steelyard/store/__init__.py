"""Database storage: `open_store(url)` returns a Store, `upgrade_store(url)` upgrades an older one.

The tables are in `steelyard.store.schema`.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
