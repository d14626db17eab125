"""The command line: a thin translation of words into calls, one small file per verb."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, see `depthlaw.cli.app.main`; Ctrl-C is quiet while that is loaded, too."""
    try:
        from depthlaw.cli.app import main as command

        return command(argv)
    except KeyboardInterrupt:
        sys.stderr.write("depthlaw: interrupted; nothing is kept.\n")
        return 130
