"""Every 8-bit function of one input against LiteRT: all 256 inputs under many quantizations."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import pytest

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter, OptionValue
from tinygen.errors import UnsupportedOperatorsError

Quantization = tuple[float, int]  # scale, zero point
Draw = Callable[[np.random.Generator], Quantization]

ALL_INPUTS = np.arange(-128, 128).astype(np.int8)
QUANTIZATIONS = 60


def anything(rng: np.random.Generator) -> Quantization:
    """A scale in [2**-9, 2], every third time a power of two, and any zero point, its ends more often."""
    zero_point = rng.choice([-128, 127, 0, *rng.integers(-128, 128, 4)])
    exponent = rng.integers(-9, 2) if rng.integers(3) == 0 else rng.uniform(-9, 1)  # powers of two give ties
    return float(np.float32(2.0**exponent)), int(zero_point)


def non_negative(rng: np.random.Generator) -> Quantization:
    """No stored value stands for a negative number, which LiteRT's roots refuse."""
    return anything(rng)[0], -128


def probability(rng: np.random.Generator) -> Quantization:  # noqa: ARG001 - the only one that LiteRT takes
    """1/256, from 0 on."""
    return 1 / 256, -128


def unit(rng: np.random.Generator) -> Quantization:  # noqa: ARG001 - the one that converters write
    """1/128, symmetric."""
    return 1 / 128, 0


def model(
    name: str, source: Quantization, target: Quantization, options: Mapping[str, OptionValue] = MappingProxyType({})
) -> bytes:
    """One operator on 256 elements."""
    writer = ModelWriter()
    x = writer.tensor("x", (256,), scale=source[0], zero_point=source[1])
    y = writer.tensor("y", (256,), scale=target[0], zero_point=target[1])
    writer.operator(name, [x], [y], **options)  # type: ignore[arg-type]
    return writer.finish([x], [y])


def check(name: str, source: Draw, target: Draw, optimized: bool = False, **options: OptionValue) -> None:
    """The reference equals LiteRT's kernel on all inputs."""
    rng = np.random.default_rng(list(name.encode()))
    for _ in range(QUANTIZATIONS):
        quantizations = source(rng), target(rng)
        data = model(name, quantizations[0], quantizations[1], options)
        expected = run_reference(data, [ALL_INPUTS], optimized=optimized).outputs[0]
        np.testing.assert_array_equal(evaluate(import_model(data), [ALL_INPUTS])[0], expected, f"{quantizations}")


@needs_litert
@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("ABS", anything, anything),
        ("EXP", anything, anything),
        ("LOG", anything, anything),
        ("LOGISTIC", anything, probability),
        ("QUANTIZE", anything, anything),
        ("RELU", anything, anything),
        ("RELU6", anything, anything),
        ("RELU_0_TO_1", anything, anything),
        ("RELU_N1_TO_1", anything, anything),
        ("RSQRT", non_negative, anything),
        ("SQRT", non_negative, anything),
        ("TANH", anything, anything),
        ("TANH", anything, unit),
    ],
)
def test_s2_14_all_inputs(name: str, source: Draw, target: Draw) -> None:
    check(name, source, target)


@needs_litert
def test_elu() -> None:
    check("ELU", anything, anything, optimized=True)  # the reference resolver lacks it


@needs_litert
@pytest.mark.parametrize("approximate", [False, True])
def test_gelu(approximate: bool) -> None:
    check("GELU", anything, anything, optimized=True, approximate=approximate)


@needs_litert
@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2, 1.0, 1.7, -0.3])
def test_leaky_relu(alpha: float) -> None:
    check("LEAKY_RELU", anything, anything, alpha=alpha)


@needs_litert
def test_hard_swish() -> None:
    def target(rng: np.random.Generator) -> Quantization:
        return float(np.float32(2 ** rng.uniform(-5, 1))), anything(rng)[1]  # LiteRT takes ratios up to 128

    check("HARD_SWISH", anything, target)


@needs_litert
def test_negation_wraps_as_in_litert() -> None:
    data = model("NEG", (0.1, 0), (0.1, 0))
    expected = run_reference(data, [ALL_INPUTS]).outputs[0]
    np.testing.assert_array_equal(evaluate(import_model(data), [ALL_INPUTS])[0], expected)


@pytest.mark.parametrize(("source", "target"), [((0.1, 1), (0.1, 1)), ((0.1, 0), (0.2, 0))])
def test_negation_of_stored_values_needs_zero_point_0(source: Quantization, target: Quantization) -> None:
    with pytest.raises(UnsupportedOperatorsError, match="same quantization with zero point 0: TFLite negates stored"):
        import_model(model("NEG", source, target))


def test_square_is_the_product_with_itself() -> None:
    """LiteRT has no int8 SQUARE: its meaning is MUL(x, x)."""
    rng = np.random.default_rng(5)
    for _ in range(QUANTIZATIONS):
        source, target = anything(rng), anything(rng)
        writer = ModelWriter()
        x = writer.tensor("x", (256,), scale=source[0], zero_point=source[1])
        y = writer.tensor("y", (256,), scale=target[0], zero_point=target[1])
        writer.operator("MUL", [x, x], [y])
        square = evaluate(import_model(model("SQUARE", source, target)), [ALL_INPUTS])
        np.testing.assert_array_equal(square, evaluate(import_model(writer.finish([x], [y])), [ALL_INPUTS]))


def test_inputs_that_litert_refuses() -> None:
    """Negative inputs: the root is 0, its reciprocal the largest output."""
    roots = evaluate(import_model(model("SQRT", (0.1, 0), (0.1, -7))), [ALL_INPUTS])[0]
    reciprocals = evaluate(import_model(model("RSQRT", (0.1, 0), (0.1, -7))), [ALL_INPUTS])[0]
    assert set(roots[ALL_INPUTS <= 0]) == {-7}
    assert set(reciprocals[ALL_INPUTS <= 0]) == {127}


def test_hard_swish_refuses_what_litert_refuses() -> None:
    with pytest.raises(UnsupportedOperatorsError, match="is over 128 times the output scale"):
        import_model(model("HARD_SWISH", (2.0, 0), (0.015, 0)))
