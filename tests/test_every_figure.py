"""Laws that every kind of figure keeps, whatever the numbers and names."""

from __future__ import annotations

import math
import re
from datetime import date, timedelta

import pytest
from hypothesis import example, given, settings, strategies as st

from figure_cases import CASES, HOSTILE, Numbers, kinds, valued_heatmap
from figure_laws import SHAPES, breaches, elements, has_title, shown_text, tag
from steelyard import figures
from steelyard.figures import Figure, PassCell, PricedEstimate

PLAIN = ("ant/large", "bee/small", "cat", "a-rather-long-name-of-an-agent/with-a-model-2026-11", "dog", "elk", "gnu")
NUMBERS: dict[str, Numbers] = {
    "none": [],
    "one": [0.4],
    "two": [0.2, 0.9],
    "many": [index / 499 for index in range(500)],
    "all equal": [0.5] * 6,
    "all zero": [0.0] * 6,
    "all missing": [None] * 6,
    "some missing": [None, 0.3, None, 0.8],
    "huge": [1e300, 1.7e308, 0.5],
    "hugely apart": [-1.7e308, 1.7e308, 1e-300],
    "infinite": [math.inf, -math.inf, 0.5],
    "all infinite": [math.inf] * 3,
    "tiny": [5e-324, 1e-300, 1e-12],
    "negative": [-3.0, -0.2, -1e9],
    "not numbers": [math.nan, 0.5],
    "past the bounds": [-4.0, 0.5, 70.0],
    "almost equal": [1.0, 1.0 + 1e-15, 1.0],
}


def test_every_kind_has_a_case() -> None:
    assert sorted(kinds()) == sorted(CASES)


@pytest.mark.parametrize("width", [720, 390, 240])
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("kind", CASES)
def test_a_figure_of_any_numbers_keeps_the_laws(kind: str, numbers: str, width: int) -> None:
    assert breaches(CASES[kind](NUMBERS[numbers], PLAIN, width)) == []


@pytest.mark.parametrize("width", [720, 240])
@pytest.mark.parametrize("numbers", NUMBERS)
def test_a_heatmap_of_values_keeps_the_laws(numbers: str, width: int) -> None:
    for names in (PLAIN, HOSTILE):
        assert breaches(valued_heatmap(NUMBERS[numbers], names, width)) == []


@pytest.mark.parametrize("width", [720, 240])
@pytest.mark.parametrize("kind", CASES)
def test_hostile_names_stay_text_inside_the_frame(kind: str, width: int) -> None:
    for offset in range(len(HOSTILE)):
        names = HOSTILE[offset:] + HOSTILE[:offset]
        figure = CASES[kind]([0.1 * index for index in range(12)], names, width)
        assert breaches(figure) == []
        for element, _ in elements(figure, alone=True):
            assert tag(element) in {*SHAPES, "svg", "g", "text", "title", "desc", "style", "defs", "pattern"}
            assert shown_text(element).isprintable()
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ud800-\udfff]", figure.svg)


@settings(max_examples=80)
@example(kind="histogram", numbers=[0.0, 6.103515625e-05], names=[""], width=0)  # no room on either side of the median
@given(
    kind=st.sampled_from(sorted(CASES)),
    numbers=st.lists(st.none() | st.floats(), max_size=12),
    names=st.lists(st.text(max_size=60), min_size=1, max_size=4),
    width=st.integers(0, 2000),
)
def test_a_figure_of_anything_keeps_the_laws(
    kind: str, numbers: list[float | None], names: list[str], width: int
) -> None:
    assert breaches(CASES[kind](numbers, names, width)) == []


@pytest.mark.parametrize("kind", CASES)
def test_a_figure_is_the_same_bytes_every_time(kind: str) -> None:
    first, second = (CASES[kind](NUMBERS["many"], PLAIN, 720) for _ in range(2))
    assert first.svg == second.svg
    assert first.inline == second.inline


@pytest.mark.parametrize("kind", CASES)
def test_figures_of_one_page_share_no_id(kind: str) -> None:
    drawn = [
        CASES[kind](numbers, PLAIN, 720).inline for numbers in (NUMBERS["past the bounds"], NUMBERS["some missing"])
    ]
    ids = [re.findall(r' id="([^"]+)"', each) for each in drawn]
    assert all(ids)
    assert not set(ids[0]) & set(ids[1])
    for each, own in zip(drawn, ids, strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", each)) <= set(own)


@pytest.mark.parametrize("kind", CASES)
def test_every_look_is_in_the_style_sheet_and_in_the_file_itself(kind: str) -> None:
    figure = CASES[kind](NUMBERS["some missing"], PLAIN, 720)
    looks = set(re.findall(r'class="(sy-[\w-]+)"', figure.inline)) - {"sy-frame"}
    assert all(f".{look}{{" in figures.STYLE for look in looks)
    assert "<style" not in figure.inline
    for element, above in elements(figure, alone=True):
        if tag(element) in {*SHAPES, "text"} and not any(tag(parent) == "pattern" for parent in above):
            inherited = [parent.get("fill") for parent in (element, *above)]
            assert any(inherited), "a renderer without styles would draw it black"


def test_a_cut_name_has_the_whole_in_its_title() -> None:
    figure = CASES["dots"]([0.5], ("x" * 400,), 390)
    texts = [element for element, _ in elements(figure) if tag(element) == "text" and "…" in shown_text(element)]
    assert texts
    assert all(has_title(element) and element[0].text == "x" * 400 for element in texts)


@pytest.mark.parametrize(("tasks", "most"), [(300, 120), (150, 120), (40, 140)], ids=["3,000", "1,500", "with counts"])
def test_a_heatmap_is_small_for_each_of_its_cells(tasks: int, most: int) -> None:
    agents = [f"agent-number-{index}/model-{index}" for index in range(10)]
    names = [f"a-task-with-a-rather-long-name-{index}" for index in range(tasks)]
    cells = [[PassCell((row + column) % 6, 5) if row % 7 else None for column in range(10)] for row in range(tasks)]
    figure = figures.heatmap(names, agents, cells, title="Tasks by agents")
    squares = [element for element, _ in elements(figure) if tag(element) == "path" and has_title(element)]
    assert len(squares) == 10 * tasks + 1  # the key shows what hatched means
    assert len(figure.inline.encode()) <= most * 10 * tasks


def test_past_the_most_cells_tasks_are_grouped_by_category_or_difficulty() -> None:
    cells = [[PassCell(row % 2, 1)] * 10 for row in range(400)]
    tasks, agents = [f"t{row}" for row in range(400)], [f"a{column}" for column in range(10)]
    by_difficulty = figures.heatmap(tasks, agents, cells, title="t")
    assert "no run (200)" in by_difficulty.inline  # the even rows
    assert "every run (200)" in by_difficulty.inline
    categories = ["web" if row < 100 else "data" for row in range(400)]
    by_category = figures.heatmap(tasks, agents, cells, title="t", categories=categories)
    assert "web (100)" in by_category.inline
    assert "50/100" in by_category.inline  # half of the 100 runs of each agent passed


def test_an_axis_ends_where_the_metric_does() -> None:
    figure = CASES["dots"]([0.4, 0.5], PLAIN, 720)
    ticks = [shown_text(element) for element, _ in elements(figure) if element.get("class") == "sy-tick"]
    assert "0%" in ticks
    assert "100%" in ticks


def test_a_logarithmic_axis_says_so_and_is_linear_where_a_value_is_not_above_0() -> None:
    priced, free = (CASES["pareto"](numbers, PLAIN, 720).inline for numbers in ([0.5, 2.0], [0.0, 2.0]))
    assert "log scale" in priced
    assert "log scale" not in free


def test_unknown_is_drawn_apart_and_not_as_zero() -> None:
    figure = CASES["pareto"]([0.4, None, 0.6], PLAIN, 720)  # the second has neither score nor cost
    assert "url(#" not in figure.inline
    assert "bee" not in figure.inline
    unpriced = figures.pareto(
        [PricedEstimate(label="elk", value=0.3, cost=None), PricedEstimate(label="dog", value=0.4, cost=2.0)],
        title="t",
        quality=figures.Axis(title="q"),
        cost=figures.Axis(title="c", log=True),
    )
    assert "cost unknown: 1" in unpriced.inline
    assert "elk: 0.300, cost unknown" in unpriced.inline
    assert "unknown" in CASES["dots"]([None], PLAIN, 720).inline


def test_a_law_notices_what_is_outside() -> None:
    figure = CASES["dots"]([0.4], PLAIN, 720)
    narrow = Figure(
        name=figure.name,
        title=figure.title,
        description=figure.description,
        width=300,
        height=figure.height,
        marks=figure.marks,
    )
    assert any("is outside" in each for each in breaches(narrow))


@pytest.mark.parametrize(
    ("length", "models", "title", "bars"),
    [
        (16, 4, "Cost by day and model", 16),
        (31, 2, "Cost by day and model", 31),
        (70, 6, "Cost by week and model", 10),
    ],
)
def test_a_month_is_drawn_by_the_day_and_a_bar_of_a_week_is_called_one(
    length: int, models: int, title: str, bars: int
) -> None:
    kinds = [f"model {number}" for number in range(models)]
    amounts = [
        figures.DayAmount(date(2026, 1, 1) + timedelta(days=day), 1.0, kind=kind)
        for day in range(length)
        for kind in kinds
    ]
    axis = figures.Axis(title="Cost, USD", unit="USD")
    figure = figures.days(amounts, title="Cost", by="model", axis=axis, kinds=kinds)
    assert figure.title == title
    drawn = [element.get("x") for element, _ in elements(figure) if tag(element) == "rect" and len(element)]
    assert len(set(drawn[len(kinds) :])) == bars  # the key comes first


@pytest.mark.parametrize("width", [240, 390, 720, 1100])
def test_ticks_of_a_waterfall_are_whole_doublings(width: int) -> None:
    bars = [figures.BenchmarkRatio("b", speedup) for speedup in (0.6, 1.2, 1.9)]
    ticks = [shown_text(element) for element, _ in elements(figures.waterfall(bars, title="t", width=width))]
    assert [text for text in ticks if text.endswith("x")][:3] == ["0.5x", "1x", "2x"]
    assert "0.7071x" not in ticks


@pytest.mark.parametrize("kind", ["dots", "waterfall"])
def test_the_zero_line_of_a_narrow_figure_crosses_no_name(kind: str) -> None:
    figure = CASES[kind]([0.5, 2.0, 0.1], ("a-rather-long-name-of-a-benchmark",) * 3, 390)
    every = [element for element, _ in elements(figure)]
    names = [float(each.get("y", "0")) for each in every if shown_text(each).startswith("a-rather") and each.get("x")]
    for element in every:
        if element.get("class") == "sy-axis":
            top, bottom = (float(part.split()[1]) for part in element.get("d", "")[1:].split("L"))
            assert not [y for y in names[1:] if top < y - 4 < bottom]


@pytest.mark.parametrize("kind", CASES)
def test_a_figure_for_a_desk_and_for_a_phone_share_no_id_though_both_are_empty(kind: str) -> None:
    ids = [
        {element.get("id") for element, _ in elements(CASES[kind]([], PLAIN, width)) if element.get("id")}
        for width in (720, 390)
    ]
    assert ids[0].isdisjoint(ids[1])
