"""Pages as HTML: one file with one style and one script, which makes no requests.

`text()` is the only way for a text into a page. Markup is ours, texts are foreign.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from html import escape, unescape
from pathlib import Path
from urllib.parse import urlencode

from steelyard.figures import STYLE, Figure
from steelyard.pages._page import DASH, Column, Facts, LongText, Page, PageLink, PageTable, Ref
from steelyard.plain_text import clean

PLAIN_ROWS = 100
"""Rows in the page itself, for readers without JavaScript; smaller tables are complete."""
PLAIN_ROWS_FURTHER, PLAIN_ROWS_FOLDED = 20, 5
"""The same for a table after the main one, and for one that readers unfold."""
MAX_CELL_LENGTH = 300
"""Characters of a text in a table, a fact or a heading: what is longer is cut in its middle."""
MAX_LINK_LENGTH = 16_000
"""Characters of a link: one that is cut leads nowhere."""
SHORT = 28
"""Characters of a text that is not broken into lines."""
ASSETS = Path(__file__).parent / "assets"


def text(value: str, *, longest: int = MAX_CELL_LENGTH) -> str:
    r"""The text as a page may hold it, in an element or between the quotes of an attribute.

    Terminal escapes are gone, invisible characters are shown, markup is escaped, and what is long is cut in its middle.

    >>> text('<b onload="x">\x1b[31m\u202e')
    '&lt;b onload=&quot;x&quot;&gt;\\u202e'
    """
    shown = clean(value if len(value) <= 4 * longest else value[: 2 * longest] + value[-2 * longest :])
    if len(shown) > longest:
        shown = f"{shown[: longest * 2 // 3]} … {shown[-(longest // 4) :]}"
    return escape(shown)


def document(page: Page) -> str:
    """Return the page as one HTML file; one with parts begins with its answer and ends with its facts."""
    style, script = page_style(), page_asset("steel-table.js")
    links = "".join(f'<li><a href="#{part.name}">{part.name.capitalize()}</a></li>' for part in page.parts)
    # the answer of the whole is that of a part
    shown = [part if part.answer != page.answer else replace(part, answer="") for part in page.parts]
    body = "".join(map(page_html, shown)) if page.parts else page_html(page, heading="h1")
    header, footer = "", ""
    if page.parts:
        counts = "".join(f'<p class="counts">{text(note)}</p>\n' for note in page.notes)
        header = (
            f"<header>\n<h1>{text(page.title)}</h1>\n"
            f'<p class="lead">{text(page.answer, longest=600)}</p>\n{counts}'
            f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n</header>\n'
        )
        footer = f"<footer>\n<h2>Inputs and methods</h2>\n{_facts(page.facts)}</footer>\n"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n'
        f"<title>{text(page.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"{header}<main>\n{body}</main>\n{footer}<script>{script}</script>\n</body>\n</html>\n"
    )


def page_html(page: Page, *, heading: str = "h2", table: str | None = None, base: str | None = None) -> str:
    """One page as a section; a dashboard brings its table as it has it, and links lead on below `base`."""
    if table is None:
        table = table_html(page.table, name=f"{page.name}-table", base=base) if page.table is not None else ""
    return (
        f'<section id="{page.name}" aria-labelledby="{page.name}-title">\n'
        f'<{heading} id="{page.name}-title">{text(page.title)}</{heading}>\n'
        + (f'<p class="answer">{text(page.answer, longest=600)}</p>\n' if page.answer else "")
        + _sentences(page.notes)
        + ("" if base is None else _links((*page.links, *map(_linked, page.refs)), base))
        + _figures(page.figures, "wide" if page.narrow_figures else "")
        + _figures(page.narrow_figures, "narrow")
        + table
        + _sentences((*page.legend, *(page.table.legends if page.table is not None else ())), "legend")
        + "".join(_further_table(page, each, base) for each in page.also)
        + _sentences(page.details)
        + "".join(_folded(long_text) for long_text in page.texts)
        + _facts(page.facts)
        + "</section>\n"
    )


def _further_table(page: Page, table: PageTable, base: str | None) -> str:
    plain_rows = PLAIN_ROWS_FOLDED if table.is_folded else PLAIN_ROWS_FURTHER
    made = table_html(table, name=f"{page.name}-{table.name}", base=base, plain_rows=plain_rows)
    made += _sentences(table.legends, "legend")
    return f"<details><summary>{text(table.caption)}</summary>\n{made}</details>\n" if table.is_folded else made


def _sentences(sentences: Sequence[str], look: str = "notes") -> str:
    items = "".join(f"<li>{text(sentence, longest=600)}</li>" for sentence in sentences)
    return f'<ul class="{look}">{items}</ul>\n' if items else ""


def _linked(ref: Ref) -> PageLink:
    return PageLink(ref.text, f"/{ref.question}?{urlencode(ref.options, errors='replace')}".removesuffix("?"))


def _links(links: Sequence[PageLink], base: str) -> str:
    items = "".join(
        f'<li><a href="{text(base + link.path, longest=MAX_LINK_LENGTH)}"'
        + (f' rel="{link.relation}"' if link.relation else "")
        + f">{text(link.text)}</a></li>"
        for link in links
    )
    return f'<ul class="links">{items}</ul>\n' if items else ""


def table_html(table: PageTable, *, name: str, base: str | None = None, plain_rows: int = PLAIN_ROWS) -> str:
    """The table as an element that sorts and filters itself; without JavaScript it shows its first rows.

    On a dashboard, links lead on below `base`.
    """
    shown = min(table.rows, plain_rows)
    compressed = table.rows > shown
    table = table.in_words if compressed else table  # what is compressed is words and numbers
    head = "".join(_heading(column) for column in table.columns)
    body = "".join(
        f"<tr>{row_cells(table.columns, row, base=base, has_values=not compressed)}</tr>\n" for row in range(shown)
    )
    more = ""
    if table.rows > shown:
        more = f'<p class="more first">The first {shown:,} of {table.rows:,} rows; enable JavaScript to show all.</p>\n'
    if table.left_out:
        total = table.rows + table.left_out
        more += f'<p class="more">{table.left_out:,} of {total:,} rows are not in this file.</p>\n'
    data = f'<script type="application/octet-stream">{_compressed(table)}</script>\n' if compressed else ""
    caption = text(table.caption)
    return (
        f'<steel-table id="{name}" label="{caption}">\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">\n<table><caption>{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>{_foot(table)}</table>\n</div>\n{more}{data}</steel-table>\n"
    )


def _foot(table: PageTable) -> str:
    if not table.has_foot:
        return ""
    cells = "".join(
        f"<td{_classes(n=column.is_number, missing=column.foot in (DASH, ''))}>{text(_line(column.foot))}</td>"
        for column in table.columns
    )
    return f"\n<tfoot><tr>{cells}</tr></tfoot>"


def _classes(**looks: bool) -> str:
    names = " ".join(look for look, holds in looks.items() if holds)
    return f' class="{names}"' if names else ""


def notebook_html(page: Page) -> str:
    """Return the page for a notebook: without scripts and links, with the first rows of long tables."""
    return (
        f"<section><h3>{text(page.title)}</h3>\n"
        + (f"<p>{text(page.answer, longest=600)}</p>\n" if page.answer else "")
        + _sentences(page.notes)
        + "".join(f"<div>{figure.svg}</div>\n" for figure in page.figures)
        + "".join(map(_notebook_table, page.tables))
        + _sentences((*page.legend, *page.details))
        + "".join(map(_folded, page.texts))
        + _facts(page.facts)
        + "".join(map(notebook_html, page.parts))
        + "</section>\n"
    )


def _notebook_table(table: PageTable) -> str:
    columns = table.in_words.columns
    shown = min(table.rows, PLAIN_ROWS)
    more = table.rows - shown + table.left_out
    caption = table.caption + (f"; {more:,} more rows" if more else "")
    head = "".join(f"<th>{text(_line(column.title, ' '))}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{text(_line(column.shown(row)))}</td>" for column in columns) + "</tr>"
        for row in range(shown)
    )
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{_foot(table)}"
    made = f"<table><caption>{text(caption)}</caption>{rows}</table>\n{_sentences(table.legends)}"
    return f"<details><summary>{text(table.caption)}</summary>\n{made}</details>\n" if table.is_folded else made


def _line(several: str, between: str = ", ") -> str:
    """Return a text of several lines, as a terminal has it, on one line."""
    return several.replace("\n", between) if "\n" in several else several


def _heading(column: Column) -> str:
    number = ' class="n"' if column.is_number else ""
    name = f' data-name="{text(column.name)}"' if column.dots is None else ""
    return f'<th scope="col"{number}{name}>{text(_line(column.title, " "))}</th>'


def row_cells(columns: Sequence[Column], row: int, *, base: str | None = None, has_values: bool = True) -> str:
    """The cells of a row; on a dashboard, links lead on below `base`.

    `has_values`: with the numbers themselves, for a script that orders the rows.
    """
    return "".join(_cell(column, row, base=base, has_values=has_values) for column in columns)


def _cell(column: Column, row: int, *, base: str | None, has_values: bool) -> str:
    value = column.values[row]
    shown = _line(column.shown(row) if base is None or column.brief is None else column.brief[row])
    classes = _classes(
        n=column.is_number,
        long=not column.is_number and len(shown) > SHORT,
        missing=value is None or value == DASH,
    )
    known = ""
    if has_values and column.is_number and isinstance(value, (int, float)):
        known = f' data-v="{_number(value)}"'
    inside = text(shown) if column.dots is None else _small_dots(column.dots[row])
    if base is not None and column.links is not None and (link := column.links[row]) is not None:
        inside = f'<a href="{text(base + link, longest=MAX_LINK_LENGTH)}">{inside}</a>'
    return f"<td{classes}{known}>{inside}</td>"


def _small_dots(numbers: Sequence[float]) -> str:
    """A few numbers from 0 to 100 on a line of their own, as small as a row."""
    places = "".join(f"M{number:.3g} 6h0" for number in numbers)
    return f'<svg class="dots" viewBox="-4 0 108 12" aria-hidden="true"><path d="{places}"/></svg>'


def _number(value: float) -> str:
    """A number that both JSON and JavaScript read; infinity is one too large to be another."""
    return repr(value).replace("inf", "1e999")


def _compressed(table: PageTable) -> str:
    """All rows, column by column, compressed."""
    columns = ",".join(_compressed_column(column) for column in table.columns)
    # a gzip stream without the time of day; digits hardly repeat, which this strategy is for
    stream = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS, 9, zlib.Z_FILTERED)
    compressed = stream.compress(f'{{"count":{table.rows},"columns":[{columns}]}}'.encode()) + stream.flush()
    return base64.b64encode(compressed).decode()


def _compressed_column(column: Column) -> str:
    parts = []
    if column.is_number:
        scaled = ",".join(_scaled(value, column.decimals or 0) for value in column.values)
        parts.append(f'"decimals":{column.decimals},"scaled":[{scaled}]')
    if not column.is_number or column.texts is not None:
        places: dict[str, int] = {}
        cells = column.values if column.texts is None else column.texts
        rows = [-1 if cell is None else places.setdefault(_line(str(cell)), len(places)) for cell in cells]
        parts.append(f'"words":{_json([_plain(word) for word in places])}')
        if rows != list(range(len(rows))):  # the numbers of words that all differ need no telling
            parts.append(f'"rows":{_json(rows)}')
    return "{" + ",".join(parts) + "}"


def _json(values: list[str] | list[int]) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _scaled(value: str | float | None, decimals: int) -> str:
    """The number as it is shown, without its point: a tenth shorter when all are compressed."""
    if value is None or isinstance(value, str):
        return "null"
    return _number(value) if math.isinf(value) else str(int(f"{value:.{decimals}f}".replace(".", "")))


def _plain(word: str) -> str:
    """A text as `text()` shows it, not as markup: the script puts it into text nodes."""
    return unescape(text(word))


def _figures(figures: Sequence[Figure], look: str) -> str:
    if not figures:
        return ""
    drawn = "".join(f"<figure>{figure.inline}</figure>\n" for figure in figures)
    return f'<div class="{" ".join(filter(None, ("figures", look)))}">\n{drawn}</div>\n'


def _folded(long_text: LongText) -> str:
    lines = "\n".join(escape(clean(line.expandtabs(4))) for line in long_text.text.splitlines())
    heading = text(long_text.heading)
    shown = f'<summary>{heading}</summary><pre tabindex="0" aria-label="{heading}">{lines}</pre>'
    return f"<details{' open' if long_text.is_open else ''}>{shown}</details>\n"


def _facts(facts: Facts) -> str:
    if not facts:
        return ""
    return f'<dl class="facts">{"".join(_fact(label, fact) for label, fact in facts)}</dl>\n'


def _fact(label: str, fact: str) -> str:
    is_command = label == "command"
    shown = text(fact, longest=2_000)
    look = ' class="line"' if is_command else ""
    return f"<div{look}><dt>{text(label)}</dt><dd>{f'<code>{shown}</code>' if is_command else shown}</dd></div>"


@cache
def page_asset(name: str) -> str:
    """A file that pages load."""
    return (ASSETS / name).read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """What every page looks like."""
    return page_asset("steel.css") + STYLE


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
