"""A file with the same bytes as an earlier one counts once."""

from __future__ import annotations

import filecmp
from pathlib import Path

from steelyard.records import Finding


class SeenFiles:
    """Remembers files by size and compares bytes only where sizes agree."""

    def __init__(self) -> None:
        self._by_size: dict[int, list[Path]] = {}

    def again(self, path: Path) -> bool:
        """Whether a file with the same bytes came before."""
        same_size = self._by_size.setdefault(path.stat().st_size, [])
        is_repeat = any(filecmp.cmp(path, other, shallow=False) for other in same_size)
        same_size.append(path)
        return is_repeat


def file_repeated(shown: str) -> Finding:
    """What is said of a file that came before."""
    message = "the file was read already; it counts once"
    return Finding(code="file_repeated", severity="info", message=message, where=shown)
