"""Where the pixels of a resized image come from, axis by axis, as ONNX defines it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.ir.types import Array
from tinygen.ops.interpolate import Neighbours

_MAX_SIZE = 32767
_FIRST_WITH_MODES = 11  # opset: before, positions were always index / factor
_ROUNDINGS: Mapping[str, Callable[[float], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: math.floor(x + 0.5),
    "floor": math.floor,
    "ceil": math.ceil,
}


@dataclass(frozen=True)
class Axis:
    """One axis of an image that is resized."""

    input_size: int
    output_size: int
    factor: float  # which positions follow; not always the quotient of the sizes
    crop: tuple[float, float] = (0.0, 1.0)  # part of the input that is taken, where positions are those of a crop

    def position(self, transformation: str, index: int) -> float:
        """The position in the input of an output position."""
        length = self.factor * self.input_size  # of the output, where that is no whole number
        match transformation:
            case "half_pixel":
                return (index + 0.5) / self.factor - 0.5
            case "half_pixel_symmetric":
                offset = self.input_size / 2 * (1 - self.output_size / length)
                return offset + (index + 0.5) / self.factor - 0.5
            case "pytorch_half_pixel":
                return (index + 0.5) / self.factor - 0.5 if self.output_size > 1 else 0.0
            case "align_corners":
                return index * (self.input_size - 1) / (length - 1) if self.output_size > 1 else 0.0
            case "asymmetric":
                return index / self.factor
            case "tf_crop_and_resize":
                return self._cropped(index)
        raise UnsupportedError(f"coordinate_transformation_mode is '{transformation}', half_pixel was expected")

    def _cropped(self, index: int) -> float:
        start, end = (bound * (self.input_size - 1) for bound in self.crop)
        if self.output_size == 1:
            return (start + end) / 2
        return start + index * (end - start) / (self.output_size - 1)


@dataclass(frozen=True)
class NodeSampling:
    """How a node resizes the height and width of an image."""

    axes: tuple[Axis, Axis]
    transformation: str
    rounding: str

    @property
    def nearest(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The input row of each output row, the input column of each output column."""
        rows, columns = (self._nearest(axis) for axis in self.axes)
        return rows, columns

    @property
    def neighbours(self) -> tuple[Neighbours, Neighbours]:
        """Between which rows and columns each output row and column lies."""
        rows, columns = (Neighbours.at(self._positions(axis), axis.input_size) for axis in self.axes)
        return rows, columns

    def _positions(self, axis: Axis) -> tuple[float, ...]:
        found = tuple(axis.position(self.transformation, index) for index in range(axis.output_size))
        if self.transformation == "tf_crop_and_resize" and not all(0 <= at <= axis.input_size - 1 for at in found):
            raise UnsupportedError("crops beyond the edge of the image, a part of it was expected")
        return found

    def _nearest(self, axis: Axis) -> tuple[int, ...]:
        if self.rounding not in _ROUNDINGS:
            raise UnsupportedError(f"nearest_mode is '{self.rounding}', one of {', '.join(_ROUNDINGS)} was expected")
        rounded = (_ROUNDINGS[self.rounding](position) for position in self._positions(axis))
        return tuple(min(max(index, 0), axis.input_size - 1) for index in rounded)


def sampling_of(node: Node, shape: tuple[int, ...]) -> NodeSampling:
    """The sampling of Resize, or of Upsample, on an input [N, C, H, W]."""
    if node.opset < _FIRST_WITH_MODES:
        return NodeSampling(_axes(node, shape, _old_factors(node), None), "asymmetric", "floor")
    node.check_attributes(antialias=0, exclude_outside=0)
    has_sizes = node.has_input(3) and node.constant(3, "sizes").size > 0
    sizes = node.integers(3, "sizes") if has_sizes else None
    factors = None if has_sizes else _numbers(node, node.constant(2, "scales"))
    return NodeSampling(
        _axes(node, shape, factors, sizes),
        node.text("coordinate_transformation_mode", "half_pixel"),
        node.text("nearest_mode", "round_prefer_floor"),
    )


def _old_factors(node: Node) -> tuple[float, ...]:
    """Factors before opset 11: an attribute before opset 9, then an input."""
    stored = node.raw.attributes.get("scales") if node.opset < 9 else node.constant(1, "scales")
    return _numbers(node, np.asarray(stored if stored is not None else (), np.float32))


def _numbers(node: Node, array: Array) -> tuple[float, ...]:
    if array.dtype != np.float32 or array.size > len(node.shape(0)):
        raise UnsupportedError(f"scales are {array.dtype}{list(array.shape)}, one float32 per axis was expected")
    return tuple(float(factor) for factor in array.reshape(-1))


def _axes(
    node: Node, shape: tuple[int, ...], factors: tuple[float, ...] | None, sizes: tuple[int, ...] | None
) -> tuple[Axis, Axis]:
    named = node.integer_list("axes") if "axes" in node.raw.attributes else tuple(range(len(shape)))
    node.axes_of(named, len(shape))
    axes = tuple(axis % len(shape) for axis in named)
    count = len(sizes if sizes is not None else factors or ())
    if count != len(axes):
        raise UnsupportedError(f"{count} sizes or scales for {len(axes)} axes")
    found = {axis: Axis(size, size, 1.0) for axis, size in enumerate(shape)}
    for position, axis in enumerate(axes):
        crop = _crop(node, position, len(axes))
        if sizes is not None:
            factor, size = _by_size(node, [shape[axis] for axis in axes], sizes, position)
        else:
            assert factors is not None
            factor = factors[position]
            size = _scaled(shape[axis], factor)
        found[axis] = Axis(shape[axis], size, factor, crop)
    if any(found[axis].output_size != shape[axis] for axis in (0, 1)):
        raise UnsupportedError("resizes the batch or the channels, height and width were expected")
    if not all(1 <= axis.output_size <= _MAX_SIZE for axis in found.values()):
        raise UnsupportedError(f"resizes to {[axis.output_size for axis in found.values()]}, 1 to {_MAX_SIZE} each")
    return found[2], found[3]


def _scaled(size: int, factor: float) -> int:
    if not 0 < factor < _MAX_SIZE:
        raise UnsupportedError(f"a scale is {factor}, a positive number was expected")
    return math.floor(size * factor)


def _by_size(node: Node, own: list[int], sizes: tuple[int, ...], position: int) -> tuple[float, int]:
    """Factor and output size of an axis, of which sizes are given."""
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if not all(0 < size <= _MAX_SIZE for size in sizes):
        raise UnsupportedError(f"sizes are {list(sizes)}, 1 to {_MAX_SIZE} were expected")
    factors = [size / before for size, before in zip(sizes, own, strict=True)]
    if policy == "stretch":
        return factors[position], sizes[position]
    if policy not in ("not_larger", "not_smaller"):
        raise UnsupportedError(f"keep_aspect_ratio_policy is '{policy}', stretch was expected")
    factor = min(factors) if policy == "not_larger" else max(factors)
    return factor, math.floor(own[position] * factor + 0.5)


def _crop(node: Node, position: int, count: int) -> tuple[float, float]:
    """The part of an axis that input 1 names: all starts, then all ends."""
    if node.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
        return 0.0, 1.0
    region = node.constant(1, "roi").reshape(-1).astype(np.float64)
    if region.size != 2 * count or not np.isfinite(region).all():
        raise UnsupportedError(f"roi has {region.size} numbers, {2 * count} were expected")
    return float(region[position]), float(region[position + count])
