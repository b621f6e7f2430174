"""Submissions on their way in: known ids, scores, ranks, baselines and events in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.arena.ingest._arena import (
        Arena as Arena,
        create_arena as create_arena,
        open_arena as open_arena,
    )
    from steelyard.arena.ingest._parties import (
        check_name as check_name,
        party_kind as party_kind,
        people_among as people_among,
        read_parties as read_parties,
        register as register,
        teams_of as teams_of,
    )
    from steelyard.arena.ingest._reviews import (
        count_ratings as count_ratings,
    )
    from steelyard.arena.ingest._submission_files import (
        LocatedSubmission as LocatedSubmission,
        read_submissions as read_submissions,
        read_task_map as read_task_map,
        read_tasks as read_tasks,
    )
    from steelyard.arena.ingest._tasks import (
        find_task as find_task,
        find_tasks as find_tasks,
        load_tasks as load_tasks,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
