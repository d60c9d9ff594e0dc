"""LRN, LpNormalization, pools by norms, products along axes and Hardmax of float32, against onnxruntime and as C."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_programs import TARGETS, check_program
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import Attribute, OnnxWriter
from tests.support.steps import counted
from tinygen.budget import BudgetError
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.passes import FLOAT_PASSES, run
from tinygen.verify import reference

Generator = np.random.Generator
Draw = Callable[[OnnxWriter, Generator], tuple[int, ...]]  # adds an operator, gives the shape of its input


def _add(writer: OnnxWriter, operator: str, shape: tuple[int, ...], **attributes: Attribute) -> tuple[int, ...]:
    writer.output(writer.node(operator, [writer.port(shape)], attributes))
    return shape


def _local(writer: OnnxWriter, rng: Generator) -> tuple[int, ...]:
    channels = int(rng.integers(1, 9))
    size = 2 * int(rng.integers(8)) + 1  # onnxruntime has odd ones only; more than there are channels too
    shape = (int(rng.integers(1, 3)), channels, int(rng.integers(1, 6)), int(rng.integers(1, 6)))
    numbers = {"alpha": float(rng.uniform(0.01, 2)), "beta": float(rng.uniform(0.3, 1.2)), "bias": 1.5}
    return _add(writer, "LRN", shape, size=size, **numbers)


def _normalized(writer: OnnxWriter, rng: Generator) -> tuple[int, ...]:
    shape = tuple(int(size) for size in rng.integers(1, 7, int(rng.integers(1, 5))))
    axis = int(rng.integers(-len(shape), len(shape)))
    return _add(writer, "LpNormalization", shape, axis=axis, p=int(rng.integers(1, 3)))


def _pooled(writer: OnnxWriter, rng: Generator) -> tuple[int, ...]:
    axes = int(rng.integers(1, 4))
    shape = (1, int(rng.integers(1, 5)), *(int(size) for size in rng.integers(5, 8, axes)))
    strides, kernel = rng.integers(1, 3, axes).tolist(), rng.integers(1, 4, axes).tolist()
    pads = [int(rng.integers(side)) for side in (*kernel, *kernel)]
    return _add(writer, "LpPool", shape, kernel_shape=kernel, p=int(rng.integers(1, 5)), strides=strides, pads=pads)


def _pooled_whole(writer: OnnxWriter, rng: Generator) -> tuple[int, ...]:
    shape = (2, 3, *(int(size) for size in rng.integers(1, 6, int(rng.integers(1, 4)))))
    return _add(writer, "GlobalLpPool", shape, p=int(rng.integers(1, 5)))


def _product(writer: OnnxWriter, rng: Generator) -> tuple[int, ...]:
    shape = tuple(int(size) for size in rng.integers(1, 8, 3))
    axes = rng.permutation(3)[: int(rng.integers(4))] - 3 * int(rng.integers(2))
    attributes: dict[str, int] = {"keepdims": int(rng.integers(2)), "noop_with_empty_axes": int(rng.integers(2))}
    names = [writer.port(shape), writer.constant(axes.astype(np.int64))]
    writer.output(writer.node("ReduceProd", names, attributes))
    return shape


def _largest(writer: OnnxWriter, rng: Generator) -> tuple[int, ...]:
    shape = tuple(int(size) for size in rng.integers(1, 6, int(rng.integers(1, 5))))
    return _add(writer, "Hardmax", shape, axis=int(rng.integers(-len(shape), len(shape))))


DRAWS: dict[str, tuple[int, Draw]] = {  # with their opsets
    "LRN": (13, _local),
    "LpNormalization": (13, _normalized),
    "LpPool": (18, _pooled),
    "GlobalLpPool": (18, _pooled_whole),
    "ReduceProd": (18, _product),
    "Hardmax": (13, _largest),
    "Hardmax of all axes from one on": (11, _largest),
}


def _values(rng: Generator, shape: tuple[int, ...]) -> Array:
    """Numbers of which some are equal, and some rows are zeros."""
    found: Array = (rng.integers(-8, 9, shape) / 4).astype(np.float32)
    return found * (rng.random((*shape[:-1], 1)) < 0.8).astype(np.float32)


@needs_onnxruntime
@pytest.mark.parametrize("name", DRAWS)
def test_results_are_those_of_onnxruntime(name: str, tmp_path: Path) -> None:
    opset, draw = DRAWS[name]
    for seed in range(10):
        rng, writer = np.random.default_rng(seed), OnnxWriter(opset=opset)
        data = [_values(rng, draw(writer, rng))]
        file = tmp_path / f"net{seed}.onnx"
        file.write_bytes(writer.finish())
        graph = run(import_model(file), FLOAT_PASSES)
        (found,) = reference.outputs(graph, reference.evaluate(graph, data))
        (expected,) = run_onnxruntime(file, data)
        assert found.shape == expected.shape
        assert np.allclose(found, expected, 1e-5, 1e-6), (seed, writer.nodes)


@needs_onnxruntime
@pytest.mark.parametrize("target", TARGETS)
def test_results_as_c(target: str, tmp_path: Path) -> None:
    writer, rng = OnnxWriter(opset=18), np.random.default_rng(len(target))
    draws = [draw for opset, draw in DRAWS.values() if opset > 11]
    values = [_values(rng, draw(writer, rng)) for draw in (*draws, *draws)]
    check_program(writer.finish(), values, target, tmp_path)


def test_an_image_without_channels_is_refused(tmp_path: Path) -> None:
    writer = OnnxWriter(opset=18)
    empty = writer.node("LRN", [writer.constant(np.zeros((1, 0, 3, 3), np.float32))], {"size": 3})
    writer.output(writer.node("Concat", [writer.port((1, 2, 3, 3)), empty], {"axis": 1}))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError, match=r"input has shape \[1, 0, 3, 3\] and size is 3, images and 1"):
        import_model(file)


def test_an_even_window_has_one_channel_more_behind(tmp_path: Path) -> None:
    """As the standard says; onnxruntime refuses even sizes."""
    writer = OnnxWriter(opset=13)
    _add(writer, "LRN", (1, 5, 1, 1), size=4, alpha=4.0, beta=1.0, bias=1.0)
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    graph = run(import_model(file), FLOAT_PASSES)
    x = np.arange(1, 6, dtype=np.float32)
    (found,) = reference.outputs(graph, reference.evaluate(graph, [x.reshape(1, 5, 1, 1)]))
    sums = [sum(x[max(0, channel - 1) : channel + 3] ** 2) for channel in range(5)]
    assert np.allclose(found.reshape(-1), x / (1 + np.array(sums)), rtol=1e-6)


@pytest.mark.parametrize("attribute", ["count_include_pad", "operator", "self"])
def test_attributes_that_a_pool_does_not_have_change_nothing(attribute: str, tmp_path: Path) -> None:
    """Even such as the operator has that it is read as, whose padding counts."""
    writer = OnnxWriter(opset=18)
    attributes: dict[str, Attribute] = {"kernel_shape": [2], "pads": [1, 0], "p": 1, attribute: 0}
    writer.output(writer.node("LpPool", [writer.port((1, 1, 2))], attributes))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    graph = run(import_model(file), FLOAT_PASSES)
    (found,) = reference.outputs(graph, reference.evaluate(graph, [np.array([[[1, -2]]], np.float32)]))
    assert found.tolist() == [[[1, 3]]]


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("operator", ["AveragePool", "LpPool"])
def test_windows_beyond_the_budget_are_refused(operator: str, axes: int, tmp_path: Path) -> None:
    """Before the filter of ones is made that sums their elements."""
    writer, many = OnnxWriter(opset=18), 1 << 20
    attributes: dict[str, Attribute] = {"kernel_shape": [many] * axes, "pads": [many] * 2 * axes}
    if operator == "AveragePool":
        attributes["count_include_pad"] = 1
    _add(writer, operator, (1, 1, 4, 4, 4)[: 2 + axes], **attributes)
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(BudgetError, match=rf"{operator} 'n0'\), a filter of ones: 4,398,046,511,104 bytes for a"):
        import_model(file)


def test_the_elements_of_large_windows_are_counted_by_axes(tmp_path: Path) -> None:
    """Of which there are a million at each position."""
    writer = OnnxWriter(opset=18)
    _add(writer, "LpPool", (1, 1, 2, 2), kernel_shape=[1000, 1000], pads=[499, 499, 500, 500])
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with counted(100_000):
        import_model(file)


@pytest.mark.parametrize(
    ("operator", "shape", "attributes", "reason"),
    [
        ("LRN", (1, 4, 3, 3), {}, r"shape \[1, 4, 3, 3\] and size is 0, images and 1 or more were expected"),
        ("LRN", (4, 3), {"size": 3}, r"shape \[4, 3\] and size is 3, images and 1 or more were expected"),
        ("LRN", (1, 4, 3, 3), {"size": 3, "alpha": float("nan")}, "attribute 'alpha' is no finite number"),
        ("LpNormalization", (2, 3), {"p": 3}, "p is 3, 1 or 2 was expected"),
        ("LpNormalization", (2, 3), {"axis": 2}, r"axes \[2\] of"),
        ("LpPool", (1, 2, 5), {"kernel_shape": [2], "p": 0}, "p is 0, 1 or more was expected"),
        ("LpPool", (1, 2, 5), {"kernel_shape": [2], "ceil_mode": 1}, "attribute 'ceil_mode' is 1, 0 was expected"),
        ("LpPool", (1, 2, 5), {}, "attribute 'kernel_shape' is no list of integers"),
        ("LpPool", (1, 2, 5), {"kernel_shape": [2, 2]}, "kernel_shape"),
        ("GlobalLpPool", (2, 5), {}, r"input has shape \[2, 5\], at least 3 dimensions were expected"),
        ("Hardmax", (2, 5), {"axis": -3}, r"axes \[-3\] of"),
    ],
)
def test_what_is_refused(
    operator: str, shape: tuple[int, ...], attributes: dict[str, Attribute], reason: str, tmp_path: Path
) -> None:
    writer = OnnxWriter(opset=18)
    _add(writer, operator, shape, **attributes)
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError, match=reason):
        import_model(file)


@pytest.mark.parametrize("operator", ["LRN", "LpNormalization", "LpPool", "GlobalLpPool", "ReduceProd", "Hardmax"])
def test_int8_has_none_of_them(operator: str, tmp_path: Path) -> None:
    writer = OnnxWriter(opset=18)
    attributes: dict[str, Attribute] = {"kernel_shape": [1, 1]} if operator == "LpPool" else {}
    found = writer.node(operator, [writer.input((1, 2, 3, 4), 0.1, 0)], {"size": 1, **attributes})
    writer.output(writer.requantized(found, 0.1, 0))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError, match="which int8 has no arithmetic for"):
        import_model(file)
