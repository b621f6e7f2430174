"""Events in the outbox, and how they reach their targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.notifications._delivery import (
        notify_once as notify_once,
        skip_before as skip_before,
    )
    from steelyard.arena.notifications._events import (
        EVALUATED as EVALUATED,
        EXCLUDED as EXCLUDED,
        LEAD_LOST as LEAD_LOST,
        OUTLIER as OUTLIER,
        RANK_LOST as RANK_LOST,
        REINSTATED as REINSTATED,
        read_events as read_events,
        write_events as write_events,
    )
    from steelyard.arena.notifications._targets import (
        Target as Target,
        read_targets as read_targets,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
