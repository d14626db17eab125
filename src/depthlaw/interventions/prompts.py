"""Prompts with a subject and a target, from arguments or from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from depthlaw.data.jsonio import json_fault
from depthlaw.data.text_readers import decode
from depthlaw.errors import InputError, UsageError, cannot_read

_TARGETS = ("target", "attribute", "object", "answer")
"""Keys that hold the target; ``attribute`` is the known-facts layout."""


@dataclass(frozen=True)
class Prompt:
    """What to trace.

    Attributes
    ----------
    prompt
        The text; may go on to the target or stop before it.
    subject
        Part of it whose tokens are corrupted.
    target
        What should follow.
    id
        Its name in tables.
    occurrence
        Which occurrence of the subject is meant, from 1; ``None`` when there is only one.
    """

    prompt: str
    subject: str
    target: str
    id: str = ""
    occurrence: int | None = None

    def __post_init__(self) -> None:
        for name in ("prompt", "subject", "target"):
            if not getattr(self, name).strip():
                raise UsageError(f"the {name} is empty.")
        if self.occurrence is not None and self.occurrence < 1:
            raise UsageError(f"occurrence {self.occurrence}: occurrences are counted from 1.")


def read_prompts(path: str | Path, limit: int | None = None) -> tuple[Prompt, ...]:
    """Read prompts from a file.

    Parameters
    ----------
    path
        JSON lines, or one JSON list; each entry with ``prompt``, ``subject`` and ``target`` (or
        ``attribute``, as in the list of known facts), if wished ``id`` (``known_id``) and
        ``occurrence``.
    limit
        How many to take from the front; ``None`` for all.

    Raises
    ------
    InputError
        When it cannot be read, naming the line or entry.
    """
    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    text = decode(data, str(path))
    prompts = [_prompt(entry, where) for where, entry in _entries(text, path)]
    if not prompts:
        raise InputError(f"{path}: there are no prompts in it.")
    return tuple(prompts[:limit])


def _entries(text: str, path: str | Path) -> list[tuple[str, Any]]:
    if text.lstrip().startswith("["):
        try:
            return [(f"{path}: entry {n}", entry) for n, entry in enumerate(json.loads(text), 1)]
        except ValueError as error:
            raise InputError(f"{path}: is no JSON: {error}.") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append((f"{path}:{number}", json.loads(line)))
            except ValueError as error:
                raise InputError(f"{path}:{number}: is no JSON ({json_fault(error)}).") from None
    return found


def _prompt(entry: Any, where: str) -> Prompt:
    if not isinstance(entry, Mapping):
        raise InputError(
            f"{where}: is {type(entry).__name__}, not an object with prompt, subject and target."
        )
    target = next((entry[key] for key in _TARGETS if key in entry), None)
    values: dict[str, Any] = {
        "prompt": entry.get("prompt"),
        "subject": entry.get("subject"),
        "target": target,
    }
    if wrong := [name for name, value in values.items() if not isinstance(value, str)]:
        if values[wrong[0]] is not None:
            raise InputError(f"{where}: the {wrong[0]} is {values[wrong[0]]!r}, not text.")
        raise InputError(f"{where}: no {wrong[0]} (have: {', '.join(map(str, entry))}).")
    own = entry.get("id", entry.get("known_id"))
    occurrence = entry.get("occurrence")
    if occurrence is not None and type(occurrence) is not int:
        raise InputError(f"{where}: occurrence must be a whole number from 1, not {occurrence!r}.")
    name = where.rpartition("/")[2] if own is None else str(own)
    try:
        return Prompt(**values, id=name, occurrence=occurrence)
    except UsageError as error:
        raise InputError(f"{where}: {error.message}") from None
