"""Pages: one presentation of an answer, rendered as terminal text, HTML, Markdown and files."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
