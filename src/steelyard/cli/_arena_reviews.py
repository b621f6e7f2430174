"""`steelyard arena review`: decisions about submissions."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from steelyard.cli._arena_options import StoreOption
from steelyard.cli._nested import add_question
from steelyard.cli._options import Json
from steelyard.settings import DEFAULT_STORE

review = App(name="review", help="Accept, exclude or reinstate submissions.", help_format="plaintext")

OneTask = Annotated[str | None, Parameter(help="Task id (default: all tasks).")]


add_question(review, "arena_review_list")


for _name in ("accept", "exclude", "reinstate", "log"):
    add_question(review, f"arena_review_{_name}")
