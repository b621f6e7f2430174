"""Terminal output of repeatability: a table of prompts, and bars of distances before and after repair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from steelyard.formatting import counted, interval_name, quantity
from steelyard.metrics import catalog
from steelyard.pages import DASH, TextTable, add_row, number_text, plain_table, range_text
from steelyard.results import PromptResult, Repeatability

SHOWN = ("r_raw", "r_bytes", "r_anchor_pre", "r_anchor", "rescue_rate", "mu_pre", "mu_post", "p_tau_pre", "p_tau_post")
WITHOUT_CANON = ("r_raw", "r_bytes", "mean_pairwise_distance", "pairs_within_tau")
SPARED = {"r_bytes": 5, "r_anchor_pre": 3, "mu_pre": 2, "mu_post": 3, "p_tau_pre": 4, "p_tau_post": 4, "rescue_rate": 2}
_BAR = 16
"""Width of the longest bar: two bars with counts fit into 60 columns."""
MAX_FAILING_OUTPUTS = 10
"""Number of failing outputs listed by default."""
MAX_BARS = 8
"""Maximum number of prompts with bars."""
_EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def repeatability_sentence(result: Repeatability) -> str:
    """Return how many outputs meet the contract, and the share of the most common output."""
    verdicts = [sample.compliant_pre for prompt in result.prompts for sample in prompt.samples]
    checked = [verdict for verdict in verdicts if verdict is not None]
    meeting = f"{sum(checked):,} of {len(checked):,} outputs meet the contract; " if checked else ""
    tried = [prompt for prompt in result.prompts if prompt.n > 1 and prompt.metrics.get("r_raw") is not None]
    if not tried:
        return f"{meeting}no prompt has two outputs." if checked else "No prompt has two outputs."
    shares = sorted(share for prompt in tried if (share := prompt.metrics["r_raw"]) is not None)
    if len(tried) == 1:
        alone = len(result.prompts) == 1
        whose = "" if alone else f" of {tried[0].prompt} (the only prompt with several)"
        of_all = f"{quantity(shares[0], 'fraction')} of {tried[0].n:,}"
        sentence = f"the most common output{whose} accounts for {of_all}."
        return meeting + (sentence if meeting else f"T{sentence.removeprefix('t')}")
    same, usual = sum(share == 1 for share in shares), quantity(median(shares), "fraction")
    always = f"{same:,} of {counted(len(tried), 'prompt')} gave identical outputs"
    return f"{meeting}{always}; median share of the most common output: {usual}."


def repeatability_table(results: Sequence[PromptResult]) -> TextTable:
    """Return the table with one row per prompt; a dash means missing."""
    table = plain_table()
    table.add_column("prompt")
    table.add_column("outputs", justify="right")
    table.add_column("distinct", justify="right", spare=2)
    shown = shown_metrics(results)
    for name in shown:
        table.add_column(catalog()[name].title, justify="right", spare=SPARED.get(name, 0))
        if name == "r_raw":
            table.add_column(interval_name(0.95), justify="right", spare=1)
    table.add_column("canon", spare=4)
    for result in results:
        values = [number_text(result.metrics.get(name), catalog()[name].unit) for name in shown]
        interval = result.intervals.get("r_raw", {})
        values.insert(1, range_text(interval.get("low"), interval.get("high"), "fraction"))
        distinct = number_text(result.metrics.get("unique_signatures"), "signatures")
        canon = "no canon" if result.canon is None else f"{result.canon.signature[:12]} ({result.canon.origin})"
        outputs = f"{result.n:,} of {result.n + result.failed:,}" if result.failed else f"{result.n:,}"
        add_row(table, result.prompt, outputs, distinct, *values, canon)
    return table


def output_table(results: Sequence[PromptResult], *, failing: bool) -> TextTable:
    """Return the table with one row per output: its verdict, the reason, and its distance to the canon.

    With `failing`, only the first outputs that do not meet the contract.
    """
    rows = [
        (result, sample)
        for result in results
        for sample in result.samples
        if not failing or sample.compliant_pre is False
    ]
    more = len(rows) - MAX_FAILING_OUTPUTS if failing else 0
    note = f" (first {MAX_FAILING_OUTPUTS} of {len(rows):,}; the option list-outputs lists all)" if more > 0 else ""
    table = plain_table(f"Outputs that do not meet the contract{note}" if failing else "Outputs")
    if len(results) > 1:
        table.add_column("prompt")
    table.add_column("output", justify="right")
    table.add_column("source")
    if not failing:
        table.add_column("meets the contract")
    table.add_column("distance\nbefore repair", justify="right", spare=1)
    table.add_column("distance\nafter repair", justify="right", spare=2)
    table.add_column("reason")
    for result, sample in rows[:MAX_FAILING_OUTPUTS] if failing else rows:
        prompt = [result.prompt] if len(results) > 1 else []
        verdict = [] if failing else [{True: "yes", False: "no", None: DASH}[sample.compliant_pre]]
        distances = [f"{distance:.3f}" for distance in (sample.d_pre, sample.d_post)]
        add_row(table, *prompt, f"{sample.sample}", sample.run or DASH, *verdict, *distances, sample.reason)
    return table


def shown_metrics(results: Sequence[PromptResult]) -> tuple[str, ...]:
    """Return the metrics to show; without a canon, those that compare outputs with each other."""
    return SHOWN if any(result.canon for result in results) else WITHOUT_CANON


def distance_bars(result: PromptResult) -> Iterator[str]:
    """Yield a histogram of the distances to the canon, before (left) and after (right) repair."""
    yield f"distance to the canon: {result.prompt} (n = {result.n}, tau = {result.tau:g})"
    before = _counts([sample.d_pre for sample in result.samples])
    after = _counts([sample.d_post for sample in result.samples])
    most = max([*before, *after, 1])
    wide = _BAR + len(f" {most}") + 2
    yield f"  {'':>9}  {'before repair':<{wide}}after repair"
    for label, pre, post in zip(_labels(), before, after, strict=True):
        if pre or post:
            left, right = (f"{mark * round(_BAR * count / most)} {count}" for mark, count in (("░", pre), ("█", post)))
            yield f"  {label:>9}  {left:<{wide}}{right}"


def _labels() -> list[str]:
    return ["0", *(f"{low:g}-{high:g}" for low, high in pairwise(_EDGES))]


def _counts(distances: Sequence[float]) -> list[int]:
    """Count outputs at exactly 0, then per interval (upper end included)."""
    counts = [sum(distance == 0 for distance in distances)]
    for low, high in pairwise(_EDGES):
        counts.append(sum(low < distance <= high for distance in distances))
    return counts
