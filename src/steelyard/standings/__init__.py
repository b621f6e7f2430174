"""Measured values and statistics together: who leads, and how surely."""
