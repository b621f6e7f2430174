"""From files to runs to the table of runs: parts are joined, duplicates counted once, every run priced once."""
