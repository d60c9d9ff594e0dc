"""Resizing of images."""

import tflite

from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ops.resize import ResizeBilinear, ResizeNearest


def read_resize_bilinear(node: Node) -> ResizeBilinear:
    """RESIZE_BILINEAR."""
    _check_size(node)
    options = node.options(tflite.ResizeBilinearOptions)
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


def _check_size(node: Node) -> None:
    size = node.integers(1, "size")
    if size != node.output().shape[1:3]:
        raise UnsupportedError(f"size {list(size)} does not fit output {list(node.output().shape)}")


READERS: Readers = {
    "RESIZE_BILINEAR": read_resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": read_resize_nearest_neighbor,
}
