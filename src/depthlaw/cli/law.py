"""How verbs that use a law get one: a saved fit, or a table of runs that is fitted first."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from depthlaw.cli.output import note
from depthlaw.cli.table import TableOptions
from depthlaw.errors import DepthlawError, FitError, UsageError
from depthlaw.laws.config import FitConfig, LawConfig

if TYPE_CHECKING:
    from depthlaw.laws.result import Fit

_COLUMNS = ("width", "depth", "tokens", "params", "flops", "loss", "weights", "cluster")


def _column(name: str) -> Any:
    return Parameter(name=f"--{name}-column", metavar="NAME")


@Parameter(name="*", group=Group("Law", sort_key=2))
@dataclass(frozen=True)
class LawOptions(LawConfig, TableOptions):
    """How to read a table of runs and fit it, when no saved fit is given.

    The flags are those of depthlaw fit, but a column is --width-column and so on: --width is a quantity here.
    """

    width: Annotated[str | None, _column("width")] = None
    depth: Annotated[str | None, _column("depth")] = None
    tokens: Annotated[str | None, _column("tokens")] = None
    params: Annotated[str | None, _column("params")] = None
    flops: Annotated[str | None, _column("flops")] = None
    loss: Annotated[str | None, _column("loss")] = None
    weights: Annotated[str | None, _column("weights")] = None
    cluster: Annotated[str | None, _column("cluster")] = None

    def load(self, source: Path, *, level: float | None = None, seed: int = 0) -> Fit:
        """The law of ``source``: read if it is a saved fit, fitted if it is a table of runs.

        Says on stderr how a table was understood, and what the fit found doubtful.

        Raises
        ------
        UsageError
            If options of reading and fitting are given with a saved fit.
        FitError
            If the fit did not converge.
        """
        from depthlaw.laws.fit import fit
        from depthlaw.laws.saved import load_fit
        from depthlaw.report.fit import table_text

        if is_saved(source):
            if self != AS_SAVED:
                raise UsageError(
                    f"{source} is a saved fit: its table and its form are settled.",
                    "Give the table of runs instead, or leave the options of reading and fitting out.",
                )
            law = load_fit(source)
        else:
            try:
                table = self.read(source)
                law_config = self.config(level, seed)
                table.require(*law_config.resolve(table.columns, table.source, table.headers).scales, "loss")
            except DepthlawError as error:
                hint = None if error.hint is None else column_flags(error.hint)
                raise type(error)(column_flags(error.message), hint) from error
            note(table_text(table))
            law = fit(table, law_config)
        for notice in law.notices:
            note(f"note: {column_flags(notice.message)}")
        if not law.certificate.converged:
            raise FitError("the fit did not converge: nothing can be built on it.", "Use more --starts.")
        return law

    def config(self, level: float | None, seed: int) -> FitConfig:
        """The settings of the fit."""
        law = {f.name: getattr(self, f.name) for f in fields(LawConfig)}
        return FitConfig(**law, level=level or 0.95, seed=seed)


def column_flags(text: str) -> str:
    """Name columns by the flags of these verbs, where the shorter ones are quantities."""
    return re.sub(rf"--({'|'.join(_COLUMNS)})(?![-\w])", r"--\1-column", text)


AS_SAVED = LawOptions()


def is_saved(source: Path) -> bool:
    """Whether a path is a saved fit or the folder of one, not a table of runs."""
    if source.is_dir():
        return (source / "fit.json").is_file()
    if source.suffix != ".json" or not source.is_file():
        return False
    with open(source, encoding="utf-8", errors="replace") as file:
        return '"depthlaw.fit/' in file.read(200)


def identity_of(fit: Fit) -> str:
    """What tells one law from another in a run's identity: a hash of the fit and its data."""
    import hashlib

    from depthlaw.laws.saved import fit_document

    return hashlib.sha256(fit_document(fit).encode()).hexdigest()
