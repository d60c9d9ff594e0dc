"""Streaming networks whose variables are read in every way that lets their rows lie still."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array

_ZERO = -7
_STEP: Any = {"stride_h": 1, "stride_w": 1}
_UNDILATED: Any = {"dilation_h_factor": 1, "dilation_w_factor": 1}


class _Streaming:
    """Variables of rows, one below the other, each with the newest rows of x behind it."""

    def __init__(self, seed: int, kind: str = "int8", columns: int = 1, rows: int | None = None) -> None:
        self.rng, self.kind, self.columns = np.random.default_rng(seed), kind, columns
        self.model = ModelWriter()
        self.rows, self.channels = int(self.rng.integers(1, 4)), 4 * int(self.rng.integers(1, 6)) + int(seed % 2)
        self.rows = self.rows if rows is None else rows
        self.x = self.tensor("x", (1, self.rows, columns, self.channels))
        self.starts: dict[str, Array] = {}
        self.outputs: list[int] = []
        self.model.operator("CALL_ONCE", [], [], init_subgraph_index=1)

    def tensor(self, name: str, shape: Sequence[int], scale: float = 0.5, zero_point: int = _ZERO) -> int:
        return self.model.tensor(name, tuple(shape), self.kind, **self.quant(scale, zero_point))

    def quant(self, scale: float, zero_point: int = 0) -> Any:
        """As far as the element type has one."""
        if self.kind == "float32":
            return {}
        return {"scale": scale, "zero_point": zero_point if self.kind == "int8" else 0}

    def numbers(self, name: str, *values: int) -> int:
        return self.model.tensor(name, (len(values),), "int32", data=np.array(values, np.int32))

    def variable(self, name: str, rows: int) -> tuple[int, int]:
        """The handle and the value of a variable of so many rows."""
        shape = (1, rows, self.columns, self.channels)
        self.starts[name] = self.rng.integers(-128, 128, shape).astype(self.kind)
        handle = self.model.tensor(f"handle of {name}", (), "resource")
        old = self.tensor(f"old {name}", self.starts[name].shape)
        self.model.operator("VAR_HANDLE", [], [handle], container="", shared_name=name)
        self.model.operator("READ_VARIABLE", [handle], [old])
        return handle, old

    def window(self, name: str, kept: int) -> int:
        """Kept rows and new ones, of which the last are kept."""
        handle, old = self.variable(name, kept)
        window = self.tensor(f"window {name}", (1, kept + self.rows, self.columns, self.channels))
        self.model.operator("CONCATENATION", [old, self.x], [window], axis=1)
        last = self.newest(f"last {name}", window, kept)
        self.model.operator("ASSIGN_VARIABLE", [handle, last], [])
        return window

    def late_window(self, name: str, rows: int) -> int:
        """All rows are kept; the oldest ones are dropped before new ones are added."""
        handle, old = self.variable(name, rows)
        window = self.tensor(f"window {name}", (1, rows, 1, self.channels))
        self.model.operator(
            "CONCATENATION", [self.newest(f"left {name}", old, rows - self.rows), self.x], [window], axis=1
        )
        self.model.operator("ASSIGN_VARIABLE", [handle, window], [])
        return window

    def newest(self, name: str, rows: int, count: int) -> int:
        _, height, width, channels = self.model.shape(rows)
        return self.box(name, rows, (0, height - count, 0, 0), (1, count, width, channels))

    def box(self, name: str, rows: int, begin: Sequence[int], size: Sequence[int]) -> int:
        sliced = self.tensor(name, size)
        operands = [rows, self.numbers(f"begin of {name}", *begin), self.numbers(f"size of {name}", *size)]
        self.model.operator("SLICE", operands, [sliced])
        return sliced

    def result(self, name: str, shape: Sequence[int]) -> int:
        scale, zero_point = float(self.rng.uniform(0.5, 4)), int(self.rng.integers(-128, 100))
        self.outputs.append(self.tensor(name, shape, scale, zero_point))
        return self.outputs[-1]

    def filters(self, name: str, shape: Sequence[int], units: int) -> list[int]:
        weights, biases = {"int8": ("int8", "int32"), "int16": ("int8", "int64")}.get(self.kind, (self.kind,) * 2)
        data = self.rng.integers(-127, 128, tuple(shape)).astype(weights)
        bias = self.rng.integers(-3000, 3000, units).astype(biases)
        return [
            self.model.tensor(f"weights {name}", data.shape, weights, data=data, **self.quant(0.01)),
            self.model.tensor(f"bias {name}", bias.shape, biases, data=bias, **self.quant(0.005)),
        ]

    def multiply(self, name: str, window: int, units: int) -> None:
        """A fully connected layer on all rows."""
        _, rows, _, channels = self.model.shape(window)
        flat = self.tensor(f"flat {name}", (1, rows * channels))
        shape = self.numbers(f"shape {name}", 1, rows * channels)
        self.model.operator("RESHAPE", [window, shape], [flat], new_shape=[1, rows * channels])
        filters = self.filters(name, (units, rows * channels), units)
        self.model.operator("FULLY_CONNECTED", [flat, *filters], [self.result(name, (1, units))])

    def convolve(self, name: str, window: int, units: int, taps: int, stride: int) -> None:
        """A convolution of whole rows."""
        _, rows, _, channels = self.model.shape(window)
        result = self.result(name, (1, (rows - taps) // stride + 1, 1, units))
        operands = [window, *self.filters(name, (units, taps, 1, channels), units)]
        self.model.operator("CONV_2D", operands, [result], padding=1, stride_h=stride, stride_w=1, **_UNDILATED)

    def convolve_depthwise(self, name: str, rows: int) -> None:
        """A depthwise convolution over all rows."""
        _, taps, _, channels = self.model.shape(rows)
        operands = [rows, *self.filters(name, (1, taps, 1, channels), channels)]
        result = self.result(name, (1, 1, 1, channels))
        self.model.operator(
            "DEPTHWISE_CONV_2D", operands, [result], padding=1, depth_multiplier=1, **_STEP, **_UNDILATED
        )

    def convolve_apart(self, name: str, taps: int, dilation: int, units: int | None) -> None:
        """A convolution of rows that are some apart, with one row of results; depthwise where no units are given."""
        window, width = self.window(name, (taps - 1) * dilation + 1 - self.rows), min(2, self.columns)
        shape = (1, taps, width, self.channels) if units is None else (units, taps, width, self.channels)
        options = {**_STEP, "padding": 1, "dilation_h_factor": dilation, "dilation_w_factor": 1}
        operator = "CONV_2D"
        if units is None:
            units, operator, options["depth_multiplier"] = self.channels, "DEPTHWISE_CONV_2D", 1
        result = self.result(name, (1, 1, self.columns - width + 1, units))
        self.model.operator(operator, [window, *self.filters(name, shape, units)], [result], **options)

    def largest(self, window: int, rows: int) -> int:
        """The largest of each so many rows."""
        _, height, _, channels = self.model.shape(window)
        found = self.tensor("largest", (1, height - rows + 1, 1, channels))
        self.model.operator("MAX_POOL_2D", [window], [found], padding=1, filter_height=rows, filter_width=1, **_STEP)
        return found

    def finish(self) -> bytes:
        self.model.next_subgraph([self.x], self.outputs)
        for name, start in self.starts.items():
            handle = self.model.tensor(f"handle of {name}", (), "resource")
            quant = self.quant(0.5, _ZERO)
            constant = self.model.tensor(f"start of {name}", start.shape, self.kind, data=start, **quant)
            self.model.operator("VAR_HANDLE", [], [handle], container="", shared_name=name)
            self.model.operator("ASSIGN_VARIABLE", [handle, constant], [])
        return self.model.finish([], [])


def ring_readers_model(seed: int) -> bytes:
    """x -> products with all rows, by few units and many, convolutions of some rows, groups of channels with filters of
    their own length, the largest and the mean of all rows, and a residual of older rows.

    Three of the variables drop their oldest rows before they get new ones.
    """
    net = _Streaming(seed)
    kept = [net.rows + int(count) for count in net.rng.integers(1, 7, 9)]
    net.multiply("few units", net.window("a", kept[0]), units=int(net.rng.integers(1, 4)))
    net.multiply("many units", net.late_window("b", kept[1] + net.rows), units=int(net.rng.integers(5, 12)))
    taps, stride = int(net.rng.integers(2, kept[2])), int(net.rng.integers(1, 3))
    net.convolve("some rows", net.window("c", kept[2]), units=6, taps=taps, stride=stride)
    net.convolve("all rows", net.late_window("d", kept[3] + net.rows), units=9, taps=kept[3] + net.rows, stride=1)
    mixed, half = net.window("e", kept[4]), net.channels // 2
    shape = (1, kept[4] + net.rows, 1)
    first = net.box("first half", mixed, (0, 0, 0, 0), (*shape, half))
    net.convolve_depthwise("short", net.newest("newest", first, net.rows + 1))
    net.convolve_depthwise("long", net.box("second half", mixed, (0, 0, 0, half), (*shape, net.channels - half)))
    largest = net.largest(net.window("f", kept[5]), rows=kept[5] + net.rows)
    mean = net.result("mean", (1, net.channels))
    axes = net.numbers("axes", 1, 2)
    net.model.operator("MEAN", [net.late_window("g", kept[6] + net.rows), axes], [mean], keep_dims=False)
    older = net.box("older", net.window("h", kept[7]), (0, 1, 0, 0), (1, net.rows, 1, net.channels))
    added = net.result("residual", (1, net.rows, 1, net.channels))
    net.model.operator("ADD", [older, net.x], [added])
    net.outputs.append(largest)
    return net.finish()


def pooled_rows_model(seed: int, kind: str = "int8") -> bytes:
    """The largest of each two rows of a window."""
    net = _Streaming(seed, kind)
    window = net.window("a", kept=net.rows + 5)
    net.outputs.append(net.largest(window, rows=2))
    return net.finish()


def convolved_rows_model(kind: str, columns: int, units: int | None) -> bytes:
    """x of one row -> a convolution of five rows, depthwise where no units are given."""
    net = _Streaming(16, kind, columns, rows=1)
    net.convolve_apart("a", taps=5, dilation=1, units=units)
    return net.finish()


def rows_apart_model(seed: int, kind: str) -> bytes:
    """x of int8, int16 or float32 -> dilated convolutions, depthwise and of all channels, each along a window."""
    net = _Streaming(seed, kind, columns=1 + seed % 3)
    for name, units in (("a", 5), ("b", None), ("c", 9)):
        taps = int(net.rng.integers(2, 6))
        net.convolve_apart(name, taps, 2 * net.rows + int(net.rng.integers(3)), units)
    return net.finish()
