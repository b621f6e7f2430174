"""Price tables in TOML files: the built-in one and the user's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from steelyard.errors import InputLimitError, PriceTableError, SteelyardError, UnknownNameError
from steelyard.prices import PriceTable, open_price_table, price_table_names
from steelyard.records import Missing, Usage

MILLION_EACH = Usage(input_tokens=1_000_000, output_tokens=1_000_000)
JUNE = datetime(2026, 6, 1, tzinfo=UTC)

OURS = """
format = 1
version = "2026-11-01"

[models."house-model"]
aliases = ["House-7B"]

[[models."house-model".prices]]
usd_per_million = { input = 1.5, output = 6, cache_read = 0.15, reasoning = 7 }

[[models."house-model".prices]]
above_input_tokens = 200_000
usd_per_million = { input = 3, output = 12, cache_read = 0.3 }

[[models."house-model".prices]]
since = 2026-03-01
usd_per_million = { input = 1, output = 5 }
"""


def price_table_from(text: str, folder: Path) -> PriceTable:
    path = folder / "ours.toml"
    path.write_text(text, encoding="utf-8")
    return open_price_table(str(path))


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("claude-opus-4-5", 90.0),  # 15 + 75
        ("claude-opus-4-5-20251101", 90.0),
        ("Claude Opus 4.5", 90.0),
        ("claude-sonnet-4", 18.0),  # 3 + 15
        ("claude-sonnet-4-20250514", 18.0),
        ("gpt-4o", 20.0),  # 5 + 15
        ("GPT-4o", 20.0),
    ],
)
def test_the_seed_book_has_the_prices_of_the_outcome_specification(model: str, cost: float) -> None:
    assert open_price_table("spec").price(MILLION_EACH, model=model, at=None) == cost
    assert open_price_table("spec").price(MILLION_EACH, model=model, at=JUNE) == cost


def test_the_seed_book_does_not_guess_a_cache_price() -> None:
    usage = Usage(input_tokens=10, output_tokens=10, cache_read_tokens=1)
    answer = open_price_table("spec").price(usage, model="gpt-4o", at=None)
    assert answer == Missing("the price table has no price for cache read tokens of gpt-4o")
    unused = Usage(input_tokens=10, output_tokens=10, cache_read_tokens=0)
    assert open_price_table("spec").price(unused, model="gpt-4o", at=None) == 0.0002  # 10 x 5 + 10 x 15 per million


def test_the_books_that_ship_are_named_and_open() -> None:
    assert price_table_names() == ("genai-prices", "spec")
    for name in price_table_names():
        assert open_price_table(name).name == name
        assert open_price_table(name).version


def test_reasoning_is_priced_as_output() -> None:
    usage = Usage(input_tokens=0, output_tokens=100_000, reasoning_tokens=200_000)
    assert open_price_table("spec").price(usage, model="claude-sonnet-4", at=None) == 4.5  # 300,000 x 15 per million


def test_an_unknown_book_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'genai-prices'"):
        open_price_table("genai-price")


def test_a_book_of_ones_own_has_days_and_context_sizes(tmp_path: Path) -> None:
    price_table = price_table_from(OURS, tmp_path)
    assert (price_table.name, price_table.version) == ("ours", "2026-11-01")
    before, after = datetime(2026, 2, 28, 23, 59, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    small = Usage(input_tokens=100_000, output_tokens=0)
    large = Usage(input_tokens=100_000, cache_read_tokens=100_001, output_tokens=0)
    assert price_table.price(small, model="house-model", at=before) == 0.15  # 0.1 M x 1.5
    assert price_table.price(small, model="house-7b", at=after) == 0.1  # 0.1 M x 1
    assert price_table.price(large, model="house-model", at=before) == 0.3300003  # 0.1 M x 3 + 0.100001 M x 0.3
    assert isinstance(price_table.price(large, model="house-model", at=after), Missing)  # no cache price since March
    thought = Usage(input_tokens=0, output_tokens=0, reasoning_tokens=1_000_000)
    assert price_table.price(thought, model="house-model", at=before) == 7.0


def test_before_the_first_dated_price_there_is_none(tmp_path: Path) -> None:
    text = """
    format = 1
    version = "1"
    [[models.m.prices]]
    since = 2026-03-01
    usd_per_million = { input = 1, output = 5 }
    """
    price_table = price_table_from(text, tmp_path)
    assert price_table.price(MILLION_EACH, model="m", at=JUNE) == 6.0
    early = price_table.price(MILLION_EACH, model="m", at=datetime(2026, 2, 28, tzinfo=UTC))
    assert early == Missing("the price table has no token prices for m on that day")


def test_a_book_overrides_the_one_it_extends_and_leaves_the_rest(tmp_path: Path) -> None:
    text = """
    format = 1
    version = "contract 7"
    extends = "genai-prices"
    [models."gpt-4o"]
    usd_per_million = { input = 1, output = 2 }
    """
    price_table = price_table_from(text, tmp_path)
    assert price_table.price(MILLION_EACH, model="gpt-4o", at=JUNE) == 3.0
    assert price_table.price(MILLION_EACH, model="claude-opus-4-5", at=JUNE) == 30.0  # 5 + 25 of the genai-prices table
    uneven = Usage(input_tokens=0, output_tokens=0, cache_write_5m_tokens=3)
    model = "openrouter/google/gemini-2.5-flash"
    assert price_table.price(uneven, model=model, at=JUNE) == open_price_table().price(uneven, model=model, at=JUNE)
    assert price_table.version.startswith("contract 7 over genai-prices (")
    unknown = price_table.price(MILLION_EACH, model="gpt-4oo", at=JUNE)
    assert isinstance(unknown, Missing)
    assert "'gpt-4o'" in unknown.reason


def test_a_book_can_extend_a_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(
        'format = 1\nversion = "b"\n[models.x]\nusd_per_million = {input = 1, output = 1}\n'
    )
    price_table = price_table_from('format = 1\nversion = "a"\nextends = "base.toml"\n', tmp_path)
    assert price_table.price(MILLION_EACH, model="x", at=None) == 2.0


def test_books_that_extend_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PriceTableError, match="circular"):
        price_table_from('format = 1\nversion = "a"\nextends = "ours.toml"\n', tmp_path)


def test_a_book_that_extends_an_unknown_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'spec'"):
        price_table_from('format = 1\nversion = "a"\nextends = "specs"\n', tmp_path)


PRICES = "usd_per_million = {input = 1, output = 1}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("format = 1\n", "version"),
        ('format = 2\nversion = "1"\n', "unknown format 2"),
        ('format = 1\nversion = "1"\nmodel = 3\n', "unknown field `model`"),
        ('format = 1\nversion = "1"\n[models.m]\n', "either usd_per_million or prices"),
        ('format = 1\nversion = "1"\n[models.m]\nusd_per_million = {input = 1}\n', "output"),
        ('format = 1\nversion = "1"\n[models.m]\nusd_per_million = {input = -1, output = 1}\n', "must be between 0"),
        ('format = 1\nversion = "1"\n[models.m]\nusd_per_million = {input = nan, output = 1}\n', "must be between 0"),
        ('format = 1\nversion = "1"\n[models.m]\nusd_per_million = {input = inf, output = 1}\n', "must be between 0"),
        ('format = 1\nversion = "1"\n[models.m]\nusd_per_million = {input = 1e-7, output = 1}\n', "at most 6 decimals"),
        (
            'format = 1\nversion = "1"\n[models.m]\nusd_per_million = {input = 1e99999999999999999999, output = 1}\n',
            "range",
        ),
        ('format = 1\nversion = "1"\n[models.m]\nusd_per_million = {inptu = 1, output = 1}\n', "inptu"),
        (f'format = 1\nversion = "1"\n[models.m]\n{PRICES}\n[models.M]\n{PRICES}\n', "duplicate model name"),
        (f'format = 1\nversion = "1"\n[[models.m.prices]]\nabove_input_tokens = 5\n{PRICES}\n', "smallest calls"),
        (f'format = 1\nversion = "1"\n[[models.m.prices]]\n{PRICES}\n[[models.m.prices]]\n{PRICES}\n', "two prices"),
        ("format = ", "Invalid"),
    ],
)
def test_a_bad_book_is_refused_with_its_place_and_reason(text: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(PriceTableError) as caught:
        price_table_from(text, tmp_path)
    assert problem in caught.value.message
    assert "ours.toml" in (caught.value.where or "")


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PriceTableError, match="No such file"):
        open_price_table(str(tmp_path / "gone.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PriceTableError, match="UTF-8"):
        open_price_table(str(tmp_path / "binary.toml"))


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.toml"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(InputLimitError, match="larger than 16,777,216 bytes"):
        open_price_table(str(path))


NESTED = ["[" * 5_000, "a." * 300 + "a = 1", "a." * 3_000 + "a = 1", "a = " + "[" * 990, "a = " + "[\n" * 50_000]


@settings(deadline=None)
@given(text=st.text(max_size=200) | st.sampled_from(NESTED))
def test_no_text_breaks_the_reader(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    with pytest.raises(SteelyardError):
        price_table_from(text, folder)


@pytest.mark.checkout
def test_the_book_shown_in_the_documentation_can_be_used(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "prices.md").read_text(encoding="utf-8")
    text = page.split("```toml\n")[1].split("```")[0]
    price_table = price_table_from(text, tmp_path)
    assert price_table.price(MILLION_EACH, model="gpt-4o", at=JUNE) == 10.0  # 2 + 8
    assert price_table.price(MILLION_EACH, model="vllm/house-coder", at=JUNE) == 3.0  # above 128,000: 0.60 + 2.40
    assert price_table.price(MILLION_EACH, model="house-coder", at=datetime(2026, 9, 1, tzinfo=UTC)) == 1.25  # 0.25 + 1
    assert price_table.price(MILLION_EACH, model="claude-opus-4-5", at=JUNE) == 30.0  # of the genai-prices table
