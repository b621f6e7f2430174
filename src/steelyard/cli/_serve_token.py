"""`steelyard serve token`: access tokens of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._options import Json
from steelyard.cli._print import console, print_json, print_lines
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.results import Tokens

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
    (row,) = made.to_dicts()
    console(stderr=True).print(
        f"{name}: {row['scopes']}, expires {row['expires_at'][:16]} UTC. Copy the token now; it is not shown again."
    )
    return 0


@token.command(name="list")
def list_all(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """List tokens with scopes, expiry and last use.

    Expired and revoked tokens are included.

    Example: steelyard serve token list
    """
    from steelyard.questions.token import list_tokens  # brings SQLAlchemy

    return _print(list_tokens(store=store), json=json)


@token.command
def revoke(
    name: Annotated[str, Parameter(help="Name of the token to revoke.")],
    /,
    *,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Revoke a token immediately.

    Example: steelyard serve token revoke ci
    """
    from steelyard.questions.token import revoke_token  # brings SQLAlchemy

    return _print(revoke_token(name, store=store), json=json)


def _print(tokens: Tokens, *, json: bool) -> int:
    if json:
        print_json(tokens.to_dict())
        return 0
    if not tokens.tokens:
        console().print("no tokens; create one with: steelyard serve token create NAME")
    for row in tokens.to_dicts():
        used = f"last used {row['last_used_at'][:16]}" if row["last_used_at"] else "never used"
        end = f"{row['state']} {(row['revoked_at'] or row['expires_at'])[:16]}"
        until = f"expires {row['expires_at'][:16]}" if row["state"] == "active" else end
        whose = f"  of {row['person']}" if row["person"] else ""
        print_lines([f"{row['name']}{whose}  {row['scopes']}  {until}  {used}  sytk_{row['id']}_..."])
    return 0
