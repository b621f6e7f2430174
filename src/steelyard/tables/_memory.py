"""How much memory may be used: what decides whether a table is held or left on disk."""

from __future__ import annotations

import os
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def free_bytes() -> int:
    """The memory that is free on this machine, within the limit that its container sets."""
    return min(_free_of_machine(), _free_of_container())


def _free_of_machine() -> int:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        (known,) = (line for line in lines if line.startswith("MemAvailable:"))
        return int(known.split()[1]) * 1024
    except (OSError, ValueError, IndexError):  # not Linux: half of what is there
        names = getattr(os, "sysconf_names", {})
        if not {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= names.keys():
            return 4 << 30
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _free_of_container() -> int:
    try:
        most, used = ((_CGROUP / name).read_text(encoding="ascii").strip() for name in ("memory.max", "memory.current"))
        return max(int(most) - int(used), 0)
    except (OSError, ValueError):  # no such limit
        return 1 << 62
