"""The table of runs: facts as columns."""
