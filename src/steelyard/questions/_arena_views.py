"""Arena: watching for events."""

from __future__ import annotations

from steelyard.arena import Arena, Watch
from steelyard.questions._arena import opened


def watch_arena(arena: Arena | str) -> Watch:
    """Watch the arena from now on; `news()` returns the events since the last call."""
    return Watch(opened(arena))
