"""``python -m depthlaw`` is the ``depthlaw`` command."""

import sys

from depthlaw.cli import main

sys.exit(main())
