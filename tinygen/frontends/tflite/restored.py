"""Constants that a file stores in another form, with an operator behind them that restores the numbers."""

from tinygen.budget import Account
from tinygen.frontends.tflite.node import Node
from tinygen.ir.tensor import Tensor
from tinygen.ops.checks import check_shape
from tinygen.ops.quantize import dequantize_constant

RESTORING = ("DENSIFY", "DEQUANTIZE")  # of sparse constants, and of those in float16 or integers


def restored(node: Node, account: Account) -> Tensor | None:
    """The result as a constant; None where another operator makes it, or from what is no constant."""
    raw = node.raw
    if raw.name not in RESTORING or len(raw.inputs) != 1 or len(raw.outputs) != 1 or raw.inputs[0] not in node.tensors:
        return None
    stored = node.input(0)
    if stored.data is None:
        return None
    if raw.outputs[0] not in node.tensors:  # float16 without its zeros: for a DEQUANTIZE
        return stored if stored.type.dtype.is_real else None
    output = node.output()
    check_shape("output", output, stored.shape)
    if stored.type.dtype is output.type.dtype:
        return Tensor(output.name, output.type, stored.data, coding=stored.coding)
    if stored.type.quant is None or not output.type.dtype.is_real:
        return None
    account.spend(output.type.bytes, str(node.source))
    real = dequantize_constant(stored.data, stored.type.quant)
    real.flags.writeable = False
    return Tensor(output.name, output.type, real)
