"""What layers share that add up products of their input with weights."""

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from tinygen.ir.answers import Filters, Point, Range, ScalingConstants, Summation
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.clamp import Clamp
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.precision import bias_points, offsets, requantized, weights_point
from tinygen.ops.requantize import Int64Array

Reals = npt.NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)


class LayerKind(Enum):
    """What kind of layer it is; the value names an engine's function, behind its prefix."""

    CONV_2D = "conv_2d"
    DEPTHWISE_CONV_2D = "depthwise_conv_2d"
    FULLY_CONNECTED = "fully_connected"


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Op):
    """A layer: sums of products with a bias; of integers requantized per output channel.

    Subclasses say what passes and calibration ask of layers. What a layer leaves as it is here, it does not have.
    """

    result_range: ClassVar[Range] = Range.OWN
    layer_kind: ClassVar[LayerKind | None] = None  # as which engines beside the CPU take it
    has_narrow_form: ClassVar[bool] = False  # whether there are kernels for weights of other than eight bits

    input: Tensor
    weights: Tensor
    bias: Tensor | None  # [C_OUT], int32, of int16 int64, or float32
    output: Tensor  # [..., C_OUT]
    clamp: Clamp

    @property
    def channel_axis(self) -> int:
        """The axis of the weights that counts output channels."""
        return 0

    @property
    def input_axis(self) -> int | None:
        """The axis of the weights that counts input channels, or those of a group."""
        return None

    @property
    def channels(self) -> int:
        """Output channels."""
        return self.weights.shape[self.channel_axis]

    @property
    def products_per_output(self) -> int:
        """Products that are added for each element of the result."""
        return self.weights.type.elements // self.channels if self.channels else 0

    @property
    def summation(self) -> Summation:
        return Summation(self.products_per_output, are_products=True)

    @property
    def filters(self) -> Filters:
        return Filters(self.weights, self.bias, self.channel_axis, self.input_axis)

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    @property
    def scaling_constants(self) -> ScalingConstants:
        return self.output_stage.scaling_constants()

    def precision_points(self) -> tuple[Point, ...]:
        is_wide = self.output.type.dtype is DType.INT16
        sums, accumulator = ("int64", "int64") if is_wide else ("int32", "int32, wraps")
        return (
            *offsets(self.input),
            weights_point(self.weights),
            *bias_points(self.bias, sums),
            Point("product", "int16 x int16 in int32"),
            Point("accumulator", accumulator),
            *requantized(self.output),
        )

    @property
    def is_padded(self) -> bool:
        """Whether some weights may meet padding, which stands for the input's zero point."""
        return False

    @property
    def convolution_form(self) -> ConvolutionForm | None:
        """The layer as a convolution, its filters those of `by_output`; None where it is none."""
        return None

    @property
    def has_sign_form(self) -> bool:
        """Whether there are kernels for an input and weights of single bits."""
        return False

    def on_signs(self, depth: int) -> Op:
        """The layer on an input of signs, whose pixels have `depth` channels; asked of layers with a sign form."""
        raise NotImplementedError(f"{type(self).__name__} has no form on signs of depth {depth}")

    def as_product(self, of_windows: bool = False) -> Op | None:  # noqa: ARG002 - for subclasses
        """The same sums, rounded alike, as those of a matrix and a vector; None where they are none, or that already.

        For them there may be faster kernels. `of_windows`: of filters over several pixels that are all of the image;
        else of those over a single one.
        """
        return None

    def weights_by_taps(self) -> Int64Array | None:
        """Constant weights [C_OUT, taps, C_IN] where outputs are sums over all taps of all channels of the input."""
        return None

    def sums_of_means(self, weights: Reals, means: Reals) -> Reals | None:  # noqa: ARG002 - for subclasses
        """The mean of each output channel's sums with other weights, for an input whose channels have these means.

        [C_OUT]; None where it does not follow from them.
        """
        return None

    @property
    def input_groups(self) -> int | None:
        """Groups of inputs: 1 where all output channels see the same, or one per channel; None for anything else."""
        return None

    def inputs_of_weights(self, values: Reals, most: int) -> Reals:
        """What weights are multiplied with, [input_groups, positions, products_per_output].

        Of more than `most` positions about as many, evenly spaced. Asked of layers with such groups.
        """
        raise NotImplementedError(f"{type(self).__name__} has no groups of inputs {values.shape}, at most {most}")

    def by_output(self, weights: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Weights, or numbers of their shape, as [C_OUT, products_per_output]."""
        return np.moveaxis(weights, self.channel_axis, 0).reshape(self.channels, -1)


def spaced(positions: int, most: int) -> slice:
    """Of so many positions evenly spaced ones, less than twice `most`."""
    return slice(None, None, max(1, positions // most))
