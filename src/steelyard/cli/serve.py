from __future__ import annotations

import importlib.util
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._options import FromOne, FromZero, Paths
from steelyard.cli._print import console, print_error
from steelyard.cli._serve_token import token
from steelyard.errors import MissingExtraError, UsageError
from steelyard.questions import ReadOptions
from steelyard.settings import DEFAULT_STORE

serve = App(name="serve", help="Start the dashboard and HTTP API.", help_format="plaintext")
serve.command(token)


@serve.default
def serve_command(
    runs: Annotated[
        Paths | None, Parameter(help="Run records or logs: files or directories, reloaded when they change.")
    ] = None,
    /,
    *,
    map: Annotated[str | None, Parameter(help=ReadOptions.declared["map"].text)] = None,  # noqa: A002
    store: Annotated[
        str | None,
        Parameter(
            help="Store URL of the arena to serve: sqlite:///FILE, postgresql://USER@HOST/NAME "
            f"(default: {DEFAULT_STORE})."
        ),
    ] = None,
    host: Annotated[str, Parameter(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[FromZero, Parameter(help="Port to listen on; 0 selects a free port.")] = 8600,
    write: Annotated[
        bool, Parameter(help="Allow writes with a token (see: steelyard serve token).", negative="")
    ] = False,
    public_read: Annotated[bool, Parameter(help="Allow reads without a token.", negative="")] = False,
    allow_host: Annotated[
        tuple[str, ...], Parameter(help="Additional allowed host name; repeatable.", negative="")
    ] = (),
    root_path: Annotated[str, Parameter(help="Path prefix added by a reverse proxy, such as /steelyard.")] = "",
    workers: Annotated[FromOne, Parameter(help="Number of server processes.")] = 1,
    open: Annotated[bool, Parameter(help="Open the dashboard in a browser.", negative="")] = False,  # noqa: A002
) -> int:
    """Start the dashboard and HTTP API.

    Serves an arena or run files. By default, access is read-only and limited to this machine.

    Example: steelyard serve runs/
    Example: steelyard serve results.csv --map mapping.toml
    Example: steelyard serve --store sqlite:///arena.db --port 8000 --open
    """
    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingExtraError("Starlette and uvicorn", extra="serve", purpose="steelyard serve")
    from steelyard.server import ServeOptions, serve as answer  # brings Starlette

    if runs and store is not None:
        raise UsageError("cannot serve both runs and an arena", hint="start two servers with different --port values")
    if not runs and store is None and not Path(DEFAULT_STORE.removeprefix("sqlite:///")).exists():
        hint = "steelyard serve runs/, or steelyard arena init"
        raise UsageError(f"nothing to serve: no runs given and {DEFAULT_STORE} does not exist", hint=hint)
    options = ServeOptions(
        host=host,
        port=port,
        write=write,
        public_read=public_read,
        allow_host=allow_host,
        root_path=root_path,
        workers=workers,
        map=map,
    )

    is_ready = False

    def ready(address: str) -> None:
        nonlocal is_ready
        is_ready = True
        console(stderr=True).print(f"serving at {address} (press Ctrl-C to stop)")
        if open:
            webbrowser.open(address)

    try:
        answer(runs or (), store or DEFAULT_STORE, options, ready=ready, warn=partial(print_error, as_json=False))
    finally:
        if is_ready:
            console(stderr=True).print("stopped")
    return 0
