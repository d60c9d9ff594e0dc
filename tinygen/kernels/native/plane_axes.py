"""The two axes of the planes that native depthwise convolutions are computed on."""

from dataclasses import dataclass

from tinygen.ops.depthwise_conv2d import DepthwiseConv2D


@dataclass(frozen=True)
class PlaneAxis:
    """One of the two axes of a plane."""

    is_vertical: bool  # in the tensors
    inputs: int
    outputs: int
    taps: int  # of the filter
    stride: int
    before: int  # padding
    input_step: int  # bytes
    output_step: int

    @property
    def reach(self) -> int:
        """Elements under all positions of the filter, with padding."""
        return (self.outputs - 1) * self.stride + self.taps

    @property
    def reached(self) -> int:
        """Those that are elements of the input."""
        return min(self.inputs, self.reach - self.before)


def axes_of(op: DepthwiseConv2D, rows: int | None = None, columns: int | None = None) -> tuple[PlaneAxis, PlaneAxis]:
    """The vertical and the horizontal axis; with numbers of so many rows or columns that lie inside the result."""
    _, height, width, channels = op.input.shape
    _, all_rows, all_columns, _ = op.output.shape
    kernel, stride, padding = op.window.kernel, op.stride, op.padding
    rows, top = (all_rows, padding.top) if rows is None else (rows, 0)
    columns, left = (all_columns, padding.left) if columns is None else (columns, 0)
    return (
        PlaneAxis(True, height, rows, kernel.h, stride.h, top, width * channels, all_columns * channels),
        PlaneAxis(False, width, columns, kernel.w, stride.w, left, channels, channels),
    )
