"""Excel workbooks: sheets as tables, with the units that their cells show."""

from __future__ import annotations

import tracemalloc
import zipfile
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.errors import InputLimitError, UnreadableFileError
from steelyard.files import Budget, extract
from steelyard.files._workbooks import parse_format

SHEETS = Path(__file__).parent / "samples" / "sheets"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def workbook(
    path: Path, rows: str, *, formats: tuple[str, ...] = (), strings: tuple[str, ...] = (), book: str = ""
) -> Path:
    """Write a workbook with one sheet; the cell style N+1 has the Nth format."""
    codes = "".join(f'<numFmt numFmtId="{200 + n}" formatCode="{code}"/>' for n, code in enumerate(formats))
    styles = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(formats)))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {MAIN} xmlns:r="r">{book}<sheets><sheet name="Runs" r:id="rId1"/></sheets></workbook>',
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/styles.xml",
            f'<styleSheet {MAIN}><numFmts>{codes}</numFmts><cellXfs><xf numFmtId="0"/>{styles}</cellXfs></styleSheet>',
        )
        archive.writestr("xl/sharedStrings.xml", f"<sst {MAIN}>{''.join(f'<si>{text}</si>' for text in strings)}</sst>")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {MAIN}><sheetData>{rows}</sheetData></worksheet>")
    return path


def extracted(path: Path, into: Path) -> str:
    assert extract(path, path.name, into, budget=Budget().for_compressed(path.stat().st_size)) is None
    return (into / "Runs.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("General", "0.1", "0.1"),
        ("0.0%", "0.875", "87.5%"),
        ("0%", "0.29", "29%"),
        ("&quot;$&quot;#,##0.00", "1234.5", "$1234.5"),
        ("[$€-407] #,##0.00", "0.25", "€0.25"),
        ("#,##0.00 &quot;€&quot;", "0.25", "0.25 €"),
        ("0.0&quot; min&quot;", "3.5", "3.5 min"),
        ("dd/mm/yyyy", "46023", "2026-01-01"),
        ("yyyy-mm-dd hh:mm", "46023.5", "2026-01-01T12:00:00"),
        ("[h]:mm:ss", "1.5", "36:00:00"),
        ("mm:ss", "0.0625", "1:30:00"),
        ("0.00_);[Red](0.00)", "-2", "-2"),
        ("#,##0", "1200300", "1200300"),
        ("0.00E+00", "1E-05", "0.00001"),
    ],
)
def test_number_is_written_with_its_unit_and_unrounded(tmp_path: Path, code: str, value: str, shown: str) -> None:
    rows = f'<row r="1"><c r="A1" s="1"><v>{value}</v></c></row>'
    assert extracted(workbook(tmp_path / "a.xlsx", rows, formats=(code,)), tmp_path / "out") == f"{shown}\n"


def test_cells_keep_their_place_and_type(tmp_path: Path) -> None:
    rows = (
        '<row r="2"><c r="B2" t="s"><v>0</v></c><c r="D2" t="b"><v>1</v></c></row>'
        '<row r="4"><c r="A4" t="e"><v>#N/A</v></c><c t="inlineStr"><is><t>in, line</t></is></c>'
        '<c t="str"><f>A1</f><v>text</v></c></row>'
    )
    path = workbook(tmp_path / "a.xlsx", rows, strings=("<r><t>rich </t></r><r><t>text</t></r><rPh><t>no</t></rPh>",))
    assert extracted(path, tmp_path / "out").splitlines() == ["", ",rich text,,TRUE", "", '#N/A,"in, line",text,']


def test_dates_of_old_macs_count_from_1904(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="A1" s="1"><v>1</v></c></row>'
    path = workbook(tmp_path / "a.xlsx", rows, formats=("yyyy-mm-dd",), book='<workbookPr date1904="1"/>')
    assert extracted(path, tmp_path / "out") == "1904-01-02\n"


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="9999999"><c r="A1"><v>1</v></c></row>',
        '<row r="1"><c r="ZZZZZ1"><v>1</v></c></row>',
        '<row r="1"><c r="A1" t="s"><v>7</v></c></row>',
        '<row r="2"><c><v>1</v></c></row><row r="1"><c><v>1</v></c></row>',
        '<row r="1"><c r="A1"><v>1</v></c>',
        '<row r="1"><c r="A1"><v>x</v></c></row>',
    ],
)
def test_invalid_workbook_is_rejected(tmp_path: Path, rows: str) -> None:
    with pytest.raises(sy.SteelyardError, match=r"book\.xlsx.*not a readable workbook"):
        extracted(workbook(tmp_path / "book.xlsx", rows), tmp_path / "out")


def test_document_type_in_a_sheet_is_rejected(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", '<!DOCTYPE x [<!ENTITY a "aaaa">]><workbook>&a;</workbook>')
    with pytest.raises(sy.SteelyardError, match="document type declaration"):
        extracted(tmp_path / "book.xlsx", tmp_path / "out")


def test_many_cells_of_one_long_text_exceed_the_limit(tmp_path: Path) -> None:
    rows = "".join(f'<row r="{n}"><c t="s"><v>0</v></c></row>' for n in range(1, 301))
    path = workbook(tmp_path / "book.xlsx", rows, strings=(f"<t>{'x' * 10_000}</t>",))
    done = steelyard("measure", str(path), STEELYARD_MAX_INPUT_BYTES="1000000")
    assert done.status == 1
    assert "STEELYARD_MAX_INPUT_BYTES" in done.stderr


TEXT_CELL = '<c t="s"><v>0</v></c>'


@pytest.mark.parametrize(
    ("rows", "strings"),
    [
        (f"<row>{TEXT_CELL}</row>" * 2_000, ("<t>" + "a" * 32_000 + "</t>",)),
        ('<row><c r="XFD1"><v>1</v></c></row>' + "<row><c><v>1</v></c></row>" * 5_000, ()),
    ],
    ids=["a long text", "a far column"],
)
def test_rows_of_many_characters_take_little_memory(tmp_path: Path, rows: str, strings: tuple[str, ...]) -> None:
    path = workbook(tmp_path / "a.xlsx", rows, strings=strings)
    tracemalloc.start()
    try:
        with pytest.raises(InputLimitError, match="expands to more than"):
            extracted(path, tmp_path / "out")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30 << 20


def test_a_row_that_is_too_long_is_rejected(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", f"<row>{TEXT_CELL * 600}</row>", strings=("<t>" + "a" * 32_000 + "</t>",))
    with pytest.raises(UnreadableFileError, match="a row has more than 16,777,216 characters"):
        extracted(path, tmp_path / "out")


def test_records_in_a_workbook_need_no_mapping(tmp_path: Path) -> None:
    cells = [("task", "agent", "passed", "cost_usd"), ("a", "x", "true", "0.25"), ("b", "x", "false", "0.5")]
    rows = "".join(
        "<row>" + "".join(f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row) + "</row>" for row in cells
    )
    path = workbook(tmp_path / "runs.xlsx", rows)
    (group,) = sy.measure(path).groups
    assert (group.metrics["pass_rate"].mean, group.metrics["cost_usd"].mean) == (0.5, 0.375)
    assert sy.read(path).n == 2


def test_suggested_mapping_reads_a_workbook_with_a_title_and_a_total(tmp_path: Path) -> None:
    path = SHEETS / "38-en-ab.xlsx"
    done = steelyard("mapping", "suggest", str(path))
    (tmp_path / "m.toml").write_text(done.stdout, encoding="utf-8")
    assert "12 runs read, 0 rows rejected; the first runs:" in done.stderr
    measured = sy.measure(path, map=tmp_path / "m.toml", by=["x_prompt"])
    assert [(group.key, group.n) for group in measured.groups] == [({"x_prompt": "new"}, 6), ({"x_prompt": "old"}, 6)]


def test_format_without_digits_changes_nothing() -> None:
    assert parse_format('"yes";"yes";"no"').before == ""
    assert parse_format("@").kind == "number"
