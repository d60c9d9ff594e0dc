"""The structs of a window that moves over images."""

from dataclasses import dataclass

from tinygen.ir.types import TensorType
from tinygen.ops.clamp import UNLIMITED, Clamp
from tinygen.ops.window import HW, UNIT


@dataclass(frozen=True)
class ImageStruct:
    """struct tg_image."""

    height: int
    width: int
    channels: int

    @classmethod
    def of(cls, type: TensorType) -> "ImageStruct":
        """The size of NHWC images."""
        return cls(*type.shape[1:])


@dataclass(frozen=True)
class WindowF32:
    """struct tg_window."""

    batches: int
    input: ImageStruct
    output: ImageStruct
    kernel: HW
    stride: HW = UNIT
    dilation: HW = UNIT
    top: int = 0
    left: int = 0
    groups: int = 1
    bounds: Clamp = UNLIMITED
