"""All routes of the API. The docstring of the package explains how to declare one."""

from __future__ import annotations

from steelyard.server._arena_routes import ARENA_ROUTES
from steelyard.server._field_routes import FIELD_ROUTES
from steelyard.server._own_routes import OWN_ROUTES
from steelyard.server._route import Route
from steelyard.server._run_routes import RUN_ROUTES
from steelyard.server._write_routes import WRITE_ROUTES

ROUTES: tuple[Route, ...] = (*RUN_ROUTES, *FIELD_ROUTES, *ARENA_ROUTES, *WRITE_ROUTES, *OWN_ROUTES)
