"""Dilated convolutions as older converters spell them: on batches of every n-th pixel, put together again behind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import tflite

from tinygen.frontends.tflite.raw import RawOperator, RawSubgraph
from tinygen.ir.tensor import Tensor
from tinygen.ops.window import HW, Padding

_CONVOLUTIONS = {"CONV_2D": tflite.Conv2DOptions, "DEPTHWISE_CONV_2D": tflite.DepthwiseConv2DOptions}
_AXES = 2


@dataclass(frozen=True)
class Dilated:
    """What the operators around a convolution do for it."""

    convolution: int  # number of the operator
    input: int  # tensors that it reads and writes instead
    output: int
    dilation: HW
    padding: Padding

    def of(self, raw: RawOperator) -> RawOperator:
        """The convolution between other tensors."""
        return replace(raw, inputs=(self.input, *raw.inputs[1:]), outputs=(self.output,))


def dilated_convolutions(
    subgraph: RawSubgraph, tensors: Mapping[int, Tensor]
) -> tuple[Mapping[int, Dilated], frozenset[int]]:
    """By their numbers the convolutions that are dilated, and the operators around them that are not needed."""
    found: dict[int, Dilated] = {}
    removed: set[int] = set()
    by_output = {index: raw for raw in subgraph.operators for index in raw.outputs}
    for behind in (raw for raw in subgraph.operators if raw.name == "BATCH_TO_SPACE_ND"):
        convolution = by_output.get(behind.inputs[0]) if behind.inputs else None
        before = by_output.get(convolution.inputs[0]) if convolution is not None and convolution.inputs else None
        if convolution is None or before is None or convolution.name not in _CONVOLUTIONS:
            continue
        if not before.inputs or not behind.outputs:
            continue
        if before.name != "SPACE_TO_BATCH_ND" or not _is_between(subgraph, before, convolution, behind):
            continue
        dilated = _dilated(convolution, before, behind, tensors)
        if dilated is not None:
            found[convolution.index] = dilated
            removed |= {before.index, behind.index}
    return found, frozenset(removed)


def _is_plain(raw: RawOperator) -> bool:
    """Whether a convolution has neither stride, dilation nor padding of its own."""
    options = raw.options(_CONVOLUTIONS[raw.name])
    steps = (options.StrideH(), options.StrideW(), options.DilationHFactor(), options.DilationWFactor())
    return steps == (1, 1, 1, 1) and options.Padding() == tflite.Padding.VALID


def _is_between(subgraph: RawSubgraph, before: RawOperator, convolution: RawOperator, behind: RawOperator) -> bool:
    """Whether nobody else reads what the first two compute."""
    for first, second in ((before, convolution), (convolution, behind)):
        readers = [raw for raw in subgraph.operators if first.outputs[0] in raw.inputs]
        if readers != [second] or first.outputs[0] in subgraph.outputs:
            return False
    return True


def _dilated(
    convolution: RawOperator, before: RawOperator, behind: RawOperator, tensors: Mapping[int, Tensor]
) -> Dilated | None:
    block, pads = (_numbers(tensors, before, position) for position in (1, 2))
    same, crops = (_numbers(tensors, behind, position) for position in (1, 2))
    if block != same or len(block) != _AXES or len(pads) != 2 * _AXES or len(crops) != 2 * _AXES:
        return None
    edges = [pad - crop for pad, crop in zip(pads, crops, strict=True)]
    input, output = tensors.get(before.inputs[0]), tensors.get(behind.outputs[0])
    if min(edges) < 0 or min(block) < 1 or input is None or output is None or not _is_plain(convolution):
        return None
    top, bottom, left, right = edges
    return Dilated(
        convolution.index, before.inputs[0], behind.outputs[0], HW(*block), Padding(top, bottom, left, right)
    )


def _numbers(tensors: Mapping[int, Tensor], raw: RawOperator, position: int) -> Sequence[int]:
    tensor = tensors.get(raw.inputs[position]) if position < len(raw.inputs) else None
    if tensor is None or tensor.data is None or not np.issubdtype(tensor.data.dtype, np.integer):
        return ()
    return [int(n) for n in tensor.data.reshape(-1)]
