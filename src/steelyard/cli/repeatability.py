from __future__ import annotations

from cyclopts import App

from steelyard.cli._canon import canon
from steelyard.cli._question_commands import command_named

repeatability = App(
    name="repeatability",
    help="Measure how repeatable outputs are, before and after repair.",
    help_format="plaintext",
)
repeatability.default(command_named("repeatability"))
repeatability.command(canon)
