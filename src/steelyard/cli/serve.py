"""Start the dashboard and HTTP API."""

from __future__ import annotations

import importlib.util
import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from steelyard import questions, server
from steelyard.cli._options import FromOne, FromZero, Json, Paths, StoreOption
from steelyard.cli._output import PLAIN_OUTPUT, PlainOutput
from steelyard.cli._print import console, print_error, print_json, print_lines
from steelyard.cli._question_commands import deliver
from steelyard.errors import MissingExtraError, UsageError
from steelyard.pages import minute_of
from steelyard.questions import ReadOptions
from steelyard.settings import DEFAULT_STORE

token = App(name="token", help="Create, list or revoke access tokens.", help_format="plaintext")

Name = Annotated[
    str, Parameter(help="Token name, such as the name of the user or program that uses it; shown in review logs.")
]


@token.command
def create(
    name: Name,
    /,
    *,
    scope: Annotated[
        str,
        Parameter(
            help="Comma-separated scopes: read, submit (submissions and runs), review, "
            "admin (all of these, plus tasks)."
        ),
    ] = "submit",
    expires: Annotated[str, Parameter(help="Expiry: 30d, 12h, 2w, or the last valid day, such as 2027-01-31.")] = "90d",
    person: Annotated[
        str | None,
        Parameter(help="Id of the registered owner (see: steelyard arena user; default: the token name)."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Create a token and print it once.

    The store keeps only the SHA-256 hash of the token.

    Example: steelyard serve token create ci --scope submit --expires 30d
    Example: steelyard serve token create ada-laptop --person ada --scope submit,review
    """
    from steelyard.questions.token import create_token  # brings SQLAlchemy

    made = create_token(name, scopes=questions.split_names(scope), expires=expires, person=person, store=store)
    if json:
        print_json(made.to_dict())
        return 0
    print_lines([made.token])
    (record,) = made.tokens
    console(stderr=True).print(
        f"{name}: {', '.join(record.scopes)}, expires {minute_of(record.expires_at)} UTC. "
        "Copy the token now; it is not shown again."
    )
    return 0


@token.command(name="list")
def list_all(*, store: StoreOption = DEFAULT_STORE, output: PlainOutput = PLAIN_OUTPUT) -> int:
    """List tokens with scopes, expiry and last use.

    Expired and revoked tokens are included.

    Example: steelyard serve token list
    """
    from steelyard.questions.token import list_tokens  # brings SQLAlchemy

    output.check()
    deliver(list_tokens(store=store), output)
    return 0


@token.command
def revoke(
    name: Annotated[str, Parameter(help="Name of the token to revoke.")],
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    output: PlainOutput = PLAIN_OUTPUT,
) -> int:
    """Revoke a token immediately.

    Example: steelyard serve token revoke ci
    """
    from steelyard.questions.token import revoke_token  # brings SQLAlchemy

    output.check()
    deliver(revoke_token(name, store=store), output)
    return 0


serve = App(name="serve", help=__doc__, help_format="plaintext")
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
    public_read: Annotated[
        bool, Parameter(help="Allow reads from other machines without a token.", negative="")
    ] = False,
    allow_host: Annotated[
        tuple[str, ...],
        Parameter(help="Additional host name to accept in the Host header of requests; repeatable.", negative=""),
    ] = (),
    root_path: Annotated[
        str, Parameter(help="URL path prefix under which a reverse proxy serves Steelyard, such as /steelyard.")
    ] = "",
    workers: Annotated[FromOne, Parameter(help="Number of server processes.")] = 1,
    open: Annotated[bool, Parameter(help="Open the dashboard in a browser.", negative="")] = False,  # noqa: A002
) -> int:
    """Start the dashboard and HTTP API.

    Serves an arena or run files. By default, access is read-only and limited to this machine, where reads
    need no token.

    Example: steelyard serve runs/
    Example: steelyard serve results.csv --map mapping.toml
    Example: steelyard serve --store sqlite:///arena.db --port 8000 --open
    """
    if importlib.util.find_spec("starlette") is None or importlib.util.find_spec("uvicorn") is None:
        raise MissingExtraError("Starlette and uvicorn", extra="serve", purpose="steelyard serve")

    if runs and store is not None:
        raise UsageError("cannot serve both runs and an arena", hint="start two servers with different --port values")
    if not runs and store is None and not Path(DEFAULT_STORE.removeprefix("sqlite:///")).exists():
        hint = "steelyard serve runs/, or steelyard arena init"
        raise UsageError(f"nothing to serve: no runs given and {DEFAULT_STORE} does not exist", hint=hint)
    options = server.ServeOptions(
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
        server.serve(runs or (), store or DEFAULT_STORE, options, ready=ready, warn=partial(print_error, as_json=False))
    finally:
        if is_ready:
            console(stderr=True).print("stopped")
    return 0
