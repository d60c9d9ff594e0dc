"""Moves explicit padding into the windows that read it."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.pad import Pad
from tinygen.ops.window import Padding
from tinygen.ops.windowed import Windowed


def fold_padding(graph: Graph) -> Graph:
    """Let convolutions and max pools pad by themselves where their padding means the same.

    Average pools do not count their own padding, so they keep a Pad before them. So do windows that lie in nothing but
    padding: there CMSIS-NN's depthwise kernels clear more scratch than they have.
    """
    pads = {op.output: op for op in graph.ops if isinstance(op, Pad)}
    folded = {pad.output: pad for pad in pads.values() if _folds_everywhere(pad, graph)}
    if not folded:
        return graph
    ops = tuple(_with_padding(op, folded) for op in graph.ops if op.results[0] not in folded)
    return replace(graph, ops=ops)


def _folds_everywhere(pad: Pad, graph: Graph) -> bool:
    """Whether all readers can take over the padding, so that the padded tensor is not needed any more."""
    readers = graph.consumers.get(pad.output, ())
    is_spatial = len(pad.before) == 4 and not any((pad.before[0], pad.after[0], pad.before[3], pad.after[3]))
    return (
        is_spatial
        and bool(readers)
        and pad.output not in graph.output_tensors
        and all(_folds_into(pad, reader) for reader in readers)
    )


def _folds_into(pad: Pad, reader: Op) -> bool:
    return isinstance(reader, Windowed) and pad.value == reader.padding_value and _every_window_has_input(pad, reader)


def _every_window_has_input(pad: Pad, reader: Windowed) -> bool:
    total, extent = _sum(pad, reader.padding), reader.window.extent
    return max(total.top, total.bottom) < extent.h and max(total.left, total.right) < extent.w


def _with_padding(op: Op, pads: dict[Tensor, Pad]) -> Op:
    if not isinstance(op, Windowed) or op.input not in pads:
        return op
    pad = pads[op.input]
    return replace(op, input=pad.input, padding=_sum(pad, op.padding))


def _sum(pad: Pad, own: Padding) -> Padding:
    return Padding(
        top=pad.before[1] + own.top,
        bottom=pad.after[1] + own.bottom,
        left=pad.before[2] + own.left,
        right=pad.after[2] + own.right,
    )
