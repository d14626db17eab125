import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of real and made tables, named by $DEPTHLAW_DATA."""
    folder = os.environ.get("DEPTHLAW_DATA")
    if not folder:
        pytest.skip("set DEPTHLAW_DATA to the folder with runs/ and synthetic/")
    return Path(folder)
