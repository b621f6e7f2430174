"""An atheris target: the laws of `format_laws.py`. `python tests/support/fuzz_formats.py -max_total_time=60 CORPUS`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from format_laws import check_reading

FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name, "fuzzed")


def one_input(data: bytes) -> None:
    FILE.write_bytes(data)
    check_reading(FILE)


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
