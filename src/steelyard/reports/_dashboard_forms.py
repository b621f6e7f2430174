"""Forms of the dashboard that write, with a token that stays in the page: submissions, and decisions about them.

Without JavaScript nothing could send the token in a header, so that the forms are then closed and name the command.
"""

from __future__ import annotations

from urllib.parse import quote

from steelyard.pages import MAX_LINK_LENGTH, text

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
