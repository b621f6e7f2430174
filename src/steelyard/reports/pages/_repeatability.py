"""Page of repeatability: the outputs of each prompt compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.formatting import interval_name
from steelyard.metrics import catalog
from steelyard.pages import (
    Column,
    Page,
    PageTable,
    count_column,
    id_column,
    interval_text,
    number_text,
    text_column,
    with_figures,
)
from steelyard.reports._repeatability_tables import repeatability_sentence, shown_metrics
from steelyard.results import PromptResult, Repeatability


def repeatability_page(result: Repeatability) -> Page:
    """Return the page with one row per prompt."""
    prompts = result.prompts
    versions = sorted({tuple(sorted(prompt.versions.on_rows().items())) for prompt in prompts})
    shown = [name for name in shown_metrics(prompts) if any(prompt.metrics.get(name) is not None for prompt in prompts)]
    columns: tuple[Column, ...] = (
        id_column("prompt", "prompt", "repeatability", [prompt.prompt for prompt in prompts]),
        count_column("n", "outputs", [prompt.n for prompt in prompts]),
        count_column(
            "unique_signatures", "distinct", [_whole(prompt.metrics, "unique_signatures") for prompt in prompts]
        ),
        *_figures(prompts, shown),
    )
    if any(prompt.canon for prompt in prompts):
        origins = [prompt.canon.origin if prompt.canon else None for prompt in prompts]
        columns = (*columns, text_column("canon", "canon", origins))
    page = Page(
        name="repeatability",
        title="Are the outputs repeatable?",
        answer=repeatability_sentence(result),
        legend=tuple(f"{catalog()[name].title}: {' '.join(catalog()[name].doc.split())}" for name in shown),
        table=PageTable(caption="Prompts", columns=columns),
        facts=(
            ("profile", ", ".join(sorted({prompt.profile for prompt in prompts}))),
            ("near", f"up to a distance of {', '.join(sorted({f'{prompt.tau:g}' for prompt in prompts}))}"),
            *(("versions", ", ".join(version for _, version in each)) for each in versions),
        ),
    )
    # For a single prompt, pairwise distances are more informative.
    names = ["distances" if len(prompts) == 1 else "dots"]
    names += ["repair"] if any(prompt.canon for prompt in prompts) else []
    return with_figures(page, result, names, tall=False)


def _figures(prompts: Sequence[PromptResult], shown: Sequence[str]) -> Iterator[Column]:
    for name in shown:
        metric = catalog()[name]
        values = [prompt.metrics.get(name) for prompt in prompts]
        texts = [number_text(value, metric.unit) for value in values]
        yield Column(name=name, title=metric.title, values=values, decimals=6, texts=texts)
        if name == "r_raw":
            intervals = [prompt.intervals.get(name, {}) for prompt in prompts]
            lows = [interval.get("low") for interval in intervals]
            texts = [interval_text(interval.get("low"), interval.get("high"), metric.unit) for interval in intervals]
            yield Column(name="interval", title=interval_name(0.95), values=lows, decimals=6, texts=texts)


def _whole(metrics: dict[str, float | None], name: str) -> int | None:
    value = metrics.get(name)
    return None if value is None else int(value)
