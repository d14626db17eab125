"""What one batch showed, and who looks at it: the interface between the pass and everything it gathers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Seen:
    """The tokens of one batch that count, as the model saw them.

    A token counts when it and its successor in the same document are real.

    Attributes
    ----------
    states
        ``depth + 1`` tensors h_0 … h_depth, (tokens, width) each, the raw stream in the model's dtype and on
        its device. Valid only until the next batch.
    columns
        What was measured, by name, float32: (tokens, layers) or (tokens,); see `depthlaw.probe.columns`.
    document
        (tokens,) int64 index of the token's document in the source.
    position
        (tokens,) int64 place of the token in its document from 0.
    token_id
        (tokens,) int64.
    is_first, is_special
        (tokens,) bool: first of its document; a control token such as BOS.
    documents
        Ids of the documents by index.
    complete_below
        Documents with a smaller index will not come again.
    """

    states: tuple[Tensor, ...]
    columns: Mapping[str, Floats]
    document: NDArray[np.int64]
    position: NDArray[np.int64]
    token_id: NDArray[np.int64]
    is_first: NDArray[np.bool_]
    is_special: NDArray[np.bool_]
    documents: Mapping[int, str]
    complete_below: int

    @property
    def n_tokens(self) -> int:
        """Tokens that count."""
        return len(self.document)


class Observer(Protocol):
    """Gathers something over the pass in memory that does not grow with the corpus.

    Its whole state goes through `arrays` and `restore`, so that a pass that was killed goes on as if it had
    not been. Names are unique within the observer.
    """

    @property
    def name(self) -> str:
        """Short and unique; the prefix of its arrays in a file."""
        ...

    def observe(self, seen: Seen) -> None:
        """Take one batch into account; batches come in one fixed order."""
        ...

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return all that was gathered."""
        ...

    def restore(self, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from what `arrays` returned."""
        ...
