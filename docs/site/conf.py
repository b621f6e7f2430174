"""Sphinx builds the site from the Markdown pages as they stand: README, CONTRIBUTING and everything in docs/.

The sections of the site are the headings of docs/index.md, and the pages of a section the links under its heading.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]

project = "Steelyard"
author = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["authors"][0]["name"]
project_copyright = author
version = release = re.findall(r'"(.*)"', (ROOT / "src/steelyard/version.py").read_text(encoding="utf-8"))[0]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md"]
exclude_patterns = [".*", "build", "dist", "src", "tests", "benchmarks", "deploy", "scripts"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
nitpicky = True

html_theme = "furo"
html_title = f"Steelyard {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "default"
pygments_dark_style = "github-dark"

_LINK = re.compile(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)")


def _add_contents(_: Sphinx, name: str, source: list[str]) -> None:
    """Appends the tables of contents that Sphinx needs: one a section of the index, one of all decisions."""
    if name == root_doc:
        for section in source[0].split("\n## ")[1:]:
            title, _, text = section.partition("\n")
            if pages := dict.fromkeys(_LINK.findall(text)):
                source[0] += _contents(title, pages)
    elif name == "docs/decisions/README":
        source[0] += _contents("", dict.fromkeys(_LINK.findall(source[0])))


def _contents(title: str, pages: dict[str, None]) -> str:
    listed = "\n".join(page.removesuffix(".md") for page in pages)
    caption = f":caption: {title}\n" if title else ""
    return f"\n\n```{{toctree}}\n:hidden:\n{caption}\n{listed}\n```\n"


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _add_contents)
