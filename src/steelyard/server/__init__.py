"""HTTP server for an arena or run files.

A request passes the guard (`_guard.py`: host, origin, type, size, time). The application finds its route (`_app.py`),
checks the token if one is required (`_site.py`), and parses the query into its struct. The response comes from a view
that is computed once per version of the source (`_views.py`, `_answers.py`).

**A route is declared once**, as a `Route` in `_routes.py`::

    question_route("arena_task_list")                        # all of it is derived from a question, or:

    Route(
        path="/routes",                                      # below /api/v1; {name} is one percent-encoded segment
        sentence="All routes of this API.",                  # description in OpenAPI, the /api page and the docs
        command="",                                          # equivalent command
        result=ApiRoutes,                                    # the response is its to_dict(), as with --json
        query=Query,                                         # query_of(RankOptions) creates one from command options
        rows=None,                                           # the paginated field; `items` in the response
        over_arena=lambda source, values, query: ...,        # None: not supported by arenas: 404
    )

Routing, the OpenAPI document, the `/api` page and the table in the documentation are generated from the declaration.
Routes without a view (streams and writes) have `respond=`, an async function that takes a `Call` and returns a
Starlette response, and `scope=`, the required scope of the token. `call.holder` is the name of the token. For errors,
raise a `SteelyardError` (`RequestError` if no other class fits). It becomes problem+json or an HTML page.

**A page** has the same path without `/api/v1`, or the path in `page=`. `page=""` means no page. `page(call, shown)` in
`_pages.py` returns its HTML. `shown.part` is the result with the rows of this page, `shown.result` the whole result,
`shown.next` the cursor of the next page, and `shown.as_of` the time of the result. `call.query` is the parsed query.
`asset_path("steel.css")` returns the path of an asset.
"""

from __future__ import annotations

from steelyard.lazy_exports import exports

__getattr__, __dir__, __all__ = exports(__name__, __file__)
