"""Ratings by reviewers, for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import counted
from steelyard.results import WeightVersions


def weights_lines(result: WeightVersions) -> Iterator[str]:
    """Yield the version in force, its data, and how well each part discriminates between submissions."""
    if not result.versions:
        on = (
            "steelyard arena model fit"
            if result.is_on
            else "use a profile with dynamic_weights, such as arena-community"
        )
        yield f"No weights have been fitted: {on}."
        return
    last = result.versions[-1]
    ratings = f"{counted(last.ratings, 'rating')} of {counted(last.submissions, 'submission')}"
    state = f"the fixed weights remain ({last.reason})" if last.reason else f"shifted by at most {last.max_shift:g}"
    yield f"Version {last.version} from {ratings} to {counted(last.tasks, 'task')}: {state}."
    for name, weight in last.weights.items():
        yield f"{name}: {weight:.4f}, fixed {last.fixed[name]:g}"
    for part in last.parts:
        correlation = (
            "no variation" if part.correlation is None else f"correlation with ratings {part.correlation:+.2f}"
        )
        yield f"{part.name}: standard deviation {part.std_dev:.2f} points, {correlation}"
