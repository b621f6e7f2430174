"""The arena: submissions scored against a running baseline per task, ranked and stored."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
