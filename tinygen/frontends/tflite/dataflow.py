"""Checks that a subgraph can be executed in the order of its operators."""

from collections.abc import Sequence

from tinygen.frontends.foreign import made_for
from tinygen.frontends.tflite.flatbuffer import DamagedError
from tinygen.frontends.tflite.raw import CUSTOM, RawOperator, RawTensor, shown


def check_dataflow(
    tensors: Sequence[RawTensor], operators: Sequence[RawOperator], inputs: Sequence[int], outputs: Sequence[int]
) -> None:
    """Every tensor is written at most once, and before it is read; raises `DamagedError`."""
    stored = {tensor.index for tensor in tensors if tensor.data is not None or tensor.is_variable}
    fixed = {tensor.index for tensor in tensors if tensor.data is not None and tensor.data.size}
    written = set(inputs)
    for operator in operators:
        # Vela's and XMOS' compilers give theirs tensors to work in, which nothing writes before
        is_scratch = operator.name.startswith(CUSTOM) and bool(made_for(operator.name.removeprefix(CUSTOM)))
        for index in operator.inputs:
            if index >= 0 and index not in written and index not in stored and not is_scratch:
                raise _unwritten(f"{operator.place} reads", tensors[index])
        for index in operator.outputs:
            if index in written or index in fixed:
                raise _written_twice(operator, tensors[index])
            written.add(index)
    for index in outputs:
        if index not in written and index not in stored:
            raise _unwritten("the model returns", tensors[index])


def _unwritten(reader: str, tensor: RawTensor) -> DamagedError:
    return DamagedError(
        f"{reader} tensor {tensor.index} ('{shown(tensor.name)}') that nothing has written, "
        "expected an input, a constant or the result of an earlier operator"
    )


def _written_twice(operator: RawOperator, tensor: RawTensor) -> DamagedError:
    return DamagedError(
        f"{operator.place} writes tensor {tensor.index} ('{shown(tensor.name)}') again, "
        "expected one writer and none for inputs and constants"
    )
