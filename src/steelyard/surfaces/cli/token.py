from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from steelyard.settings import DEFAULT_STORE
from steelyard.surfaces.cli._arena_options import StoreOption
from steelyard.surfaces.cli._options import Json
from steelyard.surfaces.cli._print import console, print_json, print_lines

if TYPE_CHECKING:
    from steelyard.results import Tokens

token = App(
    name="token",
    help="Manage the tokens that people and programs need to use steelyard serve.",
    help_format="plaintext",
)

Name = Annotated[str, Parameter(help="Who or what uses the token; decisions made with it are logged under this name.")]


@token.command
def create(
    name: Name,
    /,
    *,
    scope: Annotated[
        str,
        Parameter(
            help="What it allows, separated by commas: read; submit (submissions and runs); review (accept, exclude,"
            " reinstate); admin (all of these, and tasks). Every token may read."
        ),
    ] = "submit",
    expires: Annotated[str, Parameter(help="When it expires: 30d, 12h, 2w, or its last day as 2027-01-31.")] = "90d",
    person: Annotated[
        str | None,
        Parameter(help="The registered person (arena register) whose it is; without it, it stands for its name."),
    ] = None,
    store: StoreOption = DEFAULT_STORE,
    json: Json = False,
) -> int:
    """Create a token and print it. It is shown only this once; the store keeps only its SHA-256.

    Example: steelyard token create ci --scope submit --expires 30d
    Example: steelyard token create ada-laptop --person ada --scope submit,review
    """
    from steelyard.workflow import split_names
    from steelyard.workflow.token import create_token  # brings SQLAlchemy

    made = create_token(name, scopes=split_names(scope), expires=expires, person=person, store=store)
    if json:
        print_json(made.to_dict())
        return 0
    print_lines([made.token])
    (row,) = made.to_dicts()
    console(stderr=True).print(
        f"{name}: {row['scopes']}, expires {row['expires_at'][:16]} UTC. Copy the token now: it is not shown again."
    )
    return 0


@token.command(name="list")
def list_all(*, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """List every token with its scopes, expiry and last use; expired and revoked ones too.

    Example: steelyard token list
    """
    from steelyard.workflow.token import list_tokens  # brings SQLAlchemy

    return _print(list_tokens(store=store), json=json)


@token.command
def revoke(name: Name, /, *, store: StoreOption = DEFAULT_STORE, json: Json = False) -> int:
    """Revoke a token: servers refuse it from the next request on.

    Example: steelyard token revoke ci
    """
    from steelyard.workflow.token import revoke_token  # brings SQLAlchemy

    return _print(revoke_token(name, store=store), json=json)


def _print(tokens: Tokens, *, json: bool) -> int:
    if json:
        print_json(tokens.to_dict())
        return 0
    if not tokens.tokens:
        console().print("no tokens; steelyard token create NAME makes one")
    for row in tokens.to_dicts():
        used = f"last used {row['last_used_at'][:16]}" if row["last_used_at"] else "never used"
        end = f"{row['state']} {(row['revoked_at'] or row['expires_at'])[:16]}"
        until = f"expires {row['expires_at'][:16]}" if row["state"] == "active" else end
        whose = f"  of {row['person']}" if row["person"] else ""
        print_lines([f"{row['name']}{whose}  {row['scopes']}  {until}  {used}  sytk_{row['id']}_..."])
    return 0
