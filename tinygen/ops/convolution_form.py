"""Layers as convolutions: what kernels need to know that take every layer alike."""

from dataclasses import dataclass

from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding

Shape4 = tuple[int, int, int, int]


@dataclass(frozen=True)
class ConvolutionForm:
    """Sizes and steps of the convolution that a layer is; of fully connected layers images are pixels."""

    input: Shape4  # [N, H, W, C_IN]
    filters: Shape4  # [C_OUT, KH, KW, C_IN / groups]
    output: Shape4  # [N, OH, OW, C_OUT]
    stride: HW = UNIT
    padding: Padding = NO_PADDING
    dilation: HW = UNIT

    @property
    def filters_of_group(self) -> int:
        """Output channels that see the same channels of the input."""
        return self.filters[0] * self.filters[3] // self.input[3]

    @property
    def is_vector_product(self) -> bool:
        """Whether it multiplies one vector with a matrix."""
        covers_all = self.filters[1:] == self.input[1:]
        return covers_all and self.input[:3] == self.output[:3] == (1, 1, 1)
