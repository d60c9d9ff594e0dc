"""From layers on float32 to layers on levels that are found at run time."""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dynamic_layer import LAYERS, Layer, Levels, integer_layer, quantization
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.integer_products import IntegerProducts
from tinygen.ops.matrix_products import MatrixProducts
from tinygen.quant.dynamic.gain import Cost, Pricing
from tinygen.quant.dynamic.scheme import DynamicOptions, DynamicScheme
from tinygen.quant.dynamic.weights import quantized_weights
from tinygen.quant.errors import Code, DynamicError
from tinygen.targets import Board
from tinygen.targets.engine import Engine, Number

ALREADY = "is int8 already"
_CONVOLUTIONS: tuple[type[Op], ...] = (Conv2D, DepthwiseConv2D)
_PRODUCTS: tuple[type[Op], ...] = (FullyConnected, BatchMatMul)
TYPES: dict[str, tuple[type[Op], ...]] = {
    "conv": _CONVOLUTIONS,
    "conv_2d": (Conv2D,),
    "depthwise_conv_2d": (DepthwiseConv2D,),
    "fully_connected": (FullyConnected,),
    "gemm": _PRODUCTS,
    "matmul": _PRODUCTS,
}
"""Operators that have layers of int8, by their ONNX and TFLite names in small letters."""


@dataclass(frozen=True)
class Decision:
    """What becomes of a layer, and why."""

    operator: str  # as the file spells it
    name: str
    is_int8: bool
    reason: str
    cost: Cost | None


@dataclass(frozen=True)
class DynamicNetwork:
    """A network whose layers are int8 as far as was decided."""

    graph: Graph
    scheme: DynamicScheme
    decisions: tuple[Decision, ...]


def check_engine(board: Board, options: DynamicOptions) -> None:
    """Raise DynamicError where no engine multiplies int8 on the core, or not the one that was asked for."""
    found = [engine for engine in board.engines if _multiplies(engine)]
    if not found:
        raise DynamicError(
            Code.NO_INT8_ENGINE,
            f"--quant-dynamic: {board.name} has no engine on the core that multiplies int8 by int8, one was expected. "
            "Choose another target, or add an engine to the board's file.",
        )
    names = dict.fromkeys(name.lower() for engine in found for name in (engine.name, engine.kind.value) if name)
    if options.accelerator is not None and options.accelerator.lower() not in names:
        raise DynamicError(
            Code.NO_INT8_ENGINE,
            f"--maccel: {board.name} has no engine '{options.accelerator}' on the core that multiplies int8 by int8, "
            f"{' or '.join(names)} was expected. Choose another one, or another target.",
        )
    if options.architecture is not None and options.architecture.lower() != board.architecture:
        raise DynamicError(
            Code.NO_INT8_ENGINE,
            f"--march: is {options.architecture}, {board.architecture} was expected, which {board.name} has. Choose "
            "another target.",
        )


def quantize_layers(
    graph: Graph, options: DynamicOptions, board: Board, price: Pricing, scheme: DynamicScheme
) -> DynamicNetwork:
    """The layers of the listed types, or those that gain, on int8; the others stay as they are. DynamicError."""
    check_engine(board, options)
    kinds = _kinds(options.op_types)
    making = _Making(graph, scheme)
    ops: list[Op] = []
    decisions = []
    for op in graph.ops:
        if not isinstance(op, (*LAYERS, MatrixProducts, IntegerProducts)):
            ops.append(op)
            continue
        decision = _decided(op, kinds, price, making)
        decisions.append(decision)
        ops += making.layer(op) if decision.is_int8 and isinstance(op, LAYERS) else [op]
    if kinds is not None:
        _check_some(graph, options, kinds, decisions)
    return DynamicNetwork(replace(graph, ops=tuple(ops)), scheme, tuple(decisions))


def _decided(op: Op, kinds: frozenset[type[Op]] | None, price: Pricing, making: "_Making") -> Decision:
    operator = op.source.spelling.partition(" ")[0]
    problem = _problem(op)
    if problem is not None:
        return Decision(operator, op.name, False, problem, None)
    assert isinstance(op, LAYERS)
    found = Cost(float32=price([op]), int8=price(making.trial(op)))
    if kinds is not None:
        is_listed = type(op) in kinds
        return Decision(operator, op.name, is_listed, "is listed" if is_listed else "is not listed", found)
    reason = "takes fewer instructions" if found.gain > 0 else "would take more instructions"
    return Decision(operator, op.name, found.gain > 0, reason, found)


def _problem(op: Op) -> str | None:
    """Why an operator cannot be quantized; None where it can."""
    if isinstance(op, IntegerProducts) or not op.results[0].type.dtype.is_real:
        return ALREADY
    if not isinstance(op, LAYERS):
        return "both operands are computed at run time"
    if op.weights.coding is not None:
        return "has weights that are stored as integers already"
    if op.weights.data is None or (op.bias is not None and op.bias.data is None):
        return "has weights that are computed at run time"
    return "has a constant input" if op.input.is_constant else None


def _kinds(text: str | None) -> frozenset[type[Op]] | None:
    """The classes of the listed types; None where none are listed."""
    if text is None:
        return None
    found: set[type[Op]] = set()
    for word in text.split(","):
        kinds = TYPES.get(word.strip().lower())
        if kinds is None:
            raise DynamicError(
                Code.UNKNOWN_TYPE,
                f"--quant-op-types: '{word.strip()}' has no layers of int8, some of MatMul, Gemm and Conv were "
                "expected. Correct it.",
            )
        found.update(kinds)
    return frozenset(found)


def _check_some(
    graph: Graph, options: DynamicOptions, kinds: frozenset[type[Op]], decisions: Iterable[Decision]
) -> None:
    """Raise DynamicError where there are operators of the listed types, and none of them can be int8."""
    names = {op.name for op in graph.ops if type(op) in kinds}
    listed = [decision for decision in decisions if decision.name in names]
    if listed and not any(decision.is_int8 or decision.reason == ALREADY for decision in listed):
        first = listed[0]
        raise DynamicError(
            Code.NOT_QUANTIZABLE,
            f"--quant-op-types {options.op_types}: {first.operator} '{first.name}' {first.reason}, as have all of that "
            "type, a layer with constant float32 weights was expected. Leave the type out.",
        )


def _multiplies(engine: Engine) -> bool:
    path = engine.path
    takes = not engine.operators or bool({"conv_2d", "depthwise_conv_2d", "fully_connected"} & set(engine.operators))
    is_int8 = path.activations is Number.INT8 and path.weights is Number.INT8 and path.activation_bits is None
    return engine.kind.is_cpu and is_int8 and takes


class _Making:
    """Makes layers; each input is quantized once for all of its readers."""

    def __init__(self, graph: Graph, scheme: DynamicScheme) -> None:
        self._scheme = scheme
        self._names = {tensor.name for tensor in graph.tensors}
        self._levels: dict[Tensor, Levels] = {}

    def trial(self, layer: Layer) -> tuple[Op, ...]:
        """What `layer` would give, of which nothing is kept."""
        other = copy(self)
        other._names, other._levels = set(self._names), dict(self._levels)
        return other.layer(layer)

    def layer(self, layer: Layer) -> tuple[Op, ...]:
        """The operators of a layer on int8."""
        before: tuple[Op, ...] = ()
        if layer.input not in self._levels:
            made = quantization(layer.input, self._scheme.rule, 1, layer.source, self._naming(layer.input.name))
            self._levels[layer.input], before = made.levels, made.ops
        name = self._naming(layer.name)
        weights = quantized_weights(layer.weights, layer.channel_axis, self._scheme, name("weights"))
        return (*before, *integer_layer(layer, self._levels[layer.input], weights, name))

    def _naming(self, stem: str) -> "_Naming":
        return _Naming(stem, self._names)


@dataclass(eq=False)
class _Naming:
    stem: str
    taken: set[str]

    def __call__(self, role: str) -> str:
        name = unused(f"{self.stem}:{role}", self.taken)
        self.taken.add(name)
        return name
