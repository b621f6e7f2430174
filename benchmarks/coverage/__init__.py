"""Validation by simulation: coverage of intervals, error rates and power of verdicts."""

from __future__ import annotations

from benchmarks.coverage import compared, measured, methods, procedures
from benchmarks.coverage._cells import Cell

CELLS: tuple[Cell, ...] = (*measured.cells(), *compared.cells(), *procedures.cells(), *methods.cells())
"""Every cell, in the order of the page."""
