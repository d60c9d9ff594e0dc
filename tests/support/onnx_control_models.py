"""ONNX models with branches and loops for tests, inside of each other too, that read what is around them."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_writer import IR_VERSION

ROW = (1, 4)
_FLOAT, _INT64, _BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
_WEIGHTS = np.random.default_rng(1).normal(0, 0.5, (4, 4)).astype(np.float32)


def _node(operator: str, inputs: Sequence[str], *outputs: str, **attributes: onnx.GraphProto | int) -> onnx.NodeProto:
    node = helper.make_node(operator, inputs, outputs, f"make {outputs[0]}")
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    return node


def _port(name: str, type: int = _FLOAT, shape: Sequence[int] | None = ROW) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, type, shape)


def _constants(**values: object) -> list[onnx.TensorProto]:
    return [numpy_helper.from_array(np.asarray(value), name) for name, value in values.items()]


def _graph(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Sequence[onnx.TensorProto] = (),
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "graph", inputs, outputs, constants)


def _model(graph: onnx.GraphProto) -> bytes:
    opsets = [helper.make_opsetid("", 17)]
    content: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION).SerializeToString()
    return content


def branch_model(is_constant: bool = False) -> bytes:
    """x, how: x by weights and twice, or the larger of x and a sum; the branches read both from around them."""
    then = _graph(
        [_node("MatMul", ["x", "w"], "p"), _node("Add", ["p", "p"], "twice"), _node("Relu", ["sum"], "r")],
        [],
        [_port("twice"), _port("r")],
        _constants(w=_WEIGHTS),
    )
    inner = [
        _graph([_node(kind, ["sum", "x"], name)], [], [_port(name)]) for kind, name in (("Mul", "a"), ("Sub", "b"))
    ]
    other = _graph(
        [
            _node("Greater", ["how", "two"], "is_more"),
            _node("If", ["is_more"], "c", then_branch=inner[0], else_branch=inner[1]),
            _node("Max", ["x", "sum"], "m"),
        ],
        [],
        [_port("c"), _port("m")],
        _constants(two=np.int64(2)),
    )
    asks = _node("Greater", ["four" if is_constant else "how", "zero"], "asked")
    nodes = [
        _node("Add", ["x", "half"], "sum"),
        asks,
        _node("If", ["asked"], "y", "z", then_branch=then, else_branch=other),
        _node("Add", ["y", "z"], "out"),
    ]
    constants = _constants(half=np.float32(0.5), zero=np.int64(0), four=np.int64(4))
    return _model(_graph(nodes, [_port("x"), _port("how", _INT64, ())], [_port("out"), _port("z")], constants))


def loop_model(is_counted: bool) -> bytes:
    """x, n: a recurrent step n times, less where the first number is 5 or more; or, counted, 3 times, of which rows are
    collected."""
    nodes = [
        _node("MatMul", ["h", "w"], "p"),
        _node("Add", ["p", "x"], "s"),
        _node("Tanh", ["s"], "t"),
        _node("Add", ["t", "h"], "next"),
    ]
    outputs = [_port("asked_next", _BOOL, ()), _port("next")]
    constants = _constants(w=_WEIGHTS)
    if is_counted:
        nodes.append(_node("Identity", ["asked"], "asked_next"))
        nodes.append(_node("Mul", ["t", "t"], "row"))
        outputs.append(_port("row"))
    else:
        nodes += [
            _node("Gather", ["next", "place"], "first", axis=1),
            _node("ReduceSum", ["first"], "number", keepdims=0),
            _node("Less", ["number", "five"], "asked_next"),
        ]
        constants += _constants(five=np.float32(5), place=np.array([0], np.int64))
    inputs = [_port("i", _INT64, ()), _port("asked", _BOOL, ()), _port("h")]
    body = _graph(nodes, inputs, outputs, constants)
    results = ["last", "rows"] if is_counted else ["last"]
    loop = _node("Loop", ["three" if is_counted else "n", "", "begin"], *results, body=body)
    ports = [_port("x"), *([] if is_counted else [_port("n", _INT64, ())])]
    after = _node("Add", ["last", "x"], "out")
    outs = [_port("out"), *([_port("rows", _FLOAT, (3, *ROW))] if is_counted else [])]
    begin = _node("Mul", ["x", "half"], "begin")
    return _model(_graph([begin, loop, after], ports, outs, _constants(three=np.int64(3), half=np.float32(0.5))))


def exchanging_model() -> bytes:
    """x, n: two variables, both x at first, which n times change places; the body and its condition read x and n."""
    nodes = [
        _node("Identity", ["asked"], "asked_next"),
        _node("Sub", ["x", "p"], "less"),
        _node("Cast", ["n"], "real", to=_FLOAT),
        _node("Add", ["less", "real"], "next"),
    ]
    inputs = [_port("i", _INT64, ()), _port("asked", _BOOL, ()), _port("p"), _port("q")]
    body = _graph(nodes, inputs, [_port("asked_next", _BOOL, ()), _port("q"), _port("next")])
    loop = _node("Loop", ["n", "", "x", "x"], "one", "other", body=body)
    return _model(_graph([loop], [_port("x"), _port("n", _INT64, ())], [_port("one"), _port("other")]))


def _quantized(name: str, result: str) -> list[onnx.NodeProto]:
    return [
        _node("QuantizeLinear", [name, "s", "z"], f"{result}_q"),
        _node("DequantizeLinear", [f"{result}_q", "s", "z"], result),
    ]


_SCALES = {"s": np.float32(0.05), "z": np.int8(3)}


def quantized_model() -> bytes:
    """x, how: quantized, one of two operators on int8 by `how` > 0."""
    sides = [
        _graph([_node(kind, ["d", "d"], f"{kind}_r"), *_quantized(f"{kind}_r", kind)], [], [_port(kind)])
        for kind in ("Add", "Mul")
    ]
    nodes = [
        *_quantized("x", "d"),
        _node("Greater", ["how", "zero"], "asked"),
        _node("If", ["asked"], "y", then_branch=sides[0], else_branch=sides[1]),
        _node("Max", ["y", "d"], "m"),
        *_quantized("m", "out"),
    ]
    ports = [_port("x"), _port("how", _INT64, ())]
    return _model(_graph(nodes, ports, [_port("out")], _constants(zero=np.int64(0), **_SCALES)))


def costly_model(turns: int, operators: int, is_partly_quantized: bool = False) -> bytes:
    """x: a number that a loop counts up to in steps of so many operators, and x after each turn.

    Where it is partly quantized x is integers, and there is a function of it that becomes none.
    """
    steps = [_node("Add", [f"n{at}" if at else "n", "one"], f"n{at + 1}") for at in range(operators)]
    last = f"n{operators}"
    body = _graph(
        [
            *steps,
            _node("Less", [last, "limit"], "again"),
            _node("Identity", ["d" if is_partly_quantized else "x"], "row"),
        ],
        [_port("i", _INT64, ()), _port("asked", _BOOL, ()), _port("n", _INT64, ())],
        [_port("again", _BOOL, ()), _port(last, _INT64, ()), _port("row")],
    )
    constants = _constants(
        turns=np.int64(turns), yes=np.bool_(True), zero=np.int64(0), one=np.int64(1), limit=np.int64(1 << 30)
    )
    loop = _node("Loop", ["turns", "yes", "zero"], "total", "rows", body=body)
    ends = [_port("rows", _FLOAT, (turns, *ROW))]
    if not is_partly_quantized:
        return _model(_graph([loop], [_port("x")], ends, constants))
    nodes = [*_quantized("x", "d"), loop, _node("Exp", ["d"], "e")]
    return _model(_graph(nodes, [_port("x")], [*ends, _port("e")], [*constants, *_constants(**_SCALES)]))


def broken_model(what: str) -> bytes:
    """x, n: a branch or a loop with one thing wrong."""
    shape = (2, 4) if what == "shape" else ROW
    one = _graph([_node("Relu", ["x"], "a")], [], [_port("a")])
    other = _graph([_node("Concat", ["x", "x"], "b", axis=0)], [], [_port("b", _FLOAT, shape)])
    inputs = [_port("i", _INT64, ()), _port("asked", _BOOL, ()), _port("h")]
    again, row = _port("again", _BOOL, ()), _port("r")
    outputs = {"outputs": [again], "rows": [again, row, row]}.get(what, [again, row])
    body = _graph(
        [_node("Identity", ["asked"], "again"), _node("Relu", ["h"], "r")],
        inputs,
        outputs,
    )
    results = ["y", "rows"] if what == "rows" else ["y"]
    control = (
        _node("If", ["n" if what == "condition" else "asked"], "y", then_branch=one, else_branch=other)
        if what in ("shape", "condition")
        else _node("Loop", ["n", "", "x"], *results, body=body)
    )
    asks = _node("Greater", ["n", "zero"], "asked")
    return _model(
        _graph([asks, control], [_port("x"), _port("n", _INT64, ())], [_port("y")], _constants(zero=np.int64(0)))
    )
