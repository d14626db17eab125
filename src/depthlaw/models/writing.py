"""Saving a model so that its folder is there whole or not at all."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError

from depthlaw.errors import cannot_write


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a folder to write in that stands at ``target`` when the block ends well, and nowhere otherwise.

    Parameters
    ----------
    target
        Must not exist, or be empty.

    Raises
    ------
    OutputError
        When it cannot be written.
    """
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        if target.exists():
            target.rmdir()
        temporary.rename(target)
    except OSError as error:
        raise cannot_write(target, error) from error
    except SafetensorError as error:  # its own words for what the system refused
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise cannot_write(target, OSError(int(number[1]), os.strerror(int(number[1])))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
