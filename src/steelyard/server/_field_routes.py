"""Routes about all runs: usage, completeness and the task matrix."""

from __future__ import annotations

from steelyard.server._question_routes import question_route

FIELD_ROUTES = (
    question_route("matrix"),
    question_route("usage"),
    question_route("completeness"),
)
