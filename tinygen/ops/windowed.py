"""What convolutions and pools share: a window that moves over an NHWC image."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op, Tile
from tinygen.ir.orientation import Turn, Turned
from tinygen.ir.rows import Channels, Columns, Rows
from tinygen.ir.tensor import Tensor
from tinygen.ops.checks import check_activations, check_filters, check_rank, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.constant_slices import constant_slice
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.weighted import Reals, Weighted, spaced
from tinygen.ops.window import HW, NO_PADDING, Padding, Window, starts_inside


def padded(tile: Tile | None, padding: Padding) -> Tile | None:
    """A part of an operator with what is left of the padding around it; None where there is no such part."""
    return tile and replace(tile, op=replace(tile.op, padding=padding))  # type: ignore[call-arg]


@dataclass(frozen=True, eq=False, kw_only=True)
class Sliding(Op):
    """An operator whose output pixel depends on the input pixels under a window."""

    input: Tensor  # [N, H, W, C_IN]
    output: Tensor  # [N, OH, OW, C_OUT]
    stride: HW
    padding: Padding

    @cached_property
    def window(self) -> Window:
        """How the window moves over the input."""
        raise NotImplementedError

    @property
    def channels(self) -> int:
        """Output channels."""
        raise NotImplementedError

    @property
    def padding_value(self) -> float | None:
        """The stored value that an explicit padding of the input needs to mean the same as the operator's own.

        None where there is no such value.
        """
        return None

    @property
    def working_elements(self) -> int:
        return self.window.patch_elements(self.input.shape)

    def verify(self) -> None:
        self.window.verify(self.input.shape, self.output.shape)
        check_shape("output", self.output, (self.input.shape[0], *self.output.shape[1:3], self.channels))

    @cached_property
    def border_share(self) -> float:
        """The part of the window's positions that lie partly in the padding."""
        _, height, width, _ = self.input.shape
        _, rows, columns, _ = self.output.shape
        window, pad = self.window, self.padding
        inside = starts_inside(rows, window.stride.h, pad.top, height - window.extent.h)
        inside *= starts_inside(columns, window.stride.w, pad.left, width - window.extent.w)
        return 1.0 - inside / (rows * columns)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return self.window.rows_needed(rows, self.input.shape[1])

    def tile(self, rows: Rows) -> Tile | None:
        return padded(super().tile(rows), self.window.padding_of(rows, self.input.shape[1]))

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - there is only one
        return self.window.columns_needed(columns, self.input.shape[2])

    def strip(self, columns: Columns) -> Tile | None:
        return padded(super().strip(columns), self.window.padding_beside(columns, self.input.shape[2]))

    @property
    def tile_kind(self) -> Hashable:
        return self.padding


@dataclass(frozen=True, eq=False, kw_only=True)
class Windowed(Sliding):
    """One whose results are numbers like its inputs, limited to a range."""

    clamp: Clamp

    @property
    def rows_apart(self) -> range | None:
        window = self.window
        has_gaps = window.dilation.h > 1 and window.kernel.h > 1
        is_alone = self.output.shape[1] == 1 and self.padding == NO_PADDING
        return range(0, window.extent.h, window.dilation.h) if has_gaps and is_alone else None

    def on_rows(self, rows: Tensor) -> Op:
        together = HW(1, self.window.dilation.w)
        return replace(self, input=rows, dilation=together)  # type: ignore[call-arg]

    def verify(self) -> None:
        check_activations(("input", self.input), ("output", self.output))
        super().verify()
        self.clamp.verify(self.output.type)


@dataclass(frozen=True, eq=False, kw_only=True)
class Filtering(Sliding):
    """One whose window has the size of its filters."""

    weights: Tensor  # [..., KH, KW, ...]; which of the outer axes counts output channels is the subclass's to say
    dilation: HW

    @cached_property
    def window(self) -> Window:
        _, height, width, _ = self.weights.shape
        return Window(HW(height, width), self.stride, self.dilation, self.padding)


@dataclass(frozen=True, eq=False, kw_only=True)
class Convolution(Weighted, Filtering, Windowed):
    """A convolution: filters with a bias; of int8 requantized per output channel."""

    has_narrow_form: ClassVar[bool] = True

    @property
    def is_padded(self) -> bool:
        return self.padding != NO_PADDING

    @property
    def convolution_form(self) -> ConvolutionForm:
        batches, height, width, channels = self.input.shape
        _, rows, columns, _ = self.output.shape
        kernel = self.window.kernel
        depth = self.products_per_output // (kernel.h * kernel.w)
        return ConvolutionForm(
            (batches, height, width, channels),
            (self.channels, kernel.h, kernel.w, depth),
            (batches, rows, columns, self.channels),
            self.stride,
            self.padding,
            self.dilation,
        )

    @property
    def padding_value(self) -> float:
        return 0.0 if self.input.type.dtype.is_real else self.input.type.zero_point

    def turned(self, turn: Turn) -> Turned | None:
        if not turn.exchanges:
            return Turned(self)
        if not self.weights.is_constant or self.weights.coding is not None:
            return None
        op = replace(self, stride=self.stride.swapped, padding=self.padding.swapped, dilation=self.dilation.swapped)
        return Turned(op, {self.weights: turn.filters(self.weights)})

    def constant_slices(self, channels: Channels) -> Mapping[Tensor, Tensor]:
        found = {self.weights: constant_slice(self.weights, channels, self.channel_axis)}
        return found if self.bias is None else {**found, self.bias: constant_slice(self.bias, channels)}

    def spaced_patches(self, values: Reals, most: int) -> Reals:
        """The input under the window, [positions, KH, KW, C_IN]; of many positions evenly spaced ones."""
        patches = self.window.patches(values, 0)
        positions: Reals = patches.reshape(-1, *patches.shape[3:]).astype(np.float64)
        return positions[spaced(len(positions), most)]

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_rank(role, tensor, 4)
        check_filters(self.weights, self.bias, self.output, self.channels, self.channel_axis, takes_zero_points=True)
        super().verify()
        self.output_stage.verify()
