"""QOperator nodes (QLinearConv and its kin) as DequantizeLinear, the operator on real values, QuantizeLinear."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace

from tinygen.frontends.onnx.fused_operators import FUSED
from tinygen.frontends.onnx.raw import Attribute, RawModel, RawNode
from tinygen.ir.names import unused

_MICROSOFT = "com.microsoft"
_QONNX = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")  # domains that say the same
_OF_QONNX = ("Quant", "IntQuant", "BipolarQuant", "Trunc")
_AS_IN_ONNX = ("QuantizeLinear", "DequantizeLinear", "BiasGelu", "FastGelu", "FusedMatMul", "Gelu", "QuickGelu")
_MOST_INPUTS = 9  # of the operators below, absent ones included
Spread = Callable[[RawNode], tuple[RawNode, ...]]


def expand(model: RawModel) -> tuple[RawNode, ...]:
    """The nodes of a model, with QOperator nodes spelled as three kinds of nodes; indices stay those of the file.

    Tensors between these have names that the file does not.
    """
    taken = {*model.defined, *model.captured}
    begun = {outer for name in taken if isinstance(name, str) for outer in _outer(name)}  # damaged ones are bytes
    return tuple(part for node in model.nodes for part in _expand(node, begun, taken))


def _outer(name: str) -> tuple[str, str]:
    """Names of which those of tensors between the parts of a node may begin: `name` less one role, and less two."""
    one = name.rpartition(":")[0]
    return one, one.rpartition(":")[0]


def _expand(node: RawNode, begun: Container[str], taken: Container[str]) -> tuple[RawNode, ...]:
    if node.domain == _MICROSOFT and node.operator in _AS_IN_ONNX:
        return (replace(node, domain=""),)
    if node.domain in _QONNX and node.operator in _OF_QONNX:
        return (replace(node, domain=""),)
    fused = FUSED.get(node.operator) if node.domain == _MICROSOFT else None
    spread = fused or EXPANSIONS.get((node.domain, node.operator))
    if spread is None or node.problem or len(node.outputs) != 1:
        return (node,)
    (own,) = node.outputs
    inner = unused(f"{own}'", begun, taken) if own in begun else own
    padded = replace(
        node, inputs=node.inputs + ("",) * _MOST_INPUTS, outputs=(inner,), name=node.label, part_of=node.operator
    )
    parts = spread(padded)
    return parts if inner == own else tuple(replace(p, outputs=(own,)) if p.outputs == (inner,) else p for p in parts)


def _real(node: RawNode, position: int) -> str:
    return f"{node.outputs[0]}:input{position}"


def _dequantize(node: RawNode, x: int, scale: int, zero_point: int, axis: int = 1) -> RawNode:
    names = tuple(node.inputs[position] for position in (x, scale, zero_point))
    return replace(
        node,
        domain="",
        operator="DequantizeLinear",
        inputs=names,
        outputs=(_real(node, x),),
        attributes={"axis": axis},
    )


def _quantized(node: RawNode, operator: str, inputs: tuple[str, ...], scale: int, zero_point: int) -> Iterator[RawNode]:
    """The operator on real values, and QuantizeLinear behind it."""
    real = f"{node.outputs[0]}:real"
    yield replace(node, domain="", operator=operator, inputs=inputs, outputs=(real,))
    names = (real, node.inputs[scale], node.inputs[zero_point])
    yield replace(node, domain="", operator="QuantizeLinear", inputs=names, attributes={})


def _bias(node: RawNode, position: int) -> tuple[RawNode, ...]:
    """DequantizeLinear of an int32 bias, in the scale of the sums: alpha times those of inputs 0 and 3."""
    if not node.inputs[position]:
        return ()
    real = _real(node, position)
    factor, sums, scale = f"{real}:alpha", f"{real}:sums", f"{real}:scale"
    alpha: dict[str, Attribute] = {"value_float": node.attributes.get("alpha", 1.0)}
    spelled: tuple[tuple[str, tuple[str, ...], str, dict[str, Attribute]], ...] = (
        ("Constant", (), factor, alpha),
        ("Mul", (node.inputs[1], node.inputs[4]), sums, {}),
        ("Mul", (sums, factor), scale, {}),
        ("DequantizeLinear", (node.inputs[position], scale), real, {"axis": 0}),
    )
    return tuple(
        replace(node, domain="", operator=operator, inputs=inputs, outputs=(output,), attributes=attributes)
        for operator, inputs, output, attributes in spelled
    )


def _conv(node: RawNode) -> tuple[RawNode, ...]:
    """QLinearConv: x, scale, zero point, w, scale, zero point, scale and zero point of y, bias as int32."""
    bias = _bias(node, 8)
    inputs = (_real(node, 0), _real(node, 3), *(part.outputs[0] for part in bias[-1:]))
    conv = _quantized(node, "Conv", inputs, 6, 7)
    return (_dequantize(node, 0, 1, 2), _dequantize(node, 3, 4, 5, axis=0), *bias, *conv)


def _matmul(node: RawNode) -> tuple[RawNode, ...]:
    """QLinearMatMul: a, scale, zero point, b, scale, zero point, scale and zero point of y."""
    inputs = (_real(node, 0), _real(node, 3))
    return (_dequantize(node, 0, 1, 2), _dequantize(node, 3, 4, 5), *_quantized(node, "MatMul", inputs, 6, 7))


def _gemm(node: RawNode) -> tuple[RawNode, ...]:
    """QGemm: a, scale, zero point, b, scale, zero point, bias as int32, scale and zero point of y."""
    bias = _bias(node, 6)
    inputs = (_real(node, 0), _real(node, 3), *(part.outputs[0] for part in bias[-1:]))
    axis = 0 if node.attributes.get("transB", 0) else 1
    return (
        _dequantize(node, 0, 1, 2),
        _dequantize(node, 3, 4, 5, axis),
        *bias,
        *_quantized(node, "Gemm", inputs, 7, 8),
    )


def _binary(operator: str) -> Spread:
    """QLinearAdd, QLinearMul: a, scale, zero point, b, scale, zero point, scale and zero point of y."""

    def spread(node: RawNode) -> tuple[RawNode, ...]:
        inputs = (_real(node, 0), _real(node, 3))
        return (_dequantize(node, 0, 1, 2), _dequantize(node, 3, 4, 5), *_quantized(node, operator, inputs, 6, 7))

    return spread


def _unary(operator: str) -> Spread:
    """One input: x, scale, zero point, scale and zero point of y; the other attributes are the operator's."""

    def spread(node: RawNode) -> tuple[RawNode, ...]:
        return (_dequantize(node, 0, 1, 2), *_quantized(node, operator, (_real(node, 0),), 3, 4))

    return spread


def _global_average_pool(node: RawNode) -> tuple[RawNode, ...]:
    """QLinearGlobalAveragePool; channels last is a layout of its own."""
    return (node,) if node.attributes.get("channels_last", 0) else _unary("GlobalAveragePool")(node)


def _average_pool(node: RawNode) -> tuple[RawNode, ...]:
    """QLinearAveragePool; channels last is a layout of its own."""
    return (node,) if node.attributes.get("channels_last", 0) else _unary("AveragePool")(node)


def _softmax(node: RawNode) -> tuple[RawNode, ...]:
    """QLinearSoftmax: from the last axis on where it names none, in each opset."""
    return _unary("Softmax")(replace(node, attributes={"axis": -1, **node.attributes}))


def _concat(node: RawNode) -> tuple[RawNode, ...]:
    """QLinearConcat: scale and zero point of y, then x, scale, zero point for each input."""
    count = (sum(1 for name in node.inputs if name) - 2) // 3
    positions = [2 + 3 * number for number in range(count)]
    inputs = tuple(_real(node, position) for position in positions)
    parts = tuple(_dequantize(node, position, position + 1, position + 2) for position in positions)
    return (*parts, *_quantized(node, "Concat", inputs, 0, 1))


EXPANSIONS: Mapping[tuple[str, str], Spread] = {
    ("", "QLinearConv"): _conv,
    ("", "QLinearMatMul"): _matmul,
    (_MICROSOFT, "QGemm"): _gemm,
    (_MICROSOFT, "QLinearAdd"): _binary("Add"),
    (_MICROSOFT, "QLinearAveragePool"): _average_pool,
    (_MICROSOFT, "QLinearConcat"): _concat,
    (_MICROSOFT, "QLinearGlobalAveragePool"): _global_average_pool,
    (_MICROSOFT, "QLinearLeakyRelu"): _unary("LeakyRelu"),
    (_MICROSOFT, "QLinearMul"): _binary("Mul"),
    (_MICROSOFT, "QLinearSigmoid"): _unary("Sigmoid"),
    (_MICROSOFT, "QLinearReduceMean"): _unary("ReduceMean"),
    (_MICROSOFT, "QLinearSoftmax"): _softmax,
}
