"""Whether the built site leads somewhere and loads nothing from elsewhere: python scripts/check_site.py FOLDER."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data")}
"""What a browser fetches by itself; only some relations of `link` are."""
NOT_FETCHED = {"canonical", "next", "prev", "index", "search", "author", "license"}


class Page(HTMLParser):
    """The ids of a page, what it links to and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Takes note of one element."""
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        for name, value in given.items():
            if (tag, name) in LOADED and given.get("rel") not in NOT_FETCHED:
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)
        self.loads += re.findall(r"url\(([^)]+)\)", given.get("style", ""))


def problems(site: Path) -> list[str]:
    """A line for each broken link and each thing that is loaded from elsewhere."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        shown = path.relative_to(site)
        found += [f"{shown} loads {load}" for load in page.loads if _is_elsewhere(load)]
        for target in [*page.links, *page.loads]:
            if not _is_elsewhere(target) and (problem := _broken(target, path, pages)):
                found.append(f"{shown}: {problem}")
    for style in sorted(site.rglob("*.css")):
        loads = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", style.read_text(encoding="utf-8"))
        found += [f"{style.relative_to(site)} loads {a or b}" for a, b in loads if _is_elsewhere(a or b)]
    return found


def _is_elsewhere(target: str) -> bool:
    return target.startswith("//") or bool(urlsplit(target).scheme not in ("", "data"))


def _broken(target: str, path: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(target)
    if parts.scheme == "data":
        return None
    file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not file.is_file():
        return f"{target} is not there"
    if parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].ids:
        return f"{target} has no such heading"
    return None


if __name__ == "__main__":
    site = Path(sys.argv[1]).resolve()
    told = problems(site)
    print(
        "\n".join(told)
        or f"{len(list(site.rglob('*.html')))} pages: every link leads somewhere, nothing is loaded from elsewhere"
    )
    sys.exit(1 if told else 0)
