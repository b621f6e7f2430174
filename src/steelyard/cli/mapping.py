"""Suggest, list or show mappings for custom CSV/JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli import add_question
from steelyard.cli._options import Json, Paths
from steelyard.cli._print import console, print_json, print_text
from steelyard.formatting import counted
from steelyard.pages import versioned
from steelyard.questions.mapping import suggest_mapping
from steelyard.sources import SuggestedMapping, mapping_text

mapping = App(
    name="mapping",
    help=__doc__,
    help_format="plaintext",
)


@mapping.command
def suggest(
    files: Annotated[Paths, Parameter(help="CSV tables, Excel workbooks, JSON, or directories; - for stdin.")],
    /,
    *,
    json: Json = False,
) -> int:
    """Suggest a mapping for files of an unknown format.

    A mapping assigns a column or path to each field of a run. Review and correct the suggestion, then read the files
    with --map.

    Example: steelyard mapping suggest results.csv > mapping.toml
    """
    suggestion = suggest_mapping(files)
    if json:
        rejected = [each.to_dict() for each in suggestion.set_aside]
        answer = {"mapping": suggestion.text, "runs": suggestion.runs, "rejected": rejected}
        print_json(versioned({**answer, "questions": suggestion.questions, "first_runs": suggestion.first}))
    else:
        print_text(suggestion.text)
        if not sys.stdout.isatty():  # the text is in a file
            terminal = console(stderr=True)
            for note in _notes(suggestion):
                terminal.print(note, indent="    ")
    return 0


def _notes(suggestion: SuggestedMapping) -> Iterator[str]:
    """What a user should see who writes the mapping to a file."""
    rejected = counted(len(suggestion.set_aside), "row")
    yield f"{counted(suggestion.runs, 'run')} read, {rejected} rejected; the first runs:"
    yield from (f"  {line}" for line in suggestion.first)
    yield from (f"question: {question}" for question in suggestion.questions)


add_question(mapping, "mapping_list")


@mapping.command
def show(
    name: Annotated[str, Parameter(help="Name of a built-in mapping.")],
    /,
    *,
    json: Json = False,
) -> int:
    """Print a built-in mapping as TOML.

    Example: steelyard mapping show evalplus > mine.toml
    """
    text = mapping_text(name)
    if json:
        print_json(versioned({"name": name, "mapping": text}))
    else:
        print_text(text)
    return 0
