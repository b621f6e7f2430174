"""Commands of questions below other commands, such as `arena history`."""

from __future__ import annotations

from typing import Any

from cyclopts import App

from steelyard.questions import question_summary


def add_question(app: App, name: str, **placement: Any) -> None:  # Any: group and sort key
    """Add the command of a question to an app; it is imported when it runs."""
    word = name.partition(f"{app.name[0]}_")[2].replace("_", "-")
    app.command(f"steelyard.cli._question_commands:{name}", name=word, help=question_summary(name), **placement)
