"""Blocks of pixels that become channels, and the reverse."""

from tinygen.frontends.onnx.builder import NHWC
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Placed, Real
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import TensorType
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.transpose import Transpose


def read_depth_to_space(node: Node) -> Real:
    """DepthToSpace: channels [block, block, C] (DCR), or [C, block, block] (CRD), become pixels."""
    input, block, is_crd = node.real(0), _block(node), _is_crd(node)
    batch, channels, height, width = _nchw(input.shape)
    if channels % block**2:
        raise UnsupportedError(f"{channels} channels do not divide into blocks of {block} x {block}")
    shape = (batch, channels // block**2, height * block, width * block)

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        image = node.builder.arranged(inputs[0], NHWC)
        if is_crd:
            image = _regrouped(node, image, (shape[1], block**2), name)
        output = node.builder.result(name, _nhwc(shape), quant)
        op = DepthToSpace(name=name, source=node.source, input=image, output=output, block=block)
        return node.emit(op, NHWC)

    return node.kept((input,), shape, make)


def read_space_to_depth(node: Node) -> Real:
    """SpaceToDepth: pixels become channels [block, block, C] (DCR), or [C, block, block] (CRD)."""
    input, block, is_crd = node.real(0), _block(node), _is_crd(node)
    batch, channels, height, width = _nchw(input.shape)
    if height % block or width % block:
        raise UnsupportedError(f"{height} x {width} pixels do not divide into blocks of {block} x {block}")
    shape = (batch, channels * block**2, height // block, width // block)

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        image = node.builder.arranged(inputs[0], NHWC)
        own = node.builder.derive(name, "blocks") if is_crd else name
        output = node.builder.result(own, _nhwc(shape), quant)
        node.builder.add(SpaceToDepth(name=own, source=node.source, input=image, output=output, block=block))
        regrouped = _regrouped(node, output, (block**2, channels), name, name) if is_crd else output
        return Placed(regrouped, NHWC)

    return node.kept((input,), shape, make)


def _regrouped(node: Node, image: Tensor, groups: tuple[int, int], stem: str, name: str = "") -> Tensor:
    """The image with its channels, seen as a matrix of `groups`, transposed."""
    builder, split = node.builder, (*image.shape[:3], *groups)
    matrices = builder.reshaped(image, split, builder.derive(stem, "split"), node.source)
    turned = Tensor(
        builder.derive(stem, "turned"), TensorType(image.type.dtype, (*split[:3], *split[:2:-1]), image.type.quant)
    )
    builder.add(
        Transpose(name=turned.name, source=node.source, input=matrices, output=turned, permutation=(0, 1, 2, 4, 3))
    )
    return builder.reshaped(turned, image.shape, name or builder.derive(stem, "regrouped"), node.source)


def _block(node: Node) -> int:
    block = node.integer("blocksize", 0)
    if not 0 < block < 1 << 15:
        raise UnsupportedError(f"blocksize is {block}, a positive number was expected")
    return block


def _is_crd(node: Node) -> bool:
    mode = node.text("mode", "DCR")
    if mode not in ("DCR", "CRD"):
        raise UnsupportedError(f"mode is '{mode}', DCR or CRD was expected")
    return mode == "CRD"


def _nchw(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    if len(shape) != 4:
        raise UnsupportedError(f"input has shape {list(shape)}, 4 dimensions were expected")
    batch, channels, height, width = shape
    return batch, channels, height, width


def _nhwc(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape[axis] for axis in NHWC)


READERS: Readers = {"DepthToSpace": read_depth_to_space, "SpaceToDepth": read_space_to_depth}
