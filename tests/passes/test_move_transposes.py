"""Issue 16: elementwise operators between two layouts, as exports of channels-first networks to TFLite have them."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.graphs import GraphBuilder, evaluate, images, random_inputs
from tests.support.litert import needs_litert
from tests.support.planes import TO_PIXELS, TO_PLANES, planar
from tests.support.tflite_writer import ModelWriter
from tinygen import targets
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph, Op, Source
from tinygen.ir.orientation import Permutation
from tinygen.ir.tensor import ChannelPart, Reordered, Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ir.verify import verify
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.mul import Mul
from tinygen.ops.transpose import Transpose
from tinygen.ops.window import HW
from tinygen.passes import run
from tinygen.passes.move_transposes import move_transposes
from tinygen.planner.plan import PlanRequest, plan
from tinygen.verify.litert import LiteRT
from tinygen.verify.per_operator import OperatorComparison
from tinygen.verify.reference import own_value

_BOARD = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM)
_PLANES = Permutation(TO_PLANES)


def _converted(graph: Graph) -> Graph:
    """The network as converters write it: layers on pixels, whatever they need no layout for on planes."""
    ops: list[Op] = []
    for op in graph.ops:
        tensors = (*op.variable_operands, *op.results)
        images = all(len(tensor.shape) == 4 for tensor in tensors) and len(op.results) == 1
        turned = op.permuted(_PLANES) if images else None
        if turned is None:
            ops.append(op)
            continue
        planes = {t: Tensor(f"{op.name}/{t.name}", replace(t.type, shape=_PLANES.per_axis(t.shape))) for t in tensors}
        ops += [_transpose(t, planes[t], TO_PLANES) for t in op.variable_operands]
        ops.append(turned.op.replace_tensors({**turned.constants, **planes}))
        ops.append(_transpose(planes[op.results[0]], op.results[0], TO_PIXELS))
    return replace(graph, ops=tuple(ops))


def _transpose(source: Tensor, target: Tensor, permutation: Sequence[int]) -> Op:
    place = Source("random", 0, f"TRANSPOSE '{target.name}'")
    return Transpose(name=target.name, source=place, input=source, output=target, permutation=tuple(permutation))


def _transposes(graph: Graph) -> int:
    return sum(isinstance(op, Transpose) and not op.keeps_order for op in graph.ops)


def _network() -> Graph:
    """Layers with rectifiers, additions and joints between them."""
    build = GraphBuilder()
    image = build.lookup(build.conv(build.input(1, 32, 32, 3), 8, HW(3, 3), HW(2, 2)))
    for channels, stride in ((8, 1), (16, 2), (16, 1), (32, 2)):
        before = image
        image = build.lookup(build.depthwise(image, 1, HW(3, 3), HW(stride, stride)))
        image = build.lookup(build.conv(image, channels))
        image = build.add(before, image) if before.shape == image.shape else image
    return build.graph(image)


@pytest.mark.parametrize("request_", [PlanRequest(), PlanRequest(fetches_input=True)], ids=["resident", "streamed"])
@pytest.mark.parametrize("is_planar", [False, True])
def test_issue16_arenas_are_those_of_the_twin(is_planar: bool, request_: PlanRequest) -> None:
    twin = planar(_network()) if is_planar else _network()
    moved = run(_converted(twin))
    assert _transposes(moved) == 2 * is_planar
    mine, theirs = (plan(graph, _BOARD, _TOOLBOX, request_).arena_bytes for graph in (moved, run(twin)))
    assert mine <= theirs * 1.01


@given(images())
@settings(max_examples=60)
def test_random_networks_compute_the_same(graph: Graph) -> None:
    converted = _converted(planar(graph))
    moved = move_transposes(converted)
    verify(moved, "move_transposes")
    inputs = random_inputs(converted, seed=3)
    expected, found = evaluate(converted, inputs), evaluate(moved, inputs)
    for before, after in zip(converted.output_tensors, moved.output_tensors, strict=True):
        assert after is before
        np.testing.assert_array_equal(found[after], expected[before])
    by_name = {tensor.name: value for tensor, value in expected.items()}
    for tensor, value in found.items():
        own = own_value(tensor, by_name)
        assert own is None or np.array_equal(value, own)  # which has its axes in another order, perhaps
    assert _transposes(moved) <= _transposes(converted)


def test_without_transposes_nothing_changes() -> None:
    graph = _network()
    assert move_transposes(graph) is graph


def test_a_constant_of_several_operators_is_ordered_once() -> None:
    """As angles of a rotary embedding, which are factors twice."""
    build = GraphBuilder()
    image = build.conv(build.input(1, 4, 4, 2), 2)
    type = TensorType(DType.INT8, (1, 1, 4, 2), image.type.quant)
    factors = Tensor("factors", type, np.arange(8, dtype=np.int8).reshape(type.shape))
    graph = build.graph(build.conv(build.mul(build.mul(image, factors), factors), 2))
    converted = _converted(graph)
    one, other = (op.second for op in converted.ops if isinstance(op, Mul))
    converted = converted.replace_tensors({other: one})
    verify(converted, "the network")
    moved = move_transposes(converted)
    verify(moved, "move_transposes")
    assert _transposes(moved) == 0
    constants = {op.second for op in moved.ops if isinstance(op, Mul)}
    assert len(constants) == 1
    values = random_inputs(graph, 1)
    found, expected = evaluate(moved, values), evaluate(graph, values)
    assert np.array_equal(found[moved.output_tensors[0]], expected[graph.output_tensors[0]])


def test_many_groups_are_ordered_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Effort grows with the network, not with its square: sweeps are few however many groups there are."""
    build = GraphBuilder()
    image = build.input(1, 4, 4, 2)
    for _ in range(60):
        image = build.lookup(build.conv(image, 2))
    sweeps: list[int] = []
    module = sys.modules[move_transposes.__module__]  # the package has the function under its name
    ordered = module._reordered

    def counted(graph: Graph, chosen: Sequence[Any]) -> Graph:
        sweeps.append(len(chosen))
        found: Graph = ordered(graph, chosen)
        return found

    monkeypatch.setattr(module, "_reordered", counted)
    assert _transposes(move_transposes(_converted(build.graph(image)))) == 0
    assert sweeps == [60]


def _export(path: Path) -> Path:
    """Planes that are scaled channel by channel, a layer on pixels, a residual block on planes, a mean, a layer."""
    writer = ModelWriter()
    rng = np.random.default_rng(5)

    def image(name: str, *shape: int) -> int:
        return writer.tensor(name, shape, scale=0.05, zero_point=-3)

    def constant(name: str, data: Any, type: str = "int32", **quantization: Any) -> int:
        return writer.tensor(name, np.shape(data), type, data=np.asarray(data), **quantization)

    def layer(name: str, x: int, y: int, shape: Sequence[int]) -> None:
        weights = constant(f"{name}_w", rng.integers(-127, 128, shape), "int8", scale=0.004)
        bias = constant(f"{name}_b", rng.integers(-99, 99, shape[0]), "int32", scale=0.05 * 0.004)
        writer.operator("CONV_2D", [x, weights, bias], [y], padding=0, stride_h=1, stride_w=1)

    to_pixels, to_planes = constant("to_pixels", TO_PIXELS), constant("to_planes", TO_PLANES)
    x, scaled, pixels = image("x", 1, 3, 9, 7), image("scaled", 1, 3, 9, 7), image("pixels", 1, 9, 7, 3)
    factors = constant("factors", rng.integers(20, 120, (1, 3, 1, 1)), "int8", scale=0.01)
    writer.operator("MUL", [x, factors], [scaled])
    writer.operator("TRANSPOSE", [scaled, to_pixels], [pixels])
    made, planes, kept, turned = (
        image(n, *s) for n, s in (("m", (1, 9, 7, 4)), ("p", (1, 4, 9, 7)), ("k", (1, 4, 9, 7)), ("t", (1, 9, 7, 4)))
    )
    layer("first", pixels, made, (4, 3, 3, 3))
    writer.operator("TRANSPOSE", [made, to_planes], [planes])
    writer.operator("RELU6", [planes], [kept])
    writer.operator("TRANSPOSE", [kept, to_pixels], [turned])
    again, back, total, padded = (
        image(n, *s) for n, s in (("a", (1, 9, 7, 4)), ("b", (1, 4, 9, 7)), ("s", (1, 4, 9, 7)), ("d", (1, 4, 10, 9)))
    )
    layer("second", turned, again, (4, 3, 3, 4))
    writer.operator("TRANSPOSE", [again, to_planes], [back])
    writer.operator("ADD", [back, kept], [total])
    writer.operator("PAD", [total, constant("edges", [[0, 0], [0, 0], [1, 0], [0, 2]])], [padded])
    mean = image("mean", 1, 4, 1, 1)
    writer.operator("MEAN", [padded, constant("axes", [2, 3])], [mean], keep_dims=True)
    path.write_bytes(writer.finish([x], [mean, total]))
    return path


@needs_litert
def test_an_export_is_litert_s(tmp_path: Path) -> None:
    path = _export(tmp_path / "export.tflite")
    moved = run(import_model(path))
    assert _transposes(moved) == 2  # of the planes that come and go
    x = np.random.default_rng(1).integers(-128, 128, (1, 3, 9, 7), np.int8)
    values, oracle = evaluate(moved, [x]), LiteRT(path).run([x])
    for tensor, expected in zip(moved.output_tensors, oracle.outputs, strict=True):
        np.testing.assert_array_equal(values[tensor], expected)
    compared = OperatorComparison(moved).call([x], oracle)
    assert "d" in {found.tensor for found in compared}
    assert not any(found.mismatches for found in compared)


def test_tensors_whose_axes_are_ordered_anew_are_those_of_the_file() -> None:
    """Shrinking, and further moves, begin with what an earlier pass has left of a tensor."""
    whole = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    ordered = Reordered("x", (2, 3, 4), (2, 0, 1))
    part = ChannelPart("x", (4, 2, 3), (0, 2), before=ordered)
    np.testing.assert_array_equal(part.of(whole.reshape(6, 4)), whole.transpose(2, 0, 1)[..., [0, 2]])
