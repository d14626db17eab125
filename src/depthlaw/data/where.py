"""``--where "loss < 3 and width >= 512"``: a condition on rows, read as data and never executed.

The text is parsed into Python's syntax tree and walked; only what is listed in ``select_rows`` has a meaning
and everything else is an error with its position. Numbers are float64 throughout, so that no expression can
grow without bound.
"""

from __future__ import annotations

import ast
import functools
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from depthlaw.data.numbers import labels, to_numbers
from depthlaw.data.raw import RawTable
from depthlaw.errors import UsageError, did_you_mean

_MAX_LENGTH = 2000  # characters
_MAX_PARTS = 200  # operators and names; the values listed in an "in (…)" do not count
_ORDER: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_ARITHMETIC: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Mod: np.mod,
}
_QUOTED = re.compile(r"""`[^`]+`|"[^"]*"|'[^']*'""")
_SYMBOLS = 'Conditions are joined by "and", "or" and "not", and compared by < <= > >= == != in.'

Number = NDArray[np.float64] | float
Mask = NDArray[np.bool_]


def select_rows(
    condition: str, table: RawTable, names: Mapping[str, str], factors: Mapping[str, float] | None = None
) -> Mask:
    """Evaluate a condition for every row.

    Allowed are comparisons (chained too), ``and or not``, ``+ - * / ** %``, numbers, ``in (…)`` and
    ``not in (…)``, text in quotes compared by ``== != in``, ``True`` and ``False``, and columns: by our names
    (``loss``), by their headers (``val_loss``, ``config.d_model``), in backticks when the header is no word
    (`` `eval loss` ``; in quotes too where no text can be meant). A cell that holds no number satisfies no
    comparison but ``!=``.

    Parameters
    ----------
    condition
        The expression.
    table
        The rows as read, bad ones included.
    names
        Our name → header.
    factors
        Our name → what the numbers of its column are multiples of; by its header a column is what it holds.

    Returns
    -------
    (rows,) mask of the rows that satisfy it.

    Raises
    ------
    UsageError
        Anything else in the expression, an unknown or unclear name, text where a number is needed.
    """
    text = " ".join(condition.splitlines()).strip()
    reader = _Condition(text, table, names, factors or {})
    if len(text) > _MAX_LENGTH:
        reader.fail(f"is longer than {_MAX_LENGTH} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "1or 2" and the like are deprecated in Python, harmless here
            tree = ast.parse(reader.plain, mode="eval").body
    except SyntaxError as error:
        reader.fail("cannot be read", at=(error.offset or 1) - 1, hint=_SYMBOLS)
    except (ValueError, MemoryError, RecursionError):
        reader.fail("cannot be read", hint=_SYMBOLS)
    parts = [n for n in ast.walk(tree) if isinstance(n, ast.expr) and not isinstance(n, ast.Constant)]
    if len(parts) > _MAX_PARTS:
        reader.fail(f"has more than {_MAX_PARTS} parts")
    with np.errstate(all="ignore"):  # division by zero gives inf or NaN, and those compare as they should
        mask = reader.truth(tree)
    if not reader.used:
        reader.fail("names no column")
    return np.broadcast_to(mask, (table.n_rows,)).copy()


def _all(masks: Iterable[Mask]) -> Mask:
    return functools.reduce(np.logical_and, masks)


class _Condition:
    """Walks one syntax tree over one table."""

    def __init__(
        self, text: str, table: RawTable, names: Mapping[str, str], factors: Mapping[str, float]
    ) -> None:
        self.text, self.table, self.names, self.factors = text, table, names, factors
        self.used = False  # whether any column was named
        self.quoted: dict[int, str] = {}  # position in the text → header that stood there in backticks
        # such a header becomes a name of the same length, so that positions stay those of the text
        self.plain = _QUOTED.sub(self.placeholder, text)

    def fail(self, problem: str, *, at: int | None = None, hint: str | None = None) -> NoReturn:
        place = (
            "" if at is None else f" at character {at + 1} ({self.text[at : at + 12].strip() or 'the end'})"
        )
        shown = self.text if len(self.text) <= 60 else f"{self.text[:59]}…"
        raise UsageError(f"where '{shown}': {problem}{place}.", hint)

    def refuse(self, node: ast.expr, problem: str, hint: str | None = None) -> NoReturn:
        self.fail(problem, at=self.position(node), hint=hint)

    def position(self, node: ast.expr) -> int:
        # the syntax tree counts bytes of UTF-8
        return len(self.plain.encode()[: node.col_offset].decode(errors="ignore"))

    def placeholder(self, match: re.Match[str]) -> str:
        if not match[0].startswith("`"):
            return match[0]
        self.quoted[match.start()] = match[0][1:-1].strip()
        return "_" * len(match[0])

    # -- conditions ------------------------------------------------------------------------------------

    def truth(self, node: ast.expr) -> Mask:
        """Return the mask (rows,) or () of a condition."""
        match node:
            case ast.BoolOp(op=ast.And()):
                return _all(map(self.truth, node.values))
            case ast.BoolOp():
                return ~_all(~self.truth(part) for part in node.values)
            case ast.UnaryOp(op=ast.Not()):
                return ~self.truth(node.operand)
            case ast.Compare():
                sides = [node.left, *node.comparators]
                pairs = [self.compare(a, op, b) for a, op, b in zip(sides, node.ops, sides[1:], strict=False)]
                return _all(pairs)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()) | ast.UnaryOp(op=ast.Invert()):
                self.refuse(node, "uses & | ~, which bind tighter than comparisons", _SYMBOLS)
            case ast.Call():
                self.refuse(node, "calls a function, and there are none", _SYMBOLS)
        self.refuse(
            node, "compares nothing", 'A condition is expected, such as "loss < 3" or "done == True".'
        )

    def compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Mask:
        if isinstance(op, ast.In | ast.NotIn):
            found = self.contained(left, right)
            return ~found if isinstance(op, ast.NotIn) else found
        if type(op) not in _ORDER:
            self.refuse(left, 'uses "is"', _SYMBOLS)
        if isinstance(op, ast.Eq | ast.NotEq):
            for column, value in ((left, right), (right, left)):
                if isinstance(value, ast.Constant) and isinstance(value.value, str | bool):
                    same = self.same_text(column, value.value)
                    return same if isinstance(op, ast.Eq) else ~same
        return np.asarray(_ORDER[type(op)](self.number(left), self.number(right)))

    def same_text(self, column: ast.expr, value: str | bool) -> Mask:
        if isinstance(value, bool):  # "True" in a CSV, true in JSON, bool in Parquet
            return np.asarray(np.char.lower(self.words(column)) == str(value).lower())
        return np.asarray(self.words(column) == value)

    def contained(self, left: ast.expr, right: ast.expr) -> Mask:
        items = right.elts if isinstance(right, ast.Tuple | ast.List | ast.Set) else [right]
        values = [item.value for item in items if isinstance(item, ast.Constant)]
        if len(values) == len(items) and values and all(isinstance(value, str) for value in values):
            return np.isin(self.words(left), np.array(values, dtype=np.str_))
        numbers = [self.number(item) for item in items]
        if not numbers or not all(np.ndim(number) == 0 for number in numbers):
            self.refuse(right, 'needs numbers or quoted words after "in"', "For example: depth in (12, 24)")
        return np.isin(self.number(left), np.array(numbers, dtype=np.float64))

    # -- values ----------------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> Number:
        """Return the numbers (rows,) or the number of an arithmetic expression."""
        match node:
            case ast.Constant(value=bool()):
                self.refuse(node, "uses True or False as a number")
            case ast.Constant(value=int() | float() as value):
                try:
                    return float(value)
                except OverflowError:
                    return np.inf
            case ast.Constant(value=str()) if node.value not in self.table.cells:
                self.refuse(node, "has text where a number is needed", "Text is compared by == != in.")
            case ast.Name() | ast.Attribute() | ast.Constant(value=str()):
                header = self.header(node)
                numbers = to_numbers(
                    self.table.cells[header],
                    counts=header != self.names.get("loss"),
                    suffixes=True,
                    semicolons=self.table.semicolons,
                    decimal=self.table.decimals.get(header),
                )
                if not isinstance(node, ast.Constant) and ast.unparse(node) in self.names:
                    numbers = numbers.times(self.factors.get(ast.unparse(node), 1.0))
                if np.isnan(numbers.values).all() and set(numbers.faults.values()) - {"missing", "NaN"}:
                    self.refuse(
                        node, f'needs a number, and "{header}" holds text', "Quote what it is compared to."
                    )
                return numbers.values
            case ast.BinOp() if type(node.op) in _ARITHMETIC:
                return np.asarray(_ARITHMETIC[type(node.op)](self.number(node.left), self.number(node.right)))
            case ast.UnaryOp(op=ast.USub()):
                return np.negative(self.number(node.operand))
            case ast.UnaryOp(op=ast.UAdd()):
                return self.number(node.operand)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr()) | ast.UnaryOp(op=ast.Invert()):
                self.refuse(node, "uses & | ~, which bind tighter than comparisons", _SYMBOLS)
        self.refuse(node, "has something that is not a number, a column or + - * / ** %")

    def words(self, node: ast.expr) -> NDArray[np.str_]:
        """Return the cells of a column as text, (rows,)."""
        if not isinstance(node, ast.Name | ast.Attribute):
            self.refuse(node, "compares text with something that is not a column")
        return labels(self.table.cells[self.header(node)])

    def header(self, node: ast.expr) -> str:
        """Return the header a name stands for."""
        self.used = True
        if isinstance(node, ast.Constant):
            return str(node.value)
        at = self.position(node)
        name = self.quoted.get(at)
        if name is not None:
            if name in self.table.cells:
                return name
        else:
            name = ast.unparse(node)
            read_from = self.names.get(name)
            if read_from is not None and name in self.table.cells and read_from != name:
                self.fail(
                    f'is unclear about {name}: the column "{name}", or the {name} read from "{read_from}"',
                    hint=f"Write `{name}` or `{read_from}` (backticks; single quotes around it all).",
                )
            if read_from is not None or name in self.table.cells:
                return read_from or name
        valid = list(dict.fromkeys([*self.names, *self.table.headers]))
        near = did_you_mean(name, valid)
        listing = ", ".join(valid[:12]) + (", …" if len(valid) > 12 else "")
        self.refuse(node, f'column "{name}" not found (have: {listing})', near and f"Did you mean {near}?")
