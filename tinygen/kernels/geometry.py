"""What convolutions of tinygen's own read and write: struct tg_geometry, and the kernels whose layers begin with it."""

from dataclasses import dataclass

from tinygen.kernels.base import Kernel
from tinygen.kernels.cmsis_nn.shapes import Dims, TileStruct
from tinygen.ops.clamp import Clamp
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.weighted import Weighted

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
    def of(cls, form: ConvolutionForm) -> "Geometry":
        """Those of a layer as a convolution."""
        return cls(
            Dims(*form.input),
            Dims(*form.filters),
            Dims(*form.output),
            TileStruct.of(form.stride),
            TileStruct(w=form.padding.left, h=form.padding.top),
            TileStruct.of(form.dilation),
        )

    @property
    def window(self) -> int:
        """Elements of one filter."""
        return self.filter_dims.h * self.filter_dims.w * self.filter_dims.c


def form_of(op: Weighted) -> ConvolutionForm:
    """The layer as a convolution; ValueError where it is none."""
    if op.convolution_form is None:
        raise ValueError(f"{op} is no convolution")
    return op.convolution_form


@dataclass(frozen=True, eq=False, kw_only=True)
class GeometricKernel(Kernel):
    """A kernel whose layer description has a struct tg_geometry."""

    geometry: Geometry
    filters_of_group: int
    activation: Clamp
