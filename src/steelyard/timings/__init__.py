"""Benchmark timings from the tools that measure them: one file per format, one record for all."""
