"""Networks with branches and loops for tests, with variables in them and inside of each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array

_ROWS = (1, 2, 1, 4)
_MOST = 5


class ControlWriter(ModelWriter):
    """The writer, with the tensors that such networks have."""

    def rows(self, name: str) -> int:
        """int8, [1, 2, 1, 4], all of one quantization."""
        return self.tensor(name, _ROWS, "int8", scale=0.5, zero_point=-3)

    def number(self, name: str, value: int | None = None) -> int:
        """int32, one element."""
        return self.tensor(name, (1,), "int32", data=None if value is None else np.array([value], np.int32))

    def truth(self, name: str) -> int:
        """bool, one element."""
        return self.tensor(name, (1,), "bool")

    def handle(self, name: str) -> int:
        """Of the variable of that name."""
        index = self.tensor(f"handle of {name}", (), "resource")
        self.operator("VAR_HANDLE", [], [index], container="", shared_name=name)
        return index

    def binary(self, operator: str, first: int, second: int, result: str) -> int:
        """Of rows."""
        index = self.rows(result)
        self.operator(operator, [first, second], [index])
        return index


def branch_model() -> bytes:
    """x, how: the sum, or the difference and the larger of x and what was kept of the calls before, by `how` > 0.

    One branch keeps the sum; the other looks at whether it is above 2 and then keeps x instead.
    """
    model = ControlWriter()
    model.operator("CALL_ONCE", [], [], init_subgraph_index=5)
    x, how, zero = model.rows("x"), model.number("how"), model.number("zero", 0)
    asked, y, z = model.truth("asked"), model.rows("y"), model.rows("z")
    model.operator("GREATER", [how, zero], [asked])
    scaled = model.binary("MUL", x, x, "scaled")
    model.operator("IF", [asked, x, scaled, how], [y, z], then_subgraph_index=1, else_subgraph_index=2)
    after = model.binary("ADD", y, z, "after")
    model.next_subgraph([x, how], [after, z])

    x, scaled, how = model.rows("x"), model.rows("scaled"), model.number("how")
    kept = model.rows("kept")
    handle = model.handle("sum")
    model.operator("READ_VARIABLE", [handle], [kept])
    total = model.binary("ADD", x, kept, "total")
    model.operator("ASSIGN_VARIABLE", [handle, total], [])
    model.next_subgraph([x, scaled, how], [total, scaled])

    x, scaled, how, limit = model.rows("x"), model.rows("scaled"), model.number("how"), model.number("limit", -2)
    kept, low, chosen = model.rows("kept"), model.truth("low"), model.rows("chosen")
    model.operator("READ_VARIABLE", [model.handle("sum")], [kept])
    model.operator("LESS", [how, limit], [low])
    model.operator("IF", [low, x, kept], [chosen], then_subgraph_index=3, else_subgraph_index=4)
    larger = model.binary("MAXIMUM", x, kept, "larger")
    model.next_subgraph([x, scaled, how], [chosen, larger])

    x, kept = model.rows("x"), model.rows("kept")
    model.operator("ASSIGN_VARIABLE", [model.handle("sum"), x], [])
    model.next_subgraph([x, kept], [kept])

    x, kept = model.rows("x"), model.rows("kept")
    less = model.binary("SUB", x, kept, "less")
    model.next_subgraph([x, kept], [less])
    return _begun(model, "sum")


def loop_model(counts_to_input: bool = True, nested: bool = False) -> bytes:
    """x, n: x with itself added and multiplied n times, 5 where `n` is no input; and a variable with all turns so far.

    `nested`: in each turn once more as often as turns were.
    """
    model = ControlWriter()
    model.operator("CALL_ONCE", [], [], init_subgraph_index=5 if nested else 3)
    x = model.rows("x")
    n = model.number("n", None if counts_to_input else _MOST)
    first, i, y, m = model.number("first", 0), model.number("i"), model.rows("y"), model.number("m")
    model.operator(
        "WHILE", [first, x, n, x], [i, y, m, model.rows("same")], cond_subgraph_index=1, body_subgraph_index=2
    )
    after = model.binary("MINIMUM", y, x, "after")
    model.next_subgraph([x, n] if counts_to_input else [x], [after, i])

    _condition(model)

    i, y, n, x, one = model.number("i"), model.rows("y"), model.number("n"), model.rows("x"), model.number("one", 1)
    next_i, kept, total = model.number("next_i"), model.rows("kept"), model.rows("total")
    model.operator("ADD", [i, one], [next_i])
    larger = model.binary("MAXIMUM", y, x, "larger")
    handle = model.handle("turns")
    model.operator("READ_VARIABLE", [handle], [kept])
    model.operator("ADD", [kept, larger], [total])
    model.operator("ASSIGN_VARIABLE", [handle, total], [])
    halved = model.binary("SUB", total, y, "halved")
    if nested:
        j, inner, least = model.number("j", 0), model.rows("inner"), model.number("least")
        model.operator(
            "WHILE", [j, halved, i], [model.number("k"), inner, least], cond_subgraph_index=3, body_subgraph_index=4
        )
        halved = inner
    model.next_subgraph([i, y, n, x], [next_i, halved, n, x])
    if nested:
        _condition(model, has_same=False)
        _doubling(model)
    return _begun(model, "turns")


def _begun(model: ControlWriter, name: str) -> bytes:
    """The model with what a variable holds before the first call."""
    data = np.arange(8, dtype=np.int8).reshape(_ROWS)
    start = model.tensor("start", _ROWS, "int8", scale=0.5, zero_point=-3, data=data)
    model.operator("ASSIGN_VARIABLE", [model.handle(name), start], [])
    return model.finish([], [])


def _condition(model: ControlWriter, has_same: bool = True) -> None:
    inputs: Sequence[int] = [model.number("i"), model.rows("y"), model.number("n")]
    less = model.truth("less")
    model.operator("LESS", [inputs[0], inputs[2]], [less])
    model.next_subgraph([*inputs, model.rows("x")] if has_same else inputs, [less])


def _doubling(model: ControlWriter) -> None:
    """i, y, n -> i + 1, y twice, n."""
    i, y, n, after = model.number("i"), model.rows("y"), model.number("n"), model.number("next_i")
    model.operator("ADD", [i, model.number("one", 1)], [after])
    model.next_subgraph([i, y, n], [after, model.binary("ADD", y, y, "twice"), n])


def folded_model(condition: bool) -> bytes:
    """x: the branch that a constant chooses, with a sum in a variable and a loop, or the other, without anything."""
    model = ControlWriter()
    model.operator("CALL_ONCE", [], [], init_subgraph_index=5)
    asked = model.tensor("asked", (1,), "bool", data=np.array([condition]))
    x, y, z = model.rows("x"), model.rows("y"), model.rows("z")
    model.operator("IF", [asked, x], [y, z], then_subgraph_index=1, else_subgraph_index=2)
    model.next_subgraph([x], [model.binary("MAXIMUM", y, z, "after"), z])

    x, kept, handle = model.rows("x"), model.rows("kept"), model.handle("sum")
    model.operator("READ_VARIABLE", [handle], [kept])
    total = model.binary("ADD", x, kept, "total")
    model.operator("ASSIGN_VARIABLE", [handle, total], [])
    first, three, y = model.number("first", 0), model.number("three", 3), model.rows("y")
    variables = [model.number("i"), y, model.number("n")]
    model.operator("WHILE", [first, x, three], variables, cond_subgraph_index=3, body_subgraph_index=4)
    model.next_subgraph([x], [y, kept])

    x = model.rows("x")
    model.next_subgraph([x], [x, x])

    _condition(model, has_same=False)
    _doubling(model)
    return _begun(model, "sum")


def branching_model(depth: int, tensors: int = 0) -> bytes:
    """x, c: twice x, behind branches inside of each other, both sides of which run the same subgraph.

    The innermost one has so many further tensors.
    """
    model = ControlWriter()
    for level in range(1, depth + 1):
        ports = model.rows("x"), model.truth("c")
        y = model.rows("y")
        model.operator("IF", [ports[1], *ports], [y], then_subgraph_index=level, else_subgraph_index=level)
        model.next_subgraph(ports, [y])
    x, c = model.rows("x"), model.truth("c")
    for number in range(tensors):
        model.number(f"further {number}")
    return model.finish([x, c], [model.binary("ADD", x, x, "y")])


def endless_model() -> bytes:
    """start, step -> start and step added until that is 10 or more: never, where `step` is 0."""
    model = ControlWriter()
    start, step, end, same = model.number("start"), model.number("step"), model.number("end"), model.number("same")
    model.operator("WHILE", [start, step], [end, same], cond_subgraph_index=1, body_subgraph_index=2)
    model.next_subgraph([start, step], [end])
    i, step, less = model.number("i"), model.number("step"), model.truth("less")
    model.operator("LESS", [i, model.number("ten", 10)], [less])
    model.next_subgraph([i, step], [less])
    i, step, after = model.number("i"), model.number("step"), model.number("after")
    model.operator("ADD", [i, step], [after])
    return model.finish([i, step], [after, step])


def broken_model(what: str) -> bytes:
    """x, how -> y: a branch or a loop with one thing wrong."""
    model = ControlWriter()
    x, how, zero, y = model.rows("x"), model.number("how"), model.number("zero", 0), model.rows("y")
    asked = model.truth("asked")
    model.operator("GREATER", [how, zero], [asked])
    if what == "growing":
        model.operator("WHILE", [how, x], [model.number("i"), y], cond_subgraph_index=3, body_subgraph_index=4)
    else:
        inputs = [how if what == "condition" else asked, *([x, x] if what == "many" else [x])]
        model.operator("IF", inputs, [y], then_subgraph_index=7 if what == "index" else 1, else_subgraph_index=2)
    model.next_subgraph([x, how], [y])
    wide = model.tensor("wide", (1, 2, 1, 8), "int8", scale=0.5)
    x = wide if what == "type" else model.rows("x")
    after = model.rows("after")
    if what == "operator":
        model.operator("CUSTOM", [x], [after], custom_code="Unheard")
    elif what == "itself":
        always = model.tensor("always", (1,), "bool", data=np.array([True]))
        model.operator("IF", [always, x], [after], then_subgraph_index=1, else_subgraph_index=2)
    else:
        model.operator("ADD", [x, x], [after])
    model.next_subgraph([x], [] if what == "outputs" else [after])
    x = model.rows("x")
    model.next_subgraph([x], [x])
    i, x, less = model.number("i"), model.rows("x"), model.truth("less")
    model.operator("LESS", [i, model.number("ten", 10)], [less])
    model.next_subgraph([i, x], [less])
    i, x = model.number("i"), model.rows("x")
    longer = model.tensor("longer", (1, 4, 1, 4), "int8", scale=0.5, zero_point=-3)
    model.operator("CONCATENATION", [x, x], [longer], axis=1)
    return model.finish([i, x], [i, longer])


@dataclass(frozen=True)
class Rows:
    """A loop that replaces rows of a list, and what may be unusual about it."""

    type: str = "int8"
    first: int = 0
    end: int | None = 5  # None: an input
    step: int = 1
    behind: int = 1  # from which row on behind the replaced one the others are kept
    from_begin: int = 0  # of the rows before it
    reads_part: bool = False  # another operator reads the rows before it
    in_branch: bool = False


def rows_model(rows: Rows) -> bytes:
    """x, of five rows -> the sums of its rows up to each, as Keras 3 spells layers that return sequences; and the last.

    The list begins as x; rows that the loop does not come to stay.
    """
    model = _RowsWriter(rows)
    x, end = model.whole("x"), model.number("end", rows.end)
    state = model.row("state", data=np.zeros((1, 3)))
    results = [model.number("i"), model.whole("sums"), model.row("last"), model.whole("same"), model.number("n")]
    variables = [model.number("first", rows.first), x, state, x, end]
    model.operator("WHILE", variables, results, cond_subgraph_index=1, body_subgraph_index=2)
    model.next_subgraph([x] if rows.end is not None else [x, end], results[1:3])

    inputs, less = model.variables(), model.truth("less")
    model.operator("LESS", [inputs[0], inputs[4]], [less])
    model.next_subgraph(inputs, [less])

    inputs = model.variables()
    i, sums, state, x, end = inputs
    row, total, after = model.row("row"), model.row("total"), model.number("next_i")
    gathered = model.row("gathered", axes=1)
    model.operator("GATHER", [x, i], [gathered], axis=0)
    model.operator("RESHAPE", [gathered, model.integers("flat", 1, 3)], [row])
    model.operator("ADD", [state, row], [total])
    model.operator("ADD", [i, model.number("step", rows.step)], [after])
    if rows.in_branch:
        always, written = model.truth("always"), model.whole("written")
        model.operator("LESS", [i, after], [always])
        model.operator("IF", [always, i, sums, total], [written], then_subgraph_index=3, else_subgraph_index=3)
    else:
        written = model.replaced(i, sums, total)
    model.next_subgraph(inputs, [after, written, total, x, end])
    if rows.in_branch:
        inputs = [model.number("i"), model.whole("sums"), model.row("total")]
        model.next_subgraph(inputs, [model.replaced(*inputs)])
    return model.finish([], [])


class _RowsWriter(ControlWriter):
    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self._rows = rows

    def _values(
        self, name: str, shape: Sequence[int], data: Array | None = None, signature: Sequence[int] | None = None
    ) -> int:
        scale, zero_point = (0.5, -3) if self._rows.type == "int8" else (None, 0)
        stored = None if data is None else (data + zero_point).astype(self._rows.type)
        return self.tensor(
            name, shape, self._rows.type, scale=scale, zero_point=zero_point, data=stored, signature=signature
        )

    def whole(self, name: str) -> int:
        """[5, 1, 3]."""
        return self._values(name, (5, 1, 3))

    def row(self, name: str, axes: int = 0, data: Array | None = None) -> int:
        """[1, 3], or with so many axes of size 1 before."""
        return self._values(name, (1,) * axes + (1, 3), data)

    def integers(self, name: str, *values: int) -> int:
        """int32, constant."""
        return self.tensor(name, (len(values),), "int32", data=np.array(values, np.int32))

    def variables(self) -> list[int]:
        """The loop's, as a subgraph takes them."""
        return [self.number("i"), self.whole("sums"), self.row("state"), self.whole("x"), self.number("end")]

    def replaced(self, i: int, sums: int, row: int) -> int:
        """The list with the row in place of its i-th."""
        start, beyond = (self.tensor(name, (3,), "int32") for name in ("start", "beyond"))
        following = self.number("following")
        self.operator("CONCATENATION", [i, self.integers("all", -1, -1)], [start], axis=0)
        self.operator("ADD", [i, self.number("behind", self._rows.behind)], [following])
        self.operator("CONCATENATION", [following, self.integers("none", 0, 0)], [beyond], axis=0)
        before = self._values("before", (1, 1, 1), signature=None if self._rows.reads_part else (-1, -1, -1))
        after = self._values("after", (1, 1, 3), signature=(-1, 1, 3))
        self.operator("SLICE", [sums, self.integers("begin", self._rows.from_begin, 0, 0), start], [before])
        self.operator("SLICE", [sums, beyond, self.integers("rest", -1, -1, -1)], [after])
        one, written = self.row("one row", axes=1), self.whole("written")
        self.operator("RESHAPE", [row, self.integers("one", 1, 1, 3)], [one])
        self.operator("CONCATENATION", [before, one, after], [written], axis=0)
        if self._rows.reads_part:
            self.operator("ABS", [before], [self._values("part", (1, 1, 1))])
        return written
