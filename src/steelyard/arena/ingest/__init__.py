"""Submissions on their way in: known ids, scores, ranks, baselines and events in one transaction."""
