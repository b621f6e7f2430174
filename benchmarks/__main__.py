"""Run every benchmark of this folder, or the named ones: python -m benchmarks [NAME ...] [--quick]."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import benchmarks


def main() -> int:
    """Each benchmark in a process of its own, so that one's memory is not another's."""
    wanted = [word for word in sys.argv[1:] if not word.startswith("-")]
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    names = [info.name for info in pkgutil.iter_modules(benchmarks.__path__) if not info.name.startswith("_")]
    status = 0
    for name in wanted or names:
        print(f"\n== {name}", flush=True)
        status |= subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *options], check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
