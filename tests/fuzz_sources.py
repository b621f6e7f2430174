"""An atheris target: reading any bytes never raises. `python tests/fuzz_sources.py -max_total_time=60 CORPUS`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports():
    from steelyard.sources._base import Entry
    from steelyard.sources._gather import gather

from steelyard.records.decode import decode_run, encode_run

FOLDER = tempfile.TemporaryDirectory()
FILE = Path(FOLDER.name, "fuzzed")


def one_input(data: bytes) -> None:
    FILE.write_bytes(data)
    for item in gather([FILE], workers=1):
        if isinstance(item, Entry):
            assert decode_run(encode_run(item.run)) == item.run


if __name__ == "__main__":
    atheris.Setup(sys.argv, one_input)
    atheris.Fuzz()
