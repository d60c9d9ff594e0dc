"""What convolutions of tinygen's own read and write: struct tg_geometry, and the kernels whose layers begin with it."""

from dataclasses import dataclass

from tinygen.ir.types import TensorType
from tinygen.kernels.base import Kernel
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.ops.clamp import Clamp
from tinygen.ops.window import HW, Padding

_POINT = TileStruct(w=1, h=1)
_NO_PADDING = TileStruct(w=0, h=0)


@dataclass(frozen=True)
class Geometry:
    """Sizes and steps of a convolution; fully connected layers are images of one pixel."""

    input_dims: Dims
    filter_dims: Dims  # n: output channels, c: the depth of one group
    output_dims: Dims
    stride: TileStruct = _POINT
    padding: TileStruct = _NO_PADDING
    dilation: TileStruct = _POINT

    @classmethod
    def of_images(
        cls, input: TensorType, filters: Dims, output: TensorType, stride: HW, padding: Padding, dilation: HW
    ) -> "Geometry":
        """Filters over NHWC images."""
        return cls(
            Dims.nhwc(input),
            filters,
            Dims.nhwc(output),
            TileStruct.of(stride),
            TileStruct(w=padding.left, h=padding.top),
            TileStruct.of(dilation),
        )

    @classmethod
    def of_rows(cls, rows: int, features: int, units: int) -> "Geometry":
        """A fully connected layer: images of one pixel."""
        return cls(Dims(rows, 1, 1, features), Dims(units, 1, 1, features), Dims(rows, 1, 1, units))

    @property
    def window(self) -> int:
        """Elements of one filter."""
        return self.filter_dims.h * self.filter_dims.w * self.filter_dims.c


@dataclass(frozen=True, eq=False, kw_only=True)
class GeometricKernel(Kernel):
    """A kernel whose layer description has a struct tg_geometry."""

    geometry: Geometry
    filters_of_group: int
    activation: Clamp
