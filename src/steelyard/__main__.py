"""The start of a command: `steelyard ...` and `python -m steelyard ...`."""

import gc

from steelyard import cli


def main() -> None:
    """Run one command and exit with its status."""
    gc.disable()  # what is imported stays: to look for circles in it takes a twentieth of the start
    cli.main()


if __name__ == "__main__":
    main()
