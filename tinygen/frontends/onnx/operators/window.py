"""Windows as ONNX spells them: kernel, strides, dilations, pads, auto_pad, ceil_mode; and 1-D ones as rows of 1."""

from dataclasses import dataclass, replace

from tinygen.frontends.onnx.builder import NHWC
from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Order, Placed
from tinygen.ir.tensor import Tensor
from tinygen.ops.window import HW, Padding, PaddingMode, Window, padding_for

_MAX_NUMBER = 1 << 20  # of kernel, stride, dilation and padding
_NWC: Order = (0, 2, 1)


@dataclass(frozen=True)
class Frame:
    """How an operator sees its input: as images, where rank 3 stands for images of one row."""

    rank: int

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> "Frame":
        """The frame of an input [N, C, W] or [N, C, H, W]."""
        if len(shape) not in (3, 4):
            raise UnsupportedError(f"input has shape {list(shape)}, 3 or 4 dimensions were expected")
        return cls(len(shape))

    @property
    def order(self) -> Order:
        """Axes with the channels last."""
        return NHWC if self.rank == 4 else _NWC

    def size(self, shape: tuple[int, ...]) -> HW:
        """Height and width of [N, C, H, W] or [N, C, W]."""
        return HW(shape[2], shape[3]) if self.rank == 4 else HW(1, shape[2])

    def onnx_shape(self, batch: int, channels: int, size: HW) -> tuple[int, ...]:
        """Shape of a result in the file."""
        return (batch, channels, size.h, size.w) if self.rank == 4 else (batch, channels, size.w)

    def image(self, node: Node, placed: Placed) -> Tensor:
        """The input as [N, H, W, C]."""
        tensor = node.builder.arranged(placed, self.order)
        if self.rank == 4:
            return tensor
        batch, width, channels = tensor.shape
        name = node.builder.derive(tensor.name, "image")
        return node.builder.reshaped(tensor, (batch, 1, width, channels), name, node.source)

    def placed(self, node: Node, image: Tensor, name: str) -> Placed:
        """A result [N, H, W, C], which bears `name` unless it must be reshaped to a tensor of that name."""
        if self.rank == 4:
            return Placed(image, NHWC)
        batch, _, width, channels = image.shape
        return Placed(node.builder.reshaped(image, (batch, width, channels), name, node.source), _NWC)

    def image_name(self, node: Node, name: str) -> str:
        """The name of the image that becomes the result `name`."""
        return name if self.rank == 4 else node.builder.derive(name, "image")


def window_of(node: Node, frame: Frame, size: HW, kernel: tuple[int, ...]) -> Window:
    """The window over an input of `size`; ceil_mode becomes padding at the end."""
    axes = frame.rank - 2
    shape = node.integer_list("kernel_shape", kernel) if kernel else node.integer_list("kernel_shape")
    if len(shape) != axes or (kernel and shape != kernel):
        raise UnsupportedError(f"kernel_shape is {list(shape)}, {list(kernel)} of the weights was expected")
    numbers = (*shape, *node.integer_list("strides", (1,) * axes), *node.integer_list("dilations", (1,) * axes))
    if not all(0 < number <= _MAX_NUMBER for number in numbers):
        raise UnsupportedError(f"kernel, strides and dilations {list(numbers)}, positive numbers were expected")
    bare = Window(pair(numbers[:axes]), pair(numbers[axes : 2 * axes]), pair(numbers[2 * axes :]))
    padded = replace(bare, padding=_padding(node, axes, size, bare))
    return _with_ceil(padded, size) if node.integer("ceil_mode", 0) else padded


def output_size(window: Window, size: HW) -> HW:
    """Positions of the window; UnsupportedError where there are none."""
    positions = window.output_size(size.h, size.w)
    if min(positions.h, positions.w) < 1:
        raise UnsupportedError(f"a window of {window.extent} does not fit an input of {size}")
    return positions


def stated_padding(node: Node, size: HW, window: Window) -> Padding:
    """The padding that a node names, of rows too where it is 1-D, without what ceil_mode adds."""
    return _padding(node, len(node.integer_list("kernel_shape")), size, window)


def _padding(node: Node, axes: int, size: HW, window: Window) -> Padding:
    mode = node.text("auto_pad", "NOTSET")
    if mode == "NOTSET":
        pads = node.integer_list("pads", (0,) * (2 * axes))
        if not all(0 <= number <= _MAX_NUMBER for number in pads):
            raise UnsupportedError(f"pads are {list(pads)}, numbers >= 0 were expected")
        before, after = pair(pads[:axes], 0), pair(pads[axes:], 0)
        return Padding(before.h, after.h, before.w, after.w)
    if mode not in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        raise UnsupportedError(f"auto_pad is '{mode}', NOTSET, SAME_UPPER, SAME_LOWER or VALID was expected")
    kind = PaddingMode.VALID if mode == "VALID" else PaddingMode.SAME
    padding = padding_for(kind, size, window.kernel, window.stride, window.dilation)
    return Padding(padding.bottom, padding.top, padding.right, padding.left) if mode == "SAME_LOWER" else padding


def _with_ceil(window: Window, size: HW) -> Window:
    """The window with as much more padding at the end as lets the last, partial position count."""
    pad = window.padding
    bottom = _missing(size.h, pad.top, pad.bottom, window.extent.h, window.stride.h)
    right = _missing(size.w, pad.left, pad.right, window.extent.w, window.stride.w)
    return replace(window, padding=Padding(pad.top, pad.bottom + bottom, pad.left, pad.right + right))


def _missing(size: int, before: int, after: int, extent: int, stride: int) -> int:
    """Padding up to the last position, which must begin within the input or the padding before it."""
    span = size + before + after - extent
    positions = -(-span // stride) + 1
    if (positions - 1) * stride >= size + before:
        positions -= 1
    return max(0, (positions - 1) * stride - span)


def pair(numbers: tuple[int, ...], row: int = 1) -> HW:
    """Numbers of two axes, or of the width alone."""
    return HW(*numbers) if len(numbers) == 2 else HW(row, *numbers)
