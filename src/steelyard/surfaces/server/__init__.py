"""The server: a source (an arena's store, or files of runs) over HTTP.

A request passes the guard (`_guard.py`: host, origin, type, size, time). The application finds its route (`_app.py`),
asks for a token where one is needed (`_access.py`), reads the query into its struct, and answers from a view that was
built once for the version of the source (`_views.py`, `_answers.py`).

**A route is declared once**, as a `Route` in `_run_routes.py`, `_arena_routes.py` or `_own_routes.py`::

    class TasksQuery(Paged, frozen=True, kw_only=True):      # what may stand behind the question mark
        filters: ClassVar[tuple[str, ...]] = ("category",)   # these choose rows of the built answer
        category: Annotated[Repeated, Meta(description="Only tasks of these categories.")] = ()

    Route(
        path="/tasks",                                       # below /api/v1; {name} is one percent-encoded segment
        sentence="Every task of the arena.",                 # OpenAPI, the /api page, docs
        command="arena task list",                              # the command that gives the same
        result=TaskList,                                     # its to_dict() is the answer, as with --json
        query=TasksQuery,                                    # query_of(RankOptions) makes one from a command's options
        rows="tasks",                                        # the field that is paged; `items` in the answer
        over_arena=lambda source, values, query: list_tasks(source.arena),
        over_runs=None,                                      # where a source has nothing: 404 with a sentence
    )

Routing, the OpenAPI document, the table of the `/api` page and that of the documentation follow. What is no view (a
stream, what writes) has `respond=`, an async function of a `Call` that gives a Starlette response, and `scope=`, what a
token must allow; `call.holder` is then the token's name. Raise a `SteelyardError` (`RequestError` where no other says
it) for whatever goes wrong: it becomes problem+json, or a page.

**A page** is at the same path without `/api/v1`, or at `page=`; `page=""` means none. `page(call, shown)` in
`_pages.py` gives its HTML: `shown.part` is the result with the rows of this page, `shown.result` the whole one,
`shown.next` the cursor of the next page, `shown.as_of` its moment; `call.query` is the view that the address names.
`asset_path("steel.css")` is where a file that pages load stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.surfaces.server._access import (
        Access as Access,
    )
    from steelyard.surfaces.server._openapi import (
        openapi_document as openapi_document,
    )
    from steelyard.surfaces.server._own_routes import (
        routes_listed as routes_listed,
    )
    from steelyard.surfaces.server._route import (
        API as API,
        Route as Route,
    )
    from steelyard.surfaces.server._routes import (
        ROUTES as ROUTES,
    )
    from steelyard.surfaces.server._running import (
        ServeOptions as ServeOptions,
        serve as serve,
        site_of as site_of,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
