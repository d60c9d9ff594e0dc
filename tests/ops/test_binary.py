"""Operators on two tensors against LiteRT's reference kernels: shapes, broadcasts, quantizations, activations."""

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.operator_models import ACTIVATIONS, OperatorModel, random_int8, random_scale, random_zero_point
from tests.support.reference import evaluate, import_model
from tinygen.errors import UnsupportedOperatorsError

MODELS = 150
SHAPES = [
    ((2, 3, 4, 5), (2, 3, 4, 5)),
    ((7,), (7,)),
    ((1, 4, 5, 3), (3,)),
    ((1, 4, 5, 3), (1, 1, 1, 3)),
    ((1, 1, 1, 3), (2, 4, 5, 3)),
    ((2, 4, 5, 3), (2, 1, 5, 1)),
    ((1, 4, 1, 3), (2, 1, 5, 1)),
    ((4, 1), (1, 6)),
    ((2, 6), (1,)),
    ((1,), (1, 3, 3, 2)),
    ((3, 4), (2, 1, 4)),
]


def add_operator(name: str, model: OperatorModel) -> None:
    """Add a random operator with inputs and an output of its own."""
    rng = model.rng
    first_shape, second_shape = SHAPES[rng.integers(len(SHAPES))]
    shape = np.broadcast_shapes(first_shape, second_shape)
    if name in ("MAXIMUM", "MINIMUM"):
        scale, zero_point = random_scale(rng), random_zero_point(rng)
        operands = [model.input(*s, scale=scale, zero_point=zero_point) for s in (first_shape, second_shape)]
        model.writer.operator(name, operands, [model.output(*shape, scale=scale, zero_point=zero_point)])
        return
    first, second = random_scale(rng), random_scale(rng)
    operands = [model.input(*first_shape, scale=first), _second(model, second_shape, second)]
    natural = {"MUL": 64 * first * second, "SQUARED_DIFFERENCE": 64 * max(first, second) ** 2}.get(name)
    factor = float(2 ** rng.uniform(-1, 2))
    output = model.output(*shape, scale=factor * (natural or max(first, second)))
    if name in ("ADD", "SUB", "MUL"):
        activation = int(rng.choice(ACTIVATIONS))
        model.writer.operator(name, operands, [output], fused_activation_function=activation)
    else:
        model.writer.operator(name, operands, [output])


def add_prelu(alpha_shape: tuple[int, ...], model: OperatorModel) -> None:
    """Add a PRELU of random quantization with constant slopes."""
    rng = model.rng
    x = model.input(2, 3, 4, 5)
    alpha = model.writer.tensor(
        f"alpha{len(model.outputs)}",
        alpha_shape,
        scale=random_scale(rng),
        zero_point=random_zero_point(rng),
        data=random_int8(rng, alpha_shape),
    )
    model.writer.operator("PRELU", [x, alpha], [model.output(2, 3, 4, 5, scale=random_scale(rng))])


def _second(model: OperatorModel, shape: tuple[int, ...], scale: float) -> int:
    """A second operand, every other time a constant."""
    if model.rng.integers(2):
        return model.input(*shape, scale=scale)
    data = random_int8(model.rng, shape)
    return model.writer.tensor(
        f"k{len(model.outputs)}", shape, scale=scale, zero_point=random_zero_point(model.rng), data=data
    )


@needs_litert
@pytest.mark.parametrize("name", ["ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"])
def test_against_litert(name: str) -> None:
    rng = np.random.default_rng(list(name.encode()))
    for _ in range(MODELS):
        model = OperatorModel(rng)
        add_operator(name, model)
        data = model.finish()
        expected = run_reference(data, model.values).outputs[0]
        np.testing.assert_array_equal(evaluate(import_model(data), model.values)[0], expected)


@needs_litert
@pytest.mark.parametrize("alpha_shape", [(5,), (1, 1, 5), (3, 4, 5), (1, 4, 1), (1,)])
def test_prelu_against_litert(alpha_shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(alpha_shape))
    for _ in range(MODELS // 5):
        model = OperatorModel(rng)
        add_prelu(alpha_shape, model)
        data = model.finish()
        expected = run_reference(data, model.values).outputs[0]
        np.testing.assert_array_equal(evaluate(import_model(data), model.values)[0], expected)


@pytest.mark.parametrize("name", ["MAXIMUM", "MINIMUM"])
def test_extrema_of_different_quantizations_are_refused(name: str) -> None:
    model = OperatorModel(np.random.default_rng(0))
    operands = [model.input(4, scale=0.1, zero_point=0), model.input(4, scale=0.2, zero_point=0)]
    model.writer.operator(name, operands, [model.output(4, scale=0.1, zero_point=0)])
    with pytest.raises(UnsupportedOperatorsError, match="'x1' and 'y0' must have the same quantization"):
        import_model(model.finish())


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    model = OperatorModel(np.random.default_rng(0))
    model.writer.operator("ADD", [model.input(2, 4), model.input(3, 4)], [model.output(2, 4, scale=0.1)])
    with pytest.raises(UnsupportedOperatorsError, match="broadcast"):
        import_model(model.finish())
