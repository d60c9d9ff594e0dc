"""Resizing of images."""

import math

import numpy as np

from tinygen.frontends.onnx.builder import NHWC
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Pending, Placed, Real
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.resize import ResizeBilinear, ResizeNearest

_MAX_SIZE = 32767
_WHOLE = 1e-3
_FLAGS = ((False, False), (True, False), (False, True), (True, True))  # align_corners, half_pixel_centers


def read_resize(node: Node) -> Pending:
    """Resize: nearest and linear, height and width, to constant sizes."""
    input = node.real(0)
    if len(input.shape) != 4:
        raise UnsupportedError(f"input has shape {list(input.shape)}, 4 dimensions were expected")
    node.check_attributes(antialias=0, exclude_outside=0)
    size = _size(node, input.shape)
    shape = (*input.shape[:2], *size)
    mode, transformation = node.text("mode", "nearest"), node.text("coordinate_transformation_mode", "half_pixel")
    if mode not in ("nearest", "linear"):
        raise UnsupportedError(f"mode is '{mode}', nearest or linear was expected")
    flags = (
        _linear_flags(transformation, size) if mode == "linear" else _nearest_flags(node, transformation, input, size)
    )
    kind = ResizeBilinear if mode == "linear" else ResizeNearest

    def make(inputs: tuple[Placed, ...], quant: Quant, name: str) -> Placed:
        op = kind(
            name=name,
            source=node.source,
            input=node.builder.arranged(inputs[0], NHWC),
            output=node.builder.int8(name, (shape[0], *size, shape[1]), quant),
            align_corners=flags[0],
            half_pixel_centers=flags[1],
        )
        return node.emit(op, NHWC)

    return node.kept((input,), shape, make)


def _linear_flags(transformation: str, size: tuple[int, int]) -> tuple[bool, bool]:
    if transformation not in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        raise UnsupportedError(f"coordinate_transformation_mode is '{transformation}', half_pixel was expected")
    if transformation == "pytorch_half_pixel" and 1 in size:
        raise UnsupportedError("pytorch_half_pixel to a size of 1, half_pixel was expected")
    return transformation == "align_corners", transformation in ("half_pixel", "pytorch_half_pixel")


def _nearest_flags(node: Node, transformation: str, input: Real, size: tuple[int, int]) -> tuple[bool, bool]:
    """The flags under which the IR's operator takes the same pixels as ONNX."""
    wanted = [_sources(node, transformation, *sizes) for sizes in zip(input.shape[2:], size, strict=True)]
    for align, half_pixel in _FLAGS:
        probe = ResizeNearest(
            name="probe",
            source=node.source,
            input=Tensor("input", TensorType(DType.INT8, (1, *input.shape[2:], 1))),
            output=Tensor("output", TensorType(DType.INT8, (1, *size, 1))),
            align_corners=align,
            half_pixel_centers=half_pixel,
        )
        if [probe.rows, probe.columns] == wanted:
            return align, half_pixel
    raise UnsupportedError(f"{transformation} with this nearest_mode takes other pixels than tinygen's resizing")


def _size(node: Node, shape: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of the result, from input 3 or from the factors in input 2."""
    axes = node.axes_of(node.integer_list("axes"), 4) if "axes" in node.raw.attributes else (0, 1, 2, 3)
    own = [shape[axis] for axis in axes]
    has_sizes = node.has_input(3) and node.constant(3, "sizes").size > 0
    sizes = node.integers(3, "sizes") if has_sizes else _scaled(node, own)
    if node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise UnsupportedError("keeps the aspect ratio, sizes as they are were expected")
    if len(sizes) != len(axes):
        raise UnsupportedError(f"{len(sizes)} sizes for {len(axes)} axes")
    target = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        target[axis] = size
    if tuple(target[:2]) != shape[:2] or not all(1 <= size <= _MAX_SIZE for size in target):
        raise UnsupportedError(f"resizes {list(shape)} to {target}, another height and width were expected")
    return target[2], target[3]


def _scaled(node: Node, sizes: list[int]) -> tuple[int, ...]:
    """Sizes times constant factors, which must give whole numbers: ONNX's positions follow the factors."""
    array = node.constant(2, "scales")
    factors = [float(factor) for factor in array.reshape(-1)] if array.dtype == np.float32 else []
    if len(factors) != len(sizes) or not all(0 < factor < _MAX_SIZE for factor in factors):
        raise UnsupportedError(f"scales are {array.dtype}{list(array.shape)}, {len(sizes)} positive ones were expected")
    scaled = [size * factor for size, factor in zip(sizes, factors, strict=True)]
    if any(abs(size - round(size)) > _WHOLE for size in scaled):
        raise UnsupportedError(f"scales {factors} of sizes {sizes} give no whole numbers")
    return tuple(round(size) for size in scaled)


def _sources(node: Node, transformation: str, input_size: int, output_size: int) -> tuple[int, ...]:
    """The input position that ONNX takes for each output position."""
    factor = output_size / input_size
    nearest = node.text("nearest_mode", "round_prefer_floor")
    rounding = {
        "round_prefer_floor": lambda x: math.ceil(x - 0.5),
        "round_prefer_ceil": lambda x: math.floor(x + 0.5),
        "floor": math.floor,
        "ceil": math.ceil,
    }
    if nearest not in rounding:
        raise UnsupportedError(f"nearest_mode is '{nearest}', one of {', '.join(rounding)} was expected")
    positions = [_position(transformation, index, factor, input_size, output_size) for index in range(output_size)]
    return tuple(min(max(rounding[nearest](position), 0), input_size - 1) for position in positions)


def _position(transformation: str, index: int, factor: float, input_size: int, output_size: int) -> float:
    match transformation:
        case "half_pixel":
            return (index + 0.5) / factor - 0.5
        case "pytorch_half_pixel":
            return (index + 0.5) / factor - 0.5 if output_size > 1 else 0.0
        case "align_corners":
            return index * (input_size - 1) / (output_size - 1) if output_size > 1 else 0.0
        case "asymmetric":
            return index / factor
    raise UnsupportedError(f"coordinate_transformation_mode is '{transformation}', half_pixel was expected")


READERS: Readers = {"Resize": read_resize}
