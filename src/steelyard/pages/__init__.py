"""Pages: one presentation of an answer, rendered as terminal text, HTML, Markdown and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.pages._columns import (
        ALONE as ALONE,
        PAIRED as PAIRED,
        PHONE as PHONE,
        TALLEST as TALLEST,
        Limits as Limits,
        count_column as count_column,
        counting_facts as counting_facts,
        coverage_legend as coverage_legend,
        drawn_facts as drawn_facts,
        id_column as id_column,
        id_path as id_path,
        interval_column as interval_column,
        interval_text as interval_text,
        key_cell as key_cell,
        key_columns as key_columns,
        level_column as level_column,
        methods_of as methods_of,
        minute_of as minute_of,
        number_column as number_column,
        range_text as range_text,
        reason_columns as reason_columns,
        row_columns as row_columns,
        run_column as run_column,
        text_column as text_column,
        time_column as time_column,
        weighting as weighting,
        with_figures as with_figures,
    )
    from steelyard.pages._files import (
        RESULT_ENDINGS as RESULT_ENDINGS,
        Row as Row,
        Writable as Writable,
        check_file as check_file,
        check_folder as check_folder,
        csv_cell as csv_cell,
        csv_text as csv_text,
        pandas_frame as pandas_frame,
        polars_frame as polars_frame,
        write_result as write_result,
        writing as writing,
    )
    from steelyard.pages._html import (
        MAX_LINK_LENGTH as MAX_LINK_LENGTH,
        document as document,
        notebook_html as notebook_html,
        page_asset as page_asset,
        page_html as page_html,
        page_style as page_style,
        row_cells as row_cells,
        table_html as table_html,
        text as text,
    )
    from steelyard.pages._markdown import (
        page_markdown as page_markdown,
    )
    from steelyard.pages._metric_figures import (
        DRAWN_TOKENS as DRAWN_TOKENS,
        confidence_text as confidence_text,
        key_name as key_name,
        limits_text as limits_text,
        metric_axis as metric_axis,
        own_scales as own_scales,
        scaled_estimate as scaled_estimate,
        signed_text as signed_text,
    )
    from steelyard.pages._page import (
        Column as Column,
        Facts as Facts,
        LongText as LongText,
        OnDemand as OnDemand,
        Page as Page,
        PageLink as PageLink,
        PageTable as PageTable,
        Ref as Ref,
        Style as Style,
        number_shown as number_shown,
    )
    from steelyard.pages._plain_text import (
        DASH as DASH,
        SCHEMA_VERSION as SCHEMA_VERSION,
        json_bytes as json_bytes,
        json_text as json_text,
        json_values as json_values,
        markdown_text as markdown_text,
        number_text as number_text,
        short_repr as short_repr,
        versioned as versioned,
    )
    from steelyard.pages._run_files import (
        RUN_FILE_ENDINGS as RUN_FILE_ENDINGS,
        check_runs_folder as check_runs_folder,
        write_runs as write_runs,
        write_runs_folder as write_runs_folder,
    )
    from steelyard.pages._shared_pages import (
        catalog_page as catalog_page,
        findings_page as findings_page,
        folded_findings as folded_findings,
        other_catalogs as other_catalogs,
    )
    from steelyard.pages._text import (
        IN_A_PIPE as IN_A_PIPE,
        Cell as Cell,
        Painted as Painted,
        TextTable as TextTable,
        TextTree as TextTree,
        add_row as add_row,
        cell_len as cell_len,
        page_lines as page_lines,
        page_text as page_text,
        paint as paint,
        plain_table as plain_table,
        text_width as text_width,
        wrapped as wrapped,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
