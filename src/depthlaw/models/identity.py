"""What tells a model's weights from any others: a hash of all that its results depend on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from depthlaw.errors import cannot_read

_PATTERNS = (
    "*.safetensors",
    "*.bin",
    "*.index.json",  # which of the files holds which weight
    "config.json",
    "adapter_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
    "*.tiktoken",
)


def files_of(place: str, gguf: str | None) -> tuple[Path, ...]:
    """Return the files of weights, config and tokenizer of a model that lies here; none for one of the hub.

    Parameters
    ----------
    place, gguf
        As `depthlaw.models.load.locate` returns them. A GGUF file holds all three.
    """
    folder = Path(place)
    if gguf is not None:
        return (folder / gguf,)
    return tuple(sorted({path for pattern in _PATTERNS for path in folder.glob(pattern) if path.is_file()}))


def hash_of_files(files: Iterable[Path]) -> str:
    """SHA-256 of names and whole contents, hexadecimal.

    What was done to the weights after they were loaded is not in it.

    Raises
    ------
    InputError
        When a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in files:
        try:
            found = path.stat()
            content = _content(path.resolve(), found.st_size, found.st_mtime_ns)
        except OSError as error:
            raise cannot_read(path, error) from error
        digest.update(f"{path.name}\0{content}\0".encode())
    return digest.hexdigest()


@cache
def _content(path: Path, size: int, mtime_ns: int) -> str:
    """Hash a file, once as long as it is not written to.

    All of it: samples miss what is between them, and a zeroed matrix or two swapped blocks leave every size
    as it was. At one to two GB a second this takes about as long as reading the weights did.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
