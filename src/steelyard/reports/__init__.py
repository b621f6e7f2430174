"""Rendering: results as tables for a terminal, text, Markdown, HTML and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.reports._dashboard_forms import (
        rate_form as rate_form,
        review_form as review_form,
        submit_form as submit_form,
    )
    from steelyard.reports._dashboard_html import (
        Field as Field,
        Frame as Frame,
        RowsShown as RowsShown,
        dashboard_document as dashboard_document,
    )
    from steelyard.reports._report_files import (
        result_document as result_document,
        result_html as result_html,
        result_markdown as result_markdown,
        result_text as result_text,
    )
    from steelyard.reports._run_files import (
        RUN_FILE_ENDINGS as RUN_FILE_ENDINGS,
        check_runs_folder as check_runs_folder,
        write_runs as write_runs,
        write_runs_folder as write_runs_folder,
    )
    from steelyard.reports.pages import (
        page_of as page_of,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
