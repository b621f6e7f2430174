"""The start of a command: `steelyard ...` and `python -m steelyard ...`."""

import gc


def main() -> None:
    """Run one command and exit with its status."""
    gc.disable()  # what is imported stays: to look for circles in it takes a twentieth of the start
    from steelyard.cli import main as run_command  # a heavy one, imported without that

    run_command()


if __name__ == "__main__":
    main()
