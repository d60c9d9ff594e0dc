"""Changes of precision that many operators share: what they answer to `precision_points`."""

from tinygen.ir.answers import Point
from tinygen.ir.tensor import Tensor

ACCUMULATOR = Point("accumulator", "int32")
REQUANTIZE = Point("requantize", "Q31 multiplier and shift, rounded twice")


def conversion(tensor: Tensor, is_input: bool) -> tuple[Point, ...]:
    """Between real numbers and a tensor; none where the tensor has real numbers itself."""
    quant = tensor.type.quant
    if quant is None:
        return ()
    what = "quantize" if is_input else "dequantize"
    return (Point(what, f"scale {quant.scale:g}, zero point {quant.zero_point}, halves away from zero"),)


def offsets(*operands: Tensor, bits: int = 9) -> tuple[Point, ...]:
    """Stored values become distances from their zero points."""
    return tuple(Point("input_offset", f"'{t.name}' - {t.type.zero_point}, {bits} bits") for t in operands)


def requantized(output: Tensor) -> tuple[Point, ...]:
    """Sums become stored values."""
    return (REQUANTIZE, Point("output_offset", f"+ {output.type.zero_point}"))


def weights_point(weights: Tensor) -> Point:
    """The element type of weights, and in how many scales they are stored."""
    quant = weights.type.quant
    scales = 0 if quant is None else len(quant.scales)
    return Point("weights", f"{weights.type.dtype.name.lower()}, {scales} scale{'s' * (scales != 1)}")


def bias_points(bias: Tensor | None, dtype: str = "int32") -> tuple[Point, ...]:
    """The bias, where there is one."""
    return () if bias is None else (Point("bias", f"{dtype}, scale of the products"),)


def products_of_signs(input: Tensor, weights: Tensor, bias: Tensor | None, output: Tensor) -> tuple[Point, ...]:
    """All points of a layer of signs."""
    return (
        *offsets(input, bits=2),
        weights_point(weights),
        *bias_points(bias),
        Point("product", "exclusive or, population count"),
        ACCUMULATOR,
        *requantized(output),
    )
