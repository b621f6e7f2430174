"""Every setting that comes from the environment, declared once."""

from __future__ import annotations

METRICS_PATH = "STEELYARD_METRICS"
"""Folders (separated as in PATH) whose Python files declare metrics of the user's own."""
CACHE_FOLDER = "STEELYARD_CACHE"
"""Where answers that can be worked out again are kept, by default the user's cache folder; empty keeps none."""

STDIN = "-"
"""The path that stands for what is piped in."""
