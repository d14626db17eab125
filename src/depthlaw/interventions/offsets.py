"""Which characters of a text a token stands for, whatever the tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from depthlaw.errors import InputError

Span = tuple[int, int]
"""First character and the one behind the last; empty for marks such as BOS."""

_BROKEN = "�"


def tokens_with_offsets(tokenizer: Any, text: str) -> tuple[list[int], list[Span]]:
    """Tokenise a text and say what characters each token covers.

    A character that is split over several tokens belongs to each of them.

    Parameters
    ----------
    tokenizer
        Of transformers; fast ones say it themselves, for slow ones growing prefixes are decoded.

    Raises
    ------
    InputError
        When a slow tokenizer changes the text so that its tokens cannot be laid beside it.
    """
    if getattr(tokenizer, "is_fast", False):
        found = tokenizer(text, return_offsets_mapping=True, return_attention_mask=False)
        return list(found["input_ids"]), [(int(a), int(b)) for a, b in found["offset_mapping"]]
    ids = [int(i) for i in tokenizer(text, return_attention_mask=False)["input_ids"]]
    return ids, _aligned(tokenizer, ids, text)


def words_of(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """What each token shows as: its own text, or its name where a character is split over tokens."""
    shown = []
    for token in ids:
        text = tokenizer.decode([token], skip_special_tokens=False)
        shown.append(str(tokenizer.convert_ids_to_tokens(token)) if _BROKEN in text or not text else text)
    return shown


def _aligned(tokenizer: Any, ids: Sequence[int], text: str) -> list[Span]:
    # Only what is printed is compared: tokenizers add and drop spaces, and some change the case.
    printed = [place for place, char in enumerate(text) if not char.isspace()]
    known = "".join(text[place] for place in printed).casefold()
    special = set(getattr(tokenizer, "all_special_ids", ()))
    spans: list[Span] = []
    begun: list[int] = []  # tokens of a character that is not complete yet
    seen: list[int] = []
    count = length = 0
    for number, token in enumerate(ids):
        if token in special:
            spans.append((0, 0))
            continue
        seen.append(token)
        decoded = tokenizer.decode(seen, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        whole = "".join(decoded.rstrip(_BROKEN).split()).casefold()
        if not known.startswith(whole):
            raise InputError(
                f"the tokenizer changes the text; its tokens cannot be found in it: …{decoded[-20:]!r}",
                "Use a fast tokenizer.",
            )
        if len(whole) > count:
            span = (printed[count], printed[min(len(whole), len(printed)) - 1] + 1)
            for earlier in begun:
                spans[earlier] = (span[0], span[0] + 1)
            spans.append(span)
            begun, count = [], len(whole)
        else:
            # A space makes the text longer; a byte of a character does not, or shows as broken.
            partial = decoded.endswith(_BROKEN) or len(decoded) == length
            begun = [*begun, number] if partial else []
            place = printed[count] if count < len(printed) else len(text)
            spans.append((place, place))
        length = len(decoded)
    return spans
