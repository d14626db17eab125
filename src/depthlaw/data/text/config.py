"""Settings of a text: which documents to read, and how much of them."""

# Annotations are not postponed here: the parser reads those of inherited fields where the heir is defined.

from dataclasses import dataclass
from typing import Any, Literal

from depthlaw.data.bounds import check_counts
from depthlaw.data.text.hub import HubText
from depthlaw.data.text.limit import Limit, parse_limit
from depthlaw.data.text.opening import open_text
from depthlaw.data.text.source import TextSource
from depthlaw.errors import UsageError


@dataclass(frozen=True)
class TextConfig:
    """What to read of a text.

    Attributes
    ----------
    limit
        How much text: "800", "800 documents" or "50k tokens"; all of it by default. Documents are read whole.
    max_length
        Tokens kept of a document.
    bos
        Mark at the beginning of a document: as the tokenizer does it (auto), always or never.
    text_column
        Column or key that holds the text; recognised by default.
    text_config
        Configuration of a data set of the hub.
    text_split
        Split of a data set of the hub.
    text_revision
        Branch, tag or commit of a data set of the hub.
    """

    limit: str | None = None
    max_length: int = 1024
    bos: Literal["auto", "always", "never"] = "auto"
    text_column: str | None = None
    text_config: str | None = None
    text_split: str = "train"
    text_revision: str | None = None

    def __post_init__(self) -> None:
        check_counts(self, 2, "max_length")
        _ = self.stop

    @property
    def stop(self) -> Limit | None:
        """The limit, read."""
        return None if self.limit is None else parse_limit(self.limit)

    def open(self, text: Any) -> TextSource:
        """Open a text as the settings say; one that is already open passes.

        Raises
        ------
        InputError
            As `open_text`.
        UsageError
            As `open_text`, and for settings of the hub where the text is none of its data sets.
        """
        if hasattr(text, "documents"):
            source: TextSource = text
            return source
        opened = open_text(
            text,
            text_column=self.text_column,
            dataset_config=self.text_config,
            split=self.text_split,
            revision=self.text_revision,
        )
        if not isinstance(opened, HubText):
            for name in ("text_config", "text_split", "text_revision"):
                if getattr(self, name) != getattr(TextConfig, name):
                    raise UsageError(
                        f"{name} is for data sets of the hub, and {opened.name} is none.",
                        "Leave it out, or name the data set: hf:org/name.",
                    )
        return opened
