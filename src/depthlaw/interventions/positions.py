"""Where subject, prediction and target stand among the tokens of a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from depthlaw.errors import InputError, Notice
from depthlaw.interventions.offsets import Span, tokens_with_offsets, words_of
from depthlaw.interventions.prompts import Prompt


@dataclass(frozen=True)
class Placed:
    """A prompt as tokens.

    Attributes
    ----------
    prompt
        As given.
    ids
        (tokens,) of the prompt up to and with the target.
    words
        (tokens,) what they show as.
    subject
        First token of the subject and the one behind its last.
    predict
        Token at which the first token of the target is predicted.
    notices
        What a reader must know.
    """

    prompt: Prompt
    ids: tuple[int, ...]
    words: tuple[str, ...]
    subject: Span
    predict: int
    notices: tuple[Notice, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """Ids of the target."""
        return self.ids[self.predict + 1 :]


def place(prompt: Prompt, tokenizer: Any) -> Placed:
    """Tokenise a prompt together with its target and find both.

    A target that the prompt ends with is read there; otherwise it is put behind the prompt.

    Raises
    ------
    InputError
        When the subject is absent, ambiguous or not parted from the target; shows the tokens.
    """
    text, target = _with_target(prompt)
    ids, spans = tokens_with_offsets(tokenizer, text)
    words = words_of(tokenizer, ids)
    subject = _find_subject(prompt, text[: target[0]], words)
    own, wanted = _covering(spans, subject), _covering(spans, target)
    if not own or not wanted:
        what, name = ("subject", prompt.subject) if not own else ("target", prompt.target)
        raise _refusal(prompt, f'no token stands for the {what} "{name}"', words)
    predict = wanted[0] - 1
    if spans[wanted[0]][0] < target[0] and text[spans[wanted[0]][0] : target[0]].strip():
        raise _refusal(prompt, f'the target "{prompt.target}" begins inside a token', words)
    if own[-1] > predict:
        raise _refusal(prompt, f'the subject "{prompt.subject}" is not before the target', words)
    notices = []
    if target[0] >= len(prompt.prompt) and _is_word(prompt.target.strip(), prompt.prompt[subject[1] :]):
        said = "the target also stands within the prompt; it is read behind it"
        notices.append(Notice("target-in-prompt", f"{prompt.id or 'prompt'}: {said}."))
    beyond = text[spans[own[0]][0] : subject[0]].strip() + text[subject[1] : spans[own[-1]][1]].strip()
    if beyond:
        said = f'the tokens of the subject "{prompt.subject}" also hold "{beyond}"'
        notices.append(Notice("subject-token", f"{prompt.id or 'prompt'}: {said}."))
    return Placed(
        prompt,
        tuple(ids[: wanted[-1] + 1]),
        tuple(words[: wanted[-1] + 1]),
        (own[0], own[-1] + 1),
        predict,
        tuple(notices),
    )


def _with_target(prompt: Prompt) -> tuple[str, Span]:
    """Return the text with the target in it, and where it is."""
    text, target = prompt.prompt, prompt.target.strip()
    end = len(text.rstrip().rstrip(".!?"))
    start = end - len(target)
    if text[max(start, 0) : end] != target or text[start - 1 : start].isalnum():
        glue = "" if prompt.target[:1].isspace() or text[-1:].isspace() else " "
        text = f"{text}{glue}{prompt.target.rstrip()}"
        start = len(text) - len(target)
    return text, (start, start + len(target))


def _find_subject(prompt: Prompt, text: str, words: Sequence[str]) -> Span:
    places = _occurrences(text, prompt.subject)
    if not places and prompt.subject in prompt.prompt:
        said = f'the subject "{prompt.subject}" is not before the target, with which the prompt ends'
        raise _refusal(prompt, said, words)
    if not places:
        known = text.casefold().find(prompt.subject.casefold())
        other = text[known : known + len(prompt.subject)]
        hint = f'Did you mean "{other}"?' if known >= 0 else None
        raise _refusal(prompt, f'the subject "{prompt.subject}" is not in the prompt', words, hint)
    if prompt.occurrence is not None:
        if prompt.occurrence > len(places):
            raise _refusal(
                prompt,
                f'the subject "{prompt.subject}" occurs {len(places)} times, not {prompt.occurrence}',
                words,
            )
        places = places[prompt.occurrence - 1 : prompt.occurrence]
    if len(places) > 1:
        said = f'the subject "{prompt.subject}" occurs {len(places)} times in the prompt'
        raise _refusal(
            prompt,
            said,
            words,
            'Say which one is meant: --occurrence 1, in a file of prompts "occurrence": 1.',
        )
    return places[0], places[0] + len(prompt.subject)


def _occurrences(text: str, part: str) -> list[int]:
    """Return where ``part`` begins, as whole words if it occurs so at all."""
    places = []
    start = text.find(part)
    while start >= 0:
        places.append(start)
        start = text.find(part, start + 1)

    return [start for start in places if _is_whole(text, start, part)] or places


def _is_whole(text: str, start: int, part: str) -> bool:
    around = (text[max(start - 1, 0) : start] or " ") + (text[start + len(part) :][:1] or " ")
    return not any(char.isalnum() for char in around)


def _is_word(part: str, text: str) -> bool:
    return any(_is_whole(text, start, part) for start in _occurrences(text, part))


def _covering(spans: Sequence[Span], part: Span) -> list[int]:
    """Return the tokens that share a character with ``part``."""
    return [n for n, (begin, end) in enumerate(spans) if begin < part[1] and end > part[0]]


def _refusal(prompt: Prompt, what: str, words: Sequence[str], hint: str | None = None) -> InputError:
    shown = " ".join(f"[{word}]" for word in words)
    name = f"{prompt.id}: " if prompt.id else ""
    return InputError(f"{name}{what}.\ntokens: {shown}", hint)
