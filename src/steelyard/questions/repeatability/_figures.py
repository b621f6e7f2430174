"""Figures of repeated outputs."""

from __future__ import annotations

from steelyard.errors import UsageError
from steelyard.figures import Axis, Change, Estimate, Figure, distances, dots, slopes
from steelyard.formatting import counted
from steelyard.metrics import catalog
from steelyard.pages import confidence_text, metric_axis
from steelyard.questions.repeatability._answer import Repeatability
from steelyard.statistics import LEVEL


def repair_slopes(result: Repeatability, width: int) -> Figure:
    """Mean distance to the canon before and after repair, by prompt; of a single prompt, of each output.

    Without a canon there is no repair: the outputs are shown side by side.
    """
    if all(prompt.canon is None for prompt in result.prompts):
        alone = len(result.prompts) == 1 and (result.prompts[0].pair_distances or result.prompts[0].n == 1)
        return output_distances(result, width) if alone else prompt_dots(result, width)
    axis = Axis(title="Distance to the canon", low=0, high=1)
    if len(result.prompts) == 1:
        prompt = result.prompts[0]
        changes = [Change(each.run or f"output {each.sample}", each.d_pre, each.d_post) for each in prompt.samples]
        title, note = f"Repair of {prompt.prompt}", f"{counted(prompt.n, 'output')}, tau {prompt.tau:g}"
    else:
        changes = [
            Change(each.prompt, each.metrics.get("mu_pre"), each.metrics.get("mu_post")) for each in result.prompts
        ]
        title, note = "Repair by prompt", f"mean distance of {len(result.prompts):,} prompts"
    return slopes(changes, title=title, axis=axis, before="before", after="after", note=note, width=width)


def output_distances(result: Repeatability, width: int) -> Figure:
    """Every output of a prompt against every other, before repair."""
    if len(result.prompts) != 1:
        raise UsageError(
            f"the figure shows one prompt (got {len(result.prompts):,})", hint="select one prompt by its task"
        )
    prompt = result.prompts[0]
    signatures = [sample.signature_pre for sample in prompt.samples]
    apart = {(signatures[a - 1], signatures[b - 1]): distance for a, b, distance in prompt.pair_distances}
    apart |= {(b, a): distance for (a, b), distance in apart.items()}
    if len(set(signatures)) > 1 and not apart:
        raise UsageError("the outputs are too many or too long to compare every pair")
    matrix = [[0.0 if row == column else apart[row, column] for column in signatures] for row in signatures]
    names = [sample.run or f"output {sample.sample}" for sample in prompt.samples]
    note = f"{counted(prompt.n, 'output')} before repair, normalized by {prompt.level}; "
    note += "stronger color: closer; framed: equal"
    title = f"Distances between outputs: {prompt.prompt}"
    return distances(names, matrix, clusters=signatures, title=title, note=note, width=width)


def prompt_dots(result: Repeatability, width: int) -> Figure:
    """How often the most frequent output comes, by prompt."""
    rows = []
    for prompt in result.prompts:
        interval = prompt.intervals.get("r_raw")
        reason = prompt.reasons.get("r_raw")
        note = counted(prompt.n, "output") + (f"; {reason}" if reason else "")
        low, high = (None, None) if interval is None else (interval.low, interval.high)
        rows.append(Estimate(label=prompt.prompt, value=prompt.metrics.get("r_raw"), low=low, high=high, note=note))
    metric = catalog()["r_raw"]
    note = f"{confidence_text(LEVEL)}; fraction of outputs equal to the most frequent one"
    return dots(rows, title=f"{metric.title} by prompt", axis=metric_axis(metric), note=note, width=width)


DRAWINGS = {"repair": repair_slopes, "dots": prompt_dots, "distances": output_distances}
"""Figures of the answer."""
