"""What rests on disk: `open_store(url)` gives a Store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.store._alongside import (
        Alongside as Alongside,
        alongside as alongside,
    )
    from steelyard.store._bulk import (
        insert_columns as insert_columns,
        insert_rows as insert_rows,
        look_up as look_up,
    )
    from steelyard.store._canon_rows import (
        canon_history as canon_history,
        canon_of as canon_of,
        retire_canon as retire_canon,
        set_canon as set_canon,
    )
    from steelyard.store._store import (
        Store as Store,
        open_store as open_store,
    )
    from steelyard.store.migrations.m0001_arena import (
        baselines as baselines,
        settings as settings,
        states as states,
        submissions as submissions,
        tallies as tallies,
        tasks as tasks,
    )
    from steelyard.store.migrations.m0011_batches import (
        folded_events as folded_events,
        small_tallies as small_tallies,
    )
    from steelyard.store.migrations.m0012_past_settings import (
        past_settings as past_settings,
    )
    from steelyard.store.migrations.m0013_deliveries_due import (
        deliveries as deliveries,
    )
    from steelyard.store.migrations.m0014_task_files import (
        task_files as task_files,
    )
    from steelyard.store.migrations.m0015_outbox_waits import (
        outbox as outbox,
    )
    from steelyard.store.migrations.m0016_reigns import (
        reigns as reigns,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
