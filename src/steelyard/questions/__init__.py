"""Questions asked of runs."""
