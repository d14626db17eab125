"""Documents → tokens: one BOS at most, special tokens flagged, nothing cut by characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.text.records import Document
from depthlaw.errors import InputError

Bos = Literal["auto", "always", "never"]
_MARKS = ("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "cls_token_id", "mask_token_id")


class Tokenizer(Protocol):
    """What is used of a Hugging Face tokenizer; ids such as ``bos_token_id`` may be missing or ``None``."""

    def __call__(self, text: list[str], /, **options: Any) -> Mapping[str, Any]:
        """Return ``input_ids``, a list of ids for every text."""
        ...


@dataclass(frozen=True)
class Tokens:
    """A document as tokens.

    Attributes
    ----------
    index, id
        As in `Document`.
    input_ids
        (tokens,) int32.
    n_full
        How many there were before cutting.
    """

    index: int
    id: str
    input_ids: NDArray[np.int32]
    n_full: int


@dataclass(frozen=True)
class TokenReader:
    """A tokenizer with the rules of this package.

    Attributes
    ----------
    max_length
        Tokens kept of a document, counted after tokenising; ``None`` keeps all.
    bos
        The mark at the beginning: ``auto`` as the tokenizer has it, ``always`` or ``never``. A second mark
        right behind the first (the text held one already) is dropped.
    separator
        Whether a document without a mark at its beginning gets the tokenizer's end mark, as documents that
        are packed one behind the other do in training.
    """

    tokenizer: Tokenizer
    max_length: int | None = None
    bos: Bos = "auto"
    separator: bool = False

    @property
    def pad_id(self) -> int:
        """Id at padded places; any real id will do, since only the mask tells padding."""
        for name in ("pad_token_id", "eos_token_id", "bos_token_id"):
            if (known := self._mark(name)) is not None:
                return known
        return 0

    @property
    def special_ids(self) -> NDArray[np.int64]:
        """Ids of control tokens; the one for unknown words is a word unless it is also another of them."""
        listed = set(getattr(self.tokenizer, "all_special_ids", ())) - {self._mark("unk_token_id")}
        marks = {known for name in _MARKS if (known := self._mark(name)) is not None}
        return np.array(sorted(listed | marks), dtype=np.int64)

    def read(self, documents: Sequence[Document]) -> list[Tokens]:
        """Tokenise documents; one of white space only has no tokens.

        Raises
        ------
        InputError
            ``bos="always"`` with a tokenizer that has no such mark.
        """
        bos = self._mark("bos_token_id")
        if self.bos == "always" and bos is None:
            raise InputError("the tokenizer has no BOS token.", 'Use bos "auto" or "never".')
        texts = [document.text for document in documents]
        rows: list[list[int]] = []
        if texts:
            # Not verbose: it would warn of texts longer than the model, which are cut here.
            rows = self.tokenizer(
                texts,
                add_special_tokens=self.bos != "never",
                return_attention_mask=False,
                verbose=False,
            )["input_ids"]
        return [self._tokens(document, list(row), bos) for document, row in zip(documents, rows, strict=True)]

    def _tokens(self, document: Document, ids: list[int], bos: int | None) -> Tokens:
        if not document.text.strip():
            ids = []
        elif bos is not None:
            begin = 0
            while begin < len(ids) and ids[begin] == bos:
                begin += 1
            ids = ids[max(begin - 1, 0) :]
            if self.bos == "always" and begin == 0:
                ids = [bos, *ids]
            if self.bos == "never" and begin > 0:
                ids = ids[1:]
        end = self._mark("eos_token_id")
        # An end mark of the tokenizer's own counts; so does a mark at the beginning of the next document.
        if self.separator and ids and end is not None and ids[0] != bos and ids[-1] != end:
            ids = [*ids, end]
        kept = np.array(ids[: self.max_length], dtype=np.int32)
        return Tokens(document.index, document.id, kept, len(ids))

    def _mark(self, name: str) -> int | None:
        known = getattr(self.tokenizer, name, None)
        return None if known is None else int(known)
