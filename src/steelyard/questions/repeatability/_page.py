"""Page of repeatability: the outputs of each prompt compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import counted, decimal_bounds, difference_text, interval_name, quantity
from steelyard.metrics import catalog
from steelyard.questions.repeatability._answer import OutputSample, PromptResult, Repeatability
from steelyard.statistics import LEVEL

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable

SHOWN = ("r_raw", "r_bytes", "r_anchor_pre", "r_anchor", "rescue_rate", "mu_pre", "mu_post", "p_tau_pre", "p_tau_post")
WITHOUT_CANON = ("r_raw", "r_bytes", "mean_pairwise_distance", "pairs_within_tau")
REPAIR = ("delta_r_anchor", "delta_r_anchor_measured", "delta_mu", "delta_p_tau", "rescue_rate_noncanonical")
"""Metrics in the table of prompts, in that of prompts if none has a canon, and in that of the effect of repair."""
OF_FAILING = ("prompt", "sample", "run", "d_pre", "d_post", "reason")
"""Columns of the table of failing outputs."""
SPARED = {
    "r_bytes": 5,
    "r_anchor_pre": 3,
    "mu_pre": 2,
    "mu_post": 3,
    "p_tau_pre": 4,
    "p_tau_post": 4,
    "rescue_rate": 2,
    "d_pre": 1,
    "d_post": 2,
    "compliant_post": 3,
    "marks": 4,
    "repair_ended": 5,
    "steps": 6,
}
"""Order in which columns leave a narrow terminal."""
BAR = 16
"""Width of the longest bar."""
MAX_FAILING_OUTPUTS = 10
"""Failing outputs that a terminal shows."""
MAX_BARS = 8
"""Maximum number of prompts with bars."""
MAX_ROWS = 1_000
"""Rows of the tables of outputs and pairs; the data files contain all of them."""
EDGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Ends of the intervals in which distances are counted."""


def page(answer: Repeatability) -> Page:
    """Return the page: a row per prompt, then the effect of repair, outputs and distances."""
    prompts = answer.prompts
    has_canon = any(prompt.canon for prompt in prompts)
    shown = SHOWN if has_canon else WITHOUT_CANON
    metrics = [metric.name for metric in catalog().at("prompt")]
    further = [name for name in metrics if name not in (*shown, *(REPAIR if has_canon else ()), "unique_signatures")]
    failing = [(prompt, each) for prompt in prompts for each in prompt.samples if each.compliant_pre is False]
    stored = [(prompt.prompt, prompt.stored_repairs) for prompt in prompts if prompt.stored_repairs is not None]
    measured = [(prompt.prompt, prompt.metrics) for prompt in prompts]
    tables = [
        *([_metric_table("repair", "Effect of repair", measured, REPAIR)] if has_canon else []),
        replace(
            _output_table(answer, failing, "failing", "Outputs that do not meet the contract"),
            terminal_rows=MAX_FAILING_OUTPUTS,
        ),
        *_distance_tables(prompts),
        *(
            replace(table, is_folded=True)
            for table in (
                _output_table(answer, [(prompt, each) for prompt in prompts for each in prompt.samples]),
                _metric_table("further", "Further metrics", measured, further),
                _interval_table(answer),
                _metric_table("stored", "Metrics of repaired outputs in the input", stored, metrics),
                _pair_table(answer),
                _missing_table(answer),
            )
        ),
    ]
    versions = [f"{each.normalization}, {each.oracle}, {each.distance}" for each in (it.versions for it in prompts)]
    sandboxes = sorted({prompt.isolation for prompt in prompts if prompt.isolation})
    made = pages.Page(
        name="repeatability",
        title="Are the outputs repeatable?",
        answer=_sentence(answer),
        table=_prompt_table(answer, shown),
        also=tuple(table for table in tables if table.rows),
        texts=tuple(
            pages.LongText(heading=f"Canon of {prompt.prompt}", text=prompt.canon.normalized)
            for prompt in prompts
            if prompt.canon
        ),
        facts=(
            ("profile", ", ".join(sorted({prompt.profile for prompt in prompts}))),
            ("near", f"up to a distance of {', '.join(sorted({f'{prompt.tau:g}' for prompt in prompts}))}"),
            ("normalization", ", ".join(sorted({prompt.level for prompt in prompts}))),
            *(("versions", each) for each in sorted(set(versions))),
            *([("sandbox", ", ".join(sandboxes))] if sandboxes else []),
            *((catalog()[name].title, " ".join(catalog()[name].doc.split())) for name in shown),
        ),
    )
    # For a single prompt, pairwise distances are more informative.
    figures = ["distances" if len(prompts) == 1 else "dots", *(["repair"] if has_canon else [])]
    return pages.with_figures(made, answer, figures, tall=False)


def _sentence(answer: Repeatability) -> str:
    """Return how many outputs meet the contract, and the share of the most common output."""
    verdicts = [sample.compliant_pre for prompt in answer.prompts for sample in prompt.samples]
    checked = [verdict for verdict in verdicts if verdict is not None]
    meeting = f"{sum(checked):,} of {len(checked):,} outputs meet the contract; " if checked else ""
    tried = [prompt for prompt in answer.prompts if prompt.n > 1 and prompt.metrics.get("r_raw") is not None]
    if not tried:
        return f"{meeting}no prompt has two outputs." if checked else "No prompt has two outputs."
    shares = sorted(share for prompt in tried if (share := prompt.metrics["r_raw"]) is not None)
    if len(tried) == 1:
        alone = len(answer.prompts) == 1
        whose = "" if alone else f" of {tried[0].prompt} (the only prompt with several)"
        of_all = f"{quantity(shares[0], 'fraction')} of {tried[0].n:,}"
        sentence = f"the most common output{whose} accounts for {of_all}."
        return meeting + (sentence if meeting else f"T{sentence.removeprefix('t')}")
    same, usual = sum(share == 1 for share in shares), quantity(median(shares), "fraction")
    always = f"{same:,} of {counted(len(tried), 'prompt')} gave identical outputs"
    return f"{meeting}{always}; median share of the most common output: {usual}."


def _prompt_table(answer: Repeatability, shown: Sequence[str]) -> PageTable:
    prompts = answer.prompts
    intervals = [prompt.intervals.get("r_raw") for prompt in prompts]
    interval = pages.Column(
        name="interval",
        title=interval_name(LEVEL),
        values=[None if each is None else each.low for each in intervals],
        decimals=6,
        texts=[pages.DASH if each is None else pages.range_text(each.low, each.high, "fraction") for each in intervals],
        spare=1,
    )
    values = {name: [prompt.metrics.get(name) for prompt in prompts] for name in (*shown, "unique_signatures")}
    first, *others = (replace(_metric(name, values[name]), spare=SPARED.get(name, 0)) for name in shown)
    outputs = [f"{each.n:,} of {each.asked:,}" if each.failed else f"{each.n:,}" for each in prompts]
    canons = [f"{each.canon.signature[:12]} ({each.canon.origin})" if each.canon else "no canon" for each in prompts]
    columns = (
        pages.id_column("prompt", "prompt", "repeatability", [prompt.prompt for prompt in prompts]),
        pages.Column(name="n", title="outputs", values=[each.n for each in prompts], decimals=0, texts=outputs),
        replace(_metric("unique_signatures", values["unique_signatures"]), title="distinct", spare=2),
        first,
        interval,
        *others,
        pages.Column(name="canon", title="canon", values=canons, spare=4),
    )
    return pages.PageTable(name="prompts", caption="Prompts", columns=columns)


def _metric_table(
    name: str, caption: str, prompts: Sequence[tuple[str, Mapping[str, float | None]]], names: Sequence[str]
) -> PageTable:
    """Return the metrics of prompts, without those that no prompt has."""
    values = {metric: [metrics.get(metric) for _, metrics in prompts] for metric in names}
    columns = [_metric(metric, each) for metric, each in values.items() if any(value is not None for value in each)]
    prompt = pages.text_column("prompt", "prompt", [prompt for prompt, _ in prompts])
    return pages.PageTable(name=name, caption=caption, columns=(prompt, *columns) if columns else ())


def _metric(name: str, values: Sequence[float | None]) -> Column:
    metric = catalog()[name]
    if name.startswith("delta_"):
        is_bare = metric.unit != "fraction"  # differences of fractions are percentage points
        texts = [difference_text(value, metric.unit, signed=True, bare=is_bare) for value in values]
    else:
        texts = [pages.number_text(value, metric.unit) for value in values]
    return pages.Column(name=name, title=metric.title, values=values, decimals=6, texts=texts)


def _output_table(
    answer: Repeatability,
    outputs: Sequence[tuple[PromptResult, OutputSample]],
    name: str = "outputs",
    caption: str = "Outputs",
) -> PageTable:
    """Return a row per output: its verdict, its distance to the canon, and how it was repaired."""
    rows = outputs[:MAX_ROWS]
    samples = [sample for _, sample in rows]
    links = [None if each.run is None else pages.id_path("runs", each.run) for each in samples]
    has_several = len(answer.prompts) > 1
    columns = [
        pages.text_column("prompt", "prompt", [prompt.prompt for prompt, _ in rows] if has_several else []),
        pages.count_column("sample", "output", [each.sample for each in samples]),
        pages.text_column("run", "source", [each.run for each in samples], links=links),
        pages.text_column("compliant_pre", "meets the contract", [_flag(each.compliant_pre) for each in samples]),
        pages.number_column("d_pre", "distance\nbefore repair", [each.d_pre for each in samples]),
        pages.number_column("d_post", "distance\nafter repair", [each.d_post for each in samples]),
        pages.text_column("reason", "reason", [each.reason for each in samples]),
        pages.text_column("compliant_post", "meets it\nafter repair", [_flag(each.compliant_post) for each in samples]),
        pages.text_column("steps", "repair steps", [", ".join(_steps(each)) for each in samples]),
        pages.text_column("repair_ended", "repair ended", [each.repair_ended for each in samples]),
        pages.text_column("marks", "marks", [", ".join(_marks(each)) for each in samples]),
    ]
    used = tuple(
        replace(each, spare=SPARED.get(each.name, 0))
        for each in columns
        if (name == "outputs" or each.name in OF_FAILING) and (each.is_number or any(each.values))
    )
    return pages.PageTable(name=name, caption=caption, columns=used, left_out=len(outputs) - len(rows))


def _flag(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _steps(sample: OutputSample) -> Iterator[str]:
    yield from (f"{each.step} ({decimal_bounds(each.before, each.after, decimals=3)})" for each in sample.steps)


def _marks(sample: OutputSample) -> Iterator[str]:
    yield from ["does not parse"] * sample.fell_back
    yield from ["distance is an upper bound"] * sample.approximate
    yield from ["repair stopped at the work budget"] * sample.repair_bound


def _interval_table(answer: Repeatability) -> PageTable:
    rows = [(prompt.prompt, name, each) for prompt in answer.prompts for name, each in prompt.intervals.items()]
    columns = (
        pages.text_column("prompt", "prompt", [prompt for prompt, *_ in rows]),
        pages.text_column("metric", "metric", [catalog()[name].title for _, name, _ in rows]),
        pages.level_column("estimate", "estimate", [each.estimate for *_, each in rows], "fraction"),
        pages.interval_column("interval", interval_name(LEVEL), [each for *_, each in rows], "fraction"),
        pages.text_column("method", "method", [each.method for *_, each in rows]),
    )
    return pages.PageTable(name="intervals", caption="Confidence intervals", columns=columns)


def _pair_table(answer: Repeatability) -> PageTable:
    pairs = [(prompt.prompt, pair) for prompt in answer.prompts for pair in prompt.pair_distances]
    rows = pairs[:MAX_ROWS]
    columns = (
        pages.text_column("prompt", "prompt", [prompt for prompt, _ in rows]),
        pages.count_column("sample", "output", [pair.sample for _, pair in rows]),
        pages.count_column("other", "other output", [pair.other for _, pair in rows]),
        pages.number_column("distance", "distance", [pair.distance for _, pair in rows]),
    )
    caption = "Pairs of distinct outputs before repair"
    return pages.PageTable(name="pairs", caption=caption, columns=columns, left_out=len(pairs) - len(rows))


def _missing_table(answer: Repeatability) -> PageTable:
    rows = [(prompt.prompt, name, reason) for prompt in answer.prompts for name, reason in prompt.reasons.items()]
    titles = ("prompt", "metric", "reason")
    columns = tuple(pages.text_column(title, title, [row[place] for row in rows]) for place, title in enumerate(titles))
    return pages.PageTable(name="missing", caption="Missing values", columns=columns)


def _distance_tables(prompts: Sequence[PromptResult]) -> Iterator[PageTable]:
    """Yield histograms of the distances to the canon, before and after repair."""
    if len(prompts) <= MAX_BARS:
        yield from (_distance_table(prompt) for prompt in prompts if prompt.canon is not None and prompt.samples)


def _distance_table(prompt: PromptResult) -> PageTable:
    before = _counts([sample.d_pre for sample in prompt.samples])
    after = _counts([sample.d_post for sample in prompt.samples])
    labels = ["0", *(f"{low:g}-{high:g}" for low, high in pairwise(EDGES))]
    longest = max(*before, *after)
    rows = [row for row in zip(labels, before, after, strict=True) if row[1] or row[2]]
    columns = (
        pages.text_column("distance", "distance", [label for label, *_ in rows]),
        pages.text_column("before", "before repair", [_bar("░", count, longest) for _, count, _ in rows]),
        pages.text_column("after", "after repair", [_bar("█", count, longest) for *_, count in rows]),
    )
    caption = f"Outputs by distance to the canon: {prompt.prompt} (n = {prompt.n}, tau = {prompt.tau:g})"
    return pages.PageTable(name=f"distances-{prompt.prompt}", caption=caption, columns=columns)


def _bar(mark: str, count: int, longest: int) -> str:
    return f"{mark * round(BAR * count / longest)} {count}".lstrip()


def _counts(distances: Sequence[float]) -> list[int]:
    """Count outputs at exactly 0, then per interval (upper end included)."""
    counts = [sum(distance == 0 for distance in distances)]
    for low, high in pairwise(EDGES):
        counts.append(sum(low < distance <= high for distance in distances))
    return counts
