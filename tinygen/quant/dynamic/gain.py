"""What a layer takes in float32 and in int8: instructions.

Prices with a floating-point unit are from the keyword network of `benchmarks/dynamic.md`, others are estimates of
software arithmetic. What is decided by them is a sign, so they need not be exact.
"""

from dataclasses import dataclass

from tinygen.ops.dynamic_layer import Layer
from tinygen.ops.weighted import LayerKind
from tinygen.targets.isa import Isa


@dataclass(frozen=True)
class _Prices:
    """Instructions for one of each."""

    float_mac: float
    float_tap: float  # of depthwise convolutions
    mac: float
    tap: float
    input: float  # element whose range is found and that is quantized
    output: float  # element that becomes a real number


_CALLS = 300.0  # the further functions of a layer
_WITH_FLOAT_UNIT = _Prices(7.2, 15.0, 1.9, 3.5, 32.0, 24.0)
_PRICES = {
    Isa.DSP: _WITH_FLOAT_UNIT,
    Isa.MVE: _Prices(3.9, 13.6, 0.6, 1.5, 10.0, 8.0),
}
_WITHOUT_FLOAT_UNIT = _Prices(70.0, 80.0, 6.0, 9.0, 180.0, 220.0)


@dataclass(frozen=True)
class Cost:
    """Instructions of a layer."""

    float32: float
    int8: float

    @property
    def gain(self) -> float:
        """How many of them int8 saves."""
        return self.float32 - self.int8


def cost(layer: Layer, isa: Isa, is_quantized: bool) -> Cost:
    """Of a layer whose input is quantized for another one already, or not."""
    prices = _PRICES.get(isa, _WITHOUT_FLOAT_UNIT)
    is_depthwise = layer.layer_kind is LayerKind.DEPTHWISE_CONV_2D
    macs, outputs = layer.macs, layer.output.type.elements
    inputs = 0 if is_quantized else layer.input.type.elements
    sums = macs * (prices.tap if is_depthwise else prices.mac)
    return Cost(
        float32=macs * (prices.float_tap if is_depthwise else prices.float_mac),
        int8=sums + inputs * prices.input + outputs * prices.output + _CALLS,
    )
