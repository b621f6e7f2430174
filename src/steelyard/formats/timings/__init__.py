"""Formats of timings, one file each. They stand apart so that `speedup` need not import the formats of logs."""
