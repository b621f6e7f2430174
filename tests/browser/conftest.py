"""One Chromium for all tests of pages; where none is installed, they skip with a sentence."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
# So that the browser itself asks nobody for anything.
FLAGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-browser")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip(f"no Chromium is installed ({', '.join(CHROMIUM)})")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@dataclass
class Opened:
    """A page in the browser, and all that it said and asked for."""

    page: Page
    path: Path
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing foreign ran: no message, no dialog, no request but the file, no trace of a payload."""
        assert self.said == []
        assert self.asked == [self.path.as_uri()]
        assert self.page.evaluate("window.pwned") is None
        return True

    def complaints(self) -> list[str]:
        """What axe finds, by the rules of WCAG and of good practice."""
        return axe_complaints(self.page)


@dataclass
class Visited:
    """A window on a server, and all that its pages said and asked for."""

    page: Page
    address: str
    """Of the server."""
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def go(self, path: str) -> int:
        """Open the page, and wait until its tables are ready; gives the status."""
        response = self.page.goto(self.address + path)
        self.ready()
        assert response is not None
        return response.status

    def ready(self) -> None:
        """Wait until the tables of the page are ready."""
        self.page.wait_for_load_state("load")
        if self.page.evaluate("Boolean(window.customElements.get('steel-table'))"):
            self.page.locator("steel-table:not([ready]):not([served])").first.wait_for(state="detached")

    @property
    def is_quiet(self) -> bool:
        """Whether nothing foreign ran: no message, no dialog, no request to another server, no trace of a payload."""
        assert self.said == []
        assert [url for url in self.asked if not url.startswith(self.address) and not url.startswith("data:,")] == []
        assert self.page.evaluate("window.pwned") is None
        return True

    def complaints(self) -> list[str]:
        """What axe finds."""
        return axe_complaints(self.page)


def axe_complaints(page: Page) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    told: Any = Axe().run(page).response["violations"]  # Any: JSON values
    return [f"{each['id']}: {node['html'][:200]}" for each in told for node in each["nodes"]]


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visited]]:
    """Opens a window of its own on a server."""
    contexts = []

    def open_window(address: str, *, script: bool = True, scheme: Any = "light", width: int = 1280) -> Visited:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        window = Visited(context.new_page(), address)
        window.page.on("console", lambda message: window.said.append(f"{message.type}: {message.text}"))
        window.page.on("pageerror", lambda error: window.said.append(f"error: {error}"))
        window.page.on("dialog", lambda dialog: window.said.append(f"dialog: {dialog.message}") or dialog.dismiss())
        window.page.on("request", lambda request: window.asked.append(request.url))
        return window

    yield open_window
    for context in contexts:
        context.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Opens an HTML text, or a file, as a file in a window of its own."""
    contexts = []

    def open_page(
        html: str | Path,
        *,
        script: bool = True,
        ready: bool = True,
        scheme: Any = "light",
        width: int = 1280,
        fragment: str = "",
    ) -> Opened:
        path = html if isinstance(html, Path) else tmp_path / f"page{len(contexts)}.html"
        if not isinstance(html, Path):
            path.write_text(html, encoding="utf-8", errors="replace")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script, offline=True
        )
        contexts.append(context)
        window = Opened(context.new_page(), path)
        window.page.on("console", lambda message: window.said.append(f"{message.type}: {message.text}"))
        window.page.on("pageerror", lambda error: window.said.append(f"error: {error}"))
        window.page.on("dialog", lambda dialog: window.said.append(f"dialog: {dialog.message}") or dialog.dismiss())
        window.page.on("request", lambda request: window.asked.append(request.url.partition("#")[0]))
        window.page.goto(path.as_uri() + fragment)
        if script and ready:
            window.page.locator("steel-table:not([ready])").first.wait_for(state="detached")
        return window

    yield open_page
    for context in contexts:
        context.close()
