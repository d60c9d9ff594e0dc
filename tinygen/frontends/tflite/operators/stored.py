"""Operators that copy stored integers, whatever scales their input and their output have in the file.

The runtimes do not look at the scales of what they only move, or of the result of an LSTM, whose integers are those of
its state. Converters let them differ, as around the layers of a bidirectional LSTM: the same integers then stand for
other real numbers behind the operator.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import wraps

from tinygen.frontends.tflite.node import Node, Reader, Readers
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.cast import Cast

_STORED = (DType.INT8, DType.INT16)


def as_stored(readers: Readers, positions: Mapping[str, int]) -> Readers:
    """The readers, of which those of operators in `positions` give the integers of the input that stands there."""
    copying = {name: _copying(readers[name], position) for name, position in positions.items()}
    return {**readers, **copying}


def _copying(reader: Reader, position: int) -> Reader:
    @wraps(reader)
    def read(node: Node) -> Op | tuple[Op, ...]:
        outputs = {index: node.tensors[index] for index in node.raw.outputs if _has_other_scale(node, index, position)}
        if not outputs:
            return reader(node)
        stored = {index: _with_scale_of(node.input(position), node, output) for index, output in outputs.items()}
        ops = reader(replace(node, tensors={**node.tensors, **stored}))
        casts = (
            Cast(name=output.name, source=node.source, input=stored[index], output=output)
            for index, output in outputs.items()
        )
        return *(ops if isinstance(ops, tuple) else (ops,)), *casts

    return read


def _with_scale_of(input: Tensor, node: Node, output: Tensor) -> Tensor:
    """A tensor on the way to `output`, which means what the input's integers mean."""
    stored = node.intermediate(output, "stored", output.shape)
    return replace(stored, type=TensorType(output.type.dtype, output.shape, input.type.quant))


def _has_other_scale(node: Node, index: int, position: int) -> bool:
    """Whether an output holds integers of the input's type that are quantized in another way."""
    input, output = node.optional_input(position), node.tensors.get(index)
    if input is None or output is None or input.type.dtype != output.type.dtype or output.type.dtype not in _STORED:
        return False
    quants = input.type.quant, output.type.quant
    return all(quant is not None and quant.is_per_tensor for quant in quants) and quants[0] != quants[1]
