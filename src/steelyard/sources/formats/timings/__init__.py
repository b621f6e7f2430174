"""Formats of timings, one file each. They are separate so that `speedup` need not import the formats of logs."""
