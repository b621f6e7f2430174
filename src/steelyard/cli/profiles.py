from __future__ import annotations

from typing import Annotated

import msgspec
from cyclopts import Parameter

from steelyard.cli._options import Json
from steelyard.cli._print import print_json, print_text, show_results
from steelyard.formatting import counted
from steelyard.pages import add_row, plain_table
from steelyard.profiles import load_profile, profile_text, shipped_profiles
from steelyard.results import versioned


def profiles(
    name: Annotated[str | None, Parameter(help="Profile to print as TOML.")] = None,
    /,
    *,
    json: Json = False,
) -> int:
    """List or print scoring profiles.

    Example: steelyard profiles outcome-1 > mine.toml
    """
    if name is not None:
        if json:
            print_json(versioned(msgspec.to_builtins(load_profile(name))))
        else:
            print_text(profile_text(name))
        return 0
    loaded = [load_profile(each) for each in shipped_profiles()]
    if json:
        listed = [{"name": profile.name, "specification": profile.spec, "title": profile.title} for profile in loaded]
        print_json(versioned({"profiles": listed}))
        return 0
    table = plain_table()
    table.add_column("profile")
    table.add_column("title")
    for profile in loaded:
        add_row(table, profile.name, profile.title)
    show_results([f"{counted(len(loaded), 'profile')}. To print one: steelyard profiles NAME", table])
    return 0
