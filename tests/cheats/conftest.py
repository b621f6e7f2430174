"""Fixtures that the tests of cheats share with those of the runner."""

from runner.conftest import own_machine

__all__ = ["own_machine"]
