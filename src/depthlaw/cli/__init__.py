"""The command line: a thin translation of words into calls, one small file per verb."""

from depthlaw.cli.app import main

__all__ = ["main"]
