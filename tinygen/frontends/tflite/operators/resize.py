"""Resizing of images."""

import tflite

from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.stored import as_stored
from tinygen.ir.graph import Op
from tinygen.ops.interpolate import Interpolate, Neighbours
from tinygen.ops.resize import ResizeBilinear, ResizeNearest


def read_resize_bilinear(node: Node) -> Op:
    """RESIZE_BILINEAR: between four pixels, of int8 all in integers."""
    _check_size(node)
    options = node.options(tflite.ResizeBilinearOptions)
    if node.output().type.dtype.is_real:
        return _interpolate(node, bool(options.AlignCorners()), bool(options.HalfPixelCenters()))
    return ResizeBilinear(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        align_corners=bool(options.AlignCorners()),
        half_pixel_centers=bool(options.HalfPixelCenters()),
    )


def read_resize_nearest_neighbor(node: Node) -> ResizeNearest:
    """RESIZE_NEAREST_NEIGHBOR."""
    _check_size(node)
    options = node.options(tflite.ResizeNearestNeighborOptions)
    return ResizeNearest(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        align_corners=bool(options.AlignCorners()),
        half_pixel_centers=bool(options.HalfPixelCenters()),
    )


def _interpolate(node: Node, align_corners: bool, half_pixel_centers: bool) -> Interpolate:
    input, output = node.input(0), node.output()
    if len(input.shape) != 4 or len(output.shape) != 4 or 0 in (*input.shape, *output.shape):
        raise UnsupportedError(f"input {list(input.shape)} and output {list(output.shape)} must be images")
    rows, columns = (
        Neighbours.resizing(input.shape[axis], output.shape[axis], align_corners, half_pixel_centers) for axis in (1, 2)
    )
    return Interpolate(name=node.name, source=node.source, input=input, output=output, rows=rows, columns=columns)


def _check_size(node: Node) -> None:
    size = node.integers(1, "size")
    if size != node.output().shape[1:3]:
        raise UnsupportedError(f"size {list(size)} does not fit output {list(node.output().shape)}")


READERS: Readers = as_stored(
    {
        "RESIZE_BILINEAR": read_resize_bilinear,
        "RESIZE_NEAREST_NEIGHBOR": read_resize_nearest_neighbor,
    },
    {
        "RESIZE_NEAREST_NEIGHBOR": 0,
    },
)
