"""Scores: baselines, rules, tallies, medians, and what a submission is worth under them."""
