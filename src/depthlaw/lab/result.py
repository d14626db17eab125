"""What a laboratory run gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from depthlaw.data.html import result_html
from depthlaw.data.shown import Shown
from depthlaw.errors import Notice
from depthlaw.lab.config import LabConfig
from depthlaw.lab.engine import StudentKey
from depthlaw.lab.networks import Network
from depthlaw.lab.training import Task

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False, repr=False)
class LabResult(Shown):
    """Trained students and how they got there.

    Attributes
    ----------
    config
        What was run.
    metrics
        (replica, temperature, rho, depth, step, train_loss, test_loss), see `depthlaw.lab.metrics`.
    test_batches
        (replica, temperature, rho, depth, step, batch, test_loss).
    students
        (replica, temperature, rho, depth, diverged, saturated, untrained_loss).
    networks
        Final weights of every student, by task.
    engine
        Which engine trained them.
    status
        ``done``, or ``diverged`` when some student did.
    """

    config: LabConfig
    metrics: pa.Table
    test_batches: pa.Table
    students: pa.Table
    networks: dict[Task, dict[StudentKey, Network]]
    engine: str
    status: str

    def to_table(self) -> pa.Table:
        """Return the metrics."""
        return self.metrics

    def final(self) -> pa.Table:
        """Return the last row of every student that has one."""
        import pyarrow.compute as pc

        return self.metrics.filter(pc.equal(self.metrics["step"], pc.max(self.metrics["step"])))

    @property
    def diverged(self) -> list[dict[str, Any]]:
        """The students whose loss ceased to be finite, with the step at which it did."""
        return [row for row in self.students.to_pylist() if row["diverged"] is not None]

    @property
    def saturated(self) -> list[dict[str, Any]]:
        """The students that were worse at the end than before training, with the step since which."""
        return [row for row in self.students.to_pylist() if row["saturated"] is not None]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a reader must know of students that failed."""
        gone = [
            Notice("diverged", f"{_who(row)} diverged at step {row['diverged']}.") for row in self.diverged
        ]
        useless = [
            Notice(
                "saturated",
                f"{_who(row)} is worse than untrained (loss {row['untrained_loss']:.3g}) since step "
                f"{row['saturated']}: its training failed, try a lower rate.base.",
            )
            for row in self.saturated
        ]
        return (*gone, *useless)

    def _repr_html_(self) -> str:
        rows = self.final().to_pylist()
        names = [name for name in self.metrics.column_names if any(row[name] is not None for row in rows)]
        cells = [[row[name] for name in names] for row in rows]
        return result_html(f"laboratory, {self.status}", names, cells, [n.message for n in self.notices])


def _who(row: dict[str, Any]) -> str:
    at = "" if row["temperature"] is None else f", temperature {row['temperature']:g}"
    return f"student of depth {row['depth']} (replica {row['replica']}, rho {row['rho']:g}{at})"
