"""Who evaluates metrics over a table of runs."""
