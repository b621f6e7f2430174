"""Arena command watch."""

from __future__ import annotations

from typing import Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import FromOne, Json, Seconds
from steelyard.cli._print import console, print_text
from steelyard.pages import clean, visible_json
from steelyard.settings import DEFAULT_STORE


def watch(
    *,
    store: StoreOption = DEFAULT_STORE,
    poll_interval: Annotated[Seconds, Parameter(help="Seconds between polls.")] = 1.0,
    max_polls: Annotated[FromOne | None, Parameter(help="Maximum number of polls (default: unlimited).")] = None,
    json: Json = False,
) -> int:
    """Print events as they occur.

    Events are evaluations, lost ranks, outliers and exclusions. With --json, prints one object per line.

    Example: steelyard arena watch --poll-interval 5
    """
    import time

    from steelyard.questions import watch_arena  # brings SQLAlchemy

    watched, terminal = watch_arena(store), console()
    polls = 0
    while max_polls is None or polls < max_polls:
        for event in watched.news():
            if json:
                print_text(visible_json(msgspec.json.encode(event).decode()) + "\n", flush=True)
            else:
                terminal.print(clean(event.sentence), flush=True)
        polls += 1
        if max_polls is None or polls < max_polls:
            time.sleep(poll_interval)
    return 0
