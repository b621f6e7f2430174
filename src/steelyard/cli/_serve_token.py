"""`steelyard serve token`: access tokens of the server."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import Json
from steelyard.cli._output import PLAIN_OUTPUT, PlainOutput
from steelyard.cli._print import console, print_json, print_lines
from steelyard.cli._question_commands import deliver
from steelyard.pages import minute_of
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
    from steelyard.questions import split_names
    from steelyard.questions.token import create_token  # brings SQLAlchemy

    made = create_token(name, scopes=split_names(scope), expires=expires, person=person, store=store)
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
