"""A page on the dashboard: the page itself in a frame with navigation, its view as a form, and rows from the server.

Everything works without JavaScript: links, a form and radio buttons make every view; the script adds keys, rows that
come by themselves, and news.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from steelyard.pages import MAX_LINK_LENGTH, Column, Page, PageTable, page_html, row_cells, table_html, text

API = "/api/v1"
_ASKED = (
    '<label>Token <input name="token" type="password" autocomplete="off" spellcheck="false" required></label>\n'
    "<p>The token stays in this tab until you close it. It is sent only to this server, in a header, and never appears "
    "in a URL or cookie.</p>\n"
)
EXAMPLE = '{"task_id": "TASK", "total_tokens": 20000, "tool_calls": 12, "agent": "...", "model": "..."}'


def submit_form(base: str) -> str:
    """Return the form for submissions as JSON, pasted or from a file."""
    fields = (
        f'<label>Submissions <textarea name="submissions" spellcheck="false" placeholder="{text(EXAMPLE)}"></textarea>'
        "</label>\n<p>Paste a submission as JSON, or several with one per line, or drop a file here.</p>\n"
        '<label>File <input name="file" type="file" multiple accept=".json,.jsonl,.ndjson"></label>\n'
    )
    command = "steelyard arena submit FILE"
    return _form("submit", "Submit", base=base, path="/submissions", fields=fields, button="Submit", command=command)


def review_form(base: str, submission: str) -> str:
    """Return the form for a review decision, which is logged under the token's name."""
    fields = (
        '<label>Decision <select name="decision">'
        '<option value="accept">accept: include it and close the review</option>'
        '<option value="exclude">exclude: remove it from the leaderboard</option>'
        '<option value="reinstate">reinstate: include it again</option></select></label>\n'
        '<label>Reason <input name="reason" maxlength="2000"></label>\n'
        "<p>An exclusion requires a reason. The decision, the reason and the token's name are public.</p>\n"
    )
    return _form(
        "review",
        "Review this submission",
        base=base,
        path=f"/submissions/{quote(submission, safe='')}",
        fields=fields,
        button="Decide",
        command=f"steelyard arena review exclude {submission} --reason TEXT",
    )


def rate_form(base: str, submission: str) -> str:
    """Return the form for a rating, given under the token's name."""
    fields = (
        '<label>Rating <input name="score" type="number" min="0" max="100" step="any" required></label>\n'
        '<label>Criterion <input name="criterion" maxlength="1000"></label>\n'
        '<label>Comment <input name="comment" maxlength="2000"></label>\n'
        "<p>From 0 to 100, for the whole submission or one criterion. You cannot rate your own submission.</p>\n"
    )
    return _form(
        "rate",
        "Rate this submission",
        base=base,
        path=f"/submissions/{quote(submission, safe='')}/ratings",
        fields=fields,
        button="Rate",
        command=f"steelyard arena rating add {submission} --reviewer ID --score 0..100",
    )


def _form(kind: str, title: str, *, base: str, path: str, fields: str, button: str, command: str) -> str:
    action, pages = text(f"{base}{API}{path}", longest=MAX_LINK_LENGTH), text(base, longest=MAX_LINK_LENGTH)
    return (
        f'<form id="{kind}" class="write" data-write="{kind}" data-pages="{pages}" method="post" action="{action}" '
        f'aria-labelledby="{kind}-title">\n<h2 id="{kind}-title">{title}</h2>\n<fieldset disabled>\n{fields}{_ASKED}'
        f'<div class="buttons"><button>{button}</button>'
        '<button type="button" data-forget>Forget the token</button></div>\n</fieldset>\n'
        f"<noscript><p>This form needs JavaScript. On the command line: <code>{text(command)}</code></p></noscript>\n"
        '<output class="message" role="status"></output>\n</form>\n'
    )


Pairs = tuple[tuple[str, str], ...]
"""Names and values of a query, in their order."""

KEYS = (
    ("/", "search"),
    ("j k", "next and previous row"),
    ("Enter", "open the row"),
    ("[ ]", "previous and next page"),
    ("x", "select the row for a comparison"),
    ("c", "compare the two selected rows"),
    ("y", "copy the link to this view"),
    ("?", "these keys"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One part of a view that a reader may choose."""

    name: str
    value: str
    """As the address has it; empty where the default holds."""
    default: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    """The values that there are; any text where there are none."""
    is_first: bool = False
    """Whether it is always in sight; others fold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsShown:
    """Which rows of a long table the page has, where the server orders and chooses them."""

    total: int
    """Rows that the view has."""
    next: str | None
    """The cursor of the next page."""
    is_first: bool
    """Whether the rows begin with the first one."""
    sort: str
    find: str
    sortable: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What surrounds a page."""

    base: str
    """Prefix of every path."""
    path: str
    """The path of this page."""
    query: Pairs = ()
    """The whole view, as the address has it."""
    navigation: tuple[tuple[str, str], ...]
    """Labels and paths of the pages."""
    styles: tuple[str, ...]
    scripts: tuple[str, ...]
    as_of: str = ""
    """The moment of what is shown; empty where nothing is."""
    version: str = ""
    fields: tuple[Field, ...] = ()
    rows: RowsShown | None = None
    """None where the page has its whole table."""
    compare: Pairs | None = None
    """What a comparison of two rows keeps of this view; None where the server compares nothing."""
    data: str | None = None
    """The path of the same as JSON; `.csv` after it gives the table."""
    form: str = ""
    """A form that writes, as HTML of ours."""

    def address(self, *, without: Sequence[str] = (), **changed: str | None) -> str:
        """This page with another view; `after` belongs to one order of rows and goes with it."""
        dropped = {*without, *changed, "after"}
        pairs = [pair for pair in self.query if pair[0] not in dropped]
        pairs += [(name, value) for name, value in changed.items() if value]
        return self.base + self.path + (f"?{urlencode(pairs)}" if pairs else "")


def dashboard_document(page: Page, frame: Frame) -> str:
    """The page in its frame, as a server sends it."""
    styles = "".join(f'<link rel="stylesheet" href="{_url(style)}">\n' for style in frame.styles)
    scripts = "".join(f'<script src="{_url(script)}" defer></script>\n' for script in frame.scripts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{text(page.title)} - Steelyard</title>\n<link rel="icon" href="data:,">\n{styles}{scripts}'
        f'</head>\n<body data-base="{_url(frame.base)}" data-version="{text(frame.version)}"'
        f' data-total="{"" if frame.rows is None else frame.rows.total}">\n'
        f"{_top(frame)}<main>\n{_view(frame)}"
        + page_html(page, heading="h1", table=_table(page, frame), base=frame.base)
        + frame.form
        + f"</main>\n{_foot(frame)}</body>\n</html>\n"
    )


def _url(address: str) -> str:
    return text(address, longest=MAX_LINK_LENGTH)


def _top(frame: Frame) -> str:
    here = max((path for _, path in frame.navigation if _is_below(frame.path, path)), key=len, default="")
    current = ' aria-current="page"'
    items = "".join(
        f'<li><a href="{_url(frame.base + path)}"{current if path == here else ""}>{text(label)}</a></li>'
        for label, path in frame.navigation
    )
    return (
        f'<header class="top">\n<a class="brand" href="{_url(frame.base)}/">Steelyard</a>\n'
        f'<nav aria-label="Pages"><ul>{items}</ul></nav>\n'
        '<p class="news" role="status"></p>\n</header>\n'
    )


def _is_below(path: str, above: str) -> bool:
    return path == above or (above != "/" and path.startswith(f"{above}/"))


def _view(frame: Frame) -> str:
    """The form that makes another view; what rows are ordered by and searched for stays."""
    if not frame.fields:
        return ""
    own = {field.name for field in frame.fields} | {"after"}
    kept = "".join(_hidden(name, value) for name, value in frame.query if name not in own)
    first = "".join(_field(field) for field in frame.fields if field.is_first)
    others = [field for field in frame.fields if not field.is_first]
    is_open = " open" if any(field.value for field in others) else ""
    more = "".join(_field(field) for field in others)
    folded = f"<details{is_open}><summary>More</summary><div>{more}</div></details>" if more else ""
    return (
        f'<form class="view" method="get" action="{_url(frame.base + frame.path)}" aria-label="View">\n'
        f"{kept}{first}{folded}<button>Show</button>\n</form>\n"
    )


def _hidden(name: str, value: str) -> str:
    return f'<input type="hidden" name="{text(name)}" value="{_url(value)}">'


def _field(field: Field) -> str:
    label = text(field.name.replace("_", " "))
    if not field.choices:
        shown = f'<input name="{text(field.name)}" value="{_url(field.value)}" placeholder="{text(field.default)}">'
    else:
        default = (
            [] if field.default in field.choices else [f'<option value="">{text(field.default) or "default"}</option>']
        )
        chosen = field.value or field.default
        options = [
            f"<option{' selected' if choice == chosen else ''}>{text(choice)}</option>" for choice in field.choices
        ]
        select = f'<select name="{text(field.name)}" data-default="{text(field.default)}">'
        shown = f"{select}{''.join(default + options)}</select>"
    return f'<label title="{text(field.help)}">{label} {shown}</label>\n'


def _table(page: Page, frame: Frame) -> str:
    table = page.table
    if table is None:
        return ""
    is_compared = frame.compare is not None and table.sides is not None and table.rows > 1
    if frame.rows is None and not is_compared:
        return table_html(table, name=f"{page.name}-table", base=frame.base)
    shown = _rows_table(page.name, table, frame, is_compared=is_compared)
    if not is_compared or frame.compare is None:
        return shown
    kept = "".join(_hidden(name, value) for name, value in frame.compare)
    return (
        f'<form class="compare" method="get" action="{_url(frame.base)}/compare" aria-label="Compare two">\n'
        f"{kept}{shown}"
        '<p class="more"><button>Compare A and B</button></p>\n</form>\n'
    )


def _rows_table(name: str, table: PageTable, frame: Frame, *, is_compared: bool) -> str:
    """A table whose rows the server orders and chooses, or of which two can be compared."""
    columns = table.columns
    head = "".join(_heading(column, frame) for column in columns)
    head = f'<th scope="col">A</th><th scope="col">B</th>{head}' if is_compared else head
    is_served = frame.rows is not None
    body = "".join(
        f"<tr>{_sides(table, row) if is_compared else ''}"
        f"{row_cells(columns, row, base=frame.base, has_values=not is_served)}</tr>\n"
        for row in range(table.rows)
    )
    caption = text(table.caption)
    served = " served" if is_served else ""
    return (
        f'<steel-table id="{name}-table" label="{caption}"{served}>\n{_search(frame)}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">\n<table><caption>{caption}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody></table>\n</div>\n{_paging(frame)}</steel-table>\n"
    )


def _heading(column: Column, frame: Frame) -> str:
    """The title; a link that orders the rows where the server can."""
    number = ' class="n"' if column.is_number else ""
    rows = frame.rows
    if rows is None or column.name not in rows.sortable:
        name = f' data-name="{text(column.name)}"' if rows is None and column.dots is None else ""
        return f'<th scope="col"{number}{name}>{text(column.title)}</th>'
    is_up, is_down = rows.sort == column.name, rows.sort == f"-{column.name}"
    state = ' aria-sort="ascending"' if is_up else ' aria-sort="descending"' if is_down else ""
    # First click sorts numbers descending and text ascending; the third click resets.
    first, second = (f"-{column.name}", column.name) if column.is_number else (column.name, f"-{column.name}")
    following = {first: second, second: None}.get(rows.sort, first)
    link = _url(frame.address(sort=following))
    return f'<th scope="col"{number}{state}><a href="{link}">{text(column.title)}</a></th>'


def _sides(table: PageTable, row: int) -> str:
    """The two radio buttons that choose a row as one side of a comparison."""
    assert table.sides is not None
    side = text(table.sides[row], longest=MAX_LINK_LENGTH)
    return "".join(
        f'<td><input type="radio" name="{name}" value="{side}" aria-label="{label}: {side}"></td>'
        for name, label in (("baseline", "A"), ("candidate", "B"))
    )


def _search(frame: Frame) -> str:
    rows = frame.rows
    if rows is None:
        return ""
    kept = "".join(_hidden(name, value) for name, value in frame.query if name not in ("find", "after"))
    return (
        f'<form class="tools" method="get" action="{_url(frame.base + frame.path)}" role="search">\n{kept}'
        f'<input type="search" name="find" value="{_url(rows.find)}" aria-label="Filter rows"'
        ' placeholder="Filter rows">'
        f"<button>Filter</button><output>{rows.total:,} row{'' if rows.total == 1 else 's'}</output>\n</form>\n"
    )


def _paging(frame: Frame) -> str:
    rows = frame.rows
    if rows is None or (rows.next is None and rows.is_first):
        return ""
    links = []
    if not rows.is_first:
        links.append(f'<a rel="first" href="{_url(frame.address())}">First rows</a>')
    if rows.next is not None:
        address = frame.address(after=rows.next)
        links.append(f'<a rel="next" href="{_url(address)}">Next rows</a>')
    return f'<p class="more paging">{" ".join(links)}</p>\n'


def _foot(frame: Frame) -> str:
    links = ""
    if frame.data is not None:
        pairs = [pair for pair in frame.query if pair[0] != "after"]
        query = f"?{urlencode(pairs)}" if pairs else ""
        links = (
            f' <a href="{_url(frame.base + frame.data + query)}">JSON</a>'
            f' <a href="{_url(f"{frame.base}{frame.data}.csv{query}")}">CSV</a>'
        )
    keys = "".join(f"<div><dt><kbd>{text(key)}</kbd></dt><dd>{meaning}</dd></div>" for key, meaning in KEYS)
    moment = frame.as_of.replace("T", " ").replace("+00:00", " UTC")
    as_of = f'As of <time datetime="{text(frame.as_of)}">{text(moment)}</time>.' if frame.as_of else ""
    return (
        f'<footer class="foot">\n<p>{as_of}{links}'
        ' <span class="keys">Keys: <kbd>?</kbd></span></p>\n'
        f'<dialog id="keys" aria-label="Keys"><h2>Keys</h2><dl class="facts">{keys}</dl>'
        '<form method="dialog"><button>Close</button></form></dialog>\n</footer>\n'
    )
