"""A network like microWakeWord's, made from nothing: it hears a rising tone, call by call, three rows of features each.

Rows of features and of the first layer are variables: read, concatenated with new ones, sliced and assigned. The first
layer is random, the second one the least-squares solution on signals with rising and falling tones and noise.
"""

from dataclasses import dataclass

import numpy as np

from tests.support.sounds import FloatArray, Int16Array
from tests.support.tflite_writer import ModelWriter
from tinygen.audio.micro import MICRO_SPEECH, MicroFrontEnd
from tinygen.ir.types import Array, DType, Quant, TensorType

ROWS, CHANNELS = 3, 40  # of a call's features
RATE = 16000
CALL = 480  # samples
_FIRST, _UNITS, _SPAN = 5, 16, 14  # rows that the first layer sees; its units; calls that the second layer sees
_SCALE = 0.10196078568696976
_INPUT = TensorType(DType.INT8, (), Quant((_SCALE,), (-128,)))
_CALLS = 60  # of a signal

FRONT_END = MicroFrontEnd(conversion=MICRO_SPEECH)


@dataclass(frozen=True)
class Signal:
    """Samples, and the call in which a rising tone ends; None where there is none."""

    samples: Int16Array
    word: int | None


def signal(seed: int, has_word: bool) -> Signal:
    """Noise with a tone of 360 ms, rising or falling."""
    rng = np.random.default_rng(seed)
    samples = rng.normal(0, rng.uniform(20, 300), _CALLS * CALL)
    start, length = int(rng.integers(20, 44)) * CALL, 12 * CALL
    rise = np.linspace(400, 3500, length) if has_word else np.linspace(3500, 400, length)
    tone = np.sin(2 * np.pi * np.cumsum(rise / RATE)) * np.hanning(length) ** 0.3
    samples[start : start + length] += rng.uniform(3000, 12000) * tone
    word = (start + length) // CALL if has_word else None
    return Signal(np.clip(np.rint(samples), -32768, 32767).astype(np.int16), word)


def features_of(samples: Int16Array) -> Array:
    """Of calls, [calls, 3, 40], as the network takes them."""
    return FRONT_END.stored(samples, _INPUT, after_silence=True).reshape(-1, ROWS, CHANNELS)


def wake_word_model() -> bytes:
    """The network in int8."""
    first = np.random.default_rng(0).normal(0, 0.05, (_UNITS, _FIRST, 1, CHANNELS)).astype(np.float32)
    first_scale = float(np.abs(first).max() / 127)
    first_codes = np.rint(first / first_scale)
    signals = [signal(seed, has_word=seed % 2 == 0) for seed in range(40)]
    hidden = [_hidden(features_of(one.samples), first_codes * first_scale) for one in signals]
    unit_scale = max(float(units.max()) for units in hidden) / 255
    windows = np.concatenate([_windows(np.minimum(np.rint(units / unit_scale), 255) * unit_scale) for units in hidden])
    wanted = np.concatenate([_wanted(one) for one in signals])
    weights, bias = _solved(windows, wanted)
    return _written(first_codes, first_scale, unit_scale, weights, bias)


def _hidden(features: Array, first: FloatArray) -> FloatArray:
    """The first layer's results of all calls, [calls, units], as real numbers."""
    rows = (features.reshape(-1, CHANNELS).astype(np.float64) + 128) * _SCALE
    padded = np.concatenate([np.zeros((_FIRST - ROWS, CHANNELS)), rows])
    seen = np.stack([padded[at : at + _FIRST].reshape(-1) for at in range(0, len(rows), ROWS)])
    found: FloatArray = np.maximum(seen @ first.reshape(_UNITS, -1).T, 0)
    return found


def _windows(units: FloatArray) -> FloatArray:
    """What the second layer sees in each call."""
    padded = np.concatenate([np.zeros((_SPAN - 1, _UNITS)), units])
    return np.stack([padded[at : at + _SPAN].reshape(-1) for at in range(len(units))])


def _wanted(one: Signal) -> FloatArray:
    calls = np.full(_CALLS, -6.0)
    if one.word is not None:
        calls[one.word : one.word + 2] = 6.0
    return calls


def _solved(windows: FloatArray, wanted: FloatArray) -> tuple[FloatArray, float]:
    extended = np.concatenate([windows, np.ones((len(windows), 1))], axis=1)
    importance = np.where(wanted > 0, 12.0, 1.0)[:, np.newaxis]
    square = (extended * importance).T @ extended + 0.02 * np.eye(extended.shape[1])
    solution: FloatArray = np.linalg.solve(square, (extended * importance).T @ wanted)
    return solution[:-1], float(solution[-1])


def _written(first: FloatArray, first_scale: float, unit_scale: float, weights: FloatArray, bias: float) -> bytes:
    model = ModelWriter()

    def tensor(name: str, *shape: int, scale: float, zero_point: int = -128) -> int:
        return model.tensor(name, shape, "int8", scale=scale, zero_point=zero_point)

    def constant(name: str, values: Array, scale: float | None = None) -> int:
        return model.tensor(name, values.shape, str(values.dtype), data=values, scale=scale)

    def numbers(name: str, *values: int) -> int:
        return constant(name, np.array(values, np.int32))

    def window(name: str, new: int, rows: int, channels: int, count: int, scale: float) -> int:
        """The rows that are kept and the new ones, of which the last ones are kept."""
        handle = model.tensor(f"{name} handle", (), "resource")
        model.operator("VAR_HANDLE", [], [handle], shared_name=name)
        kept, whole = rows - count, tensor(f"{name} window", 1, rows, 1, channels, scale=scale)
        before, after = (tensor(f"{name} {role}", 1, kept, 1, channels, scale=scale) for role in ("kept", "next"))
        model.operator("READ_VARIABLE", [handle], [before])
        model.operator("CONCATENATION", [before, new], [whole], axis=1)
        box = [numbers(f"{name} begin", 0, -kept, 0, 0), numbers(f"{name} end", 0, 0, 0, 0)]
        ones = numbers(f"{name} strides", 1, 1, 1, 1)
        model.operator("STRIDED_SLICE", [whole, *box, ones], [after], begin_mask=13, end_mask=15)
        model.operator("ASSIGN_VARIABLE", [handle, after], [])
        return whole

    model.operator("CALL_ONCE", [], [], init_subgraph_index=1)
    x, rows = tensor("features", 1, ROWS, CHANNELS, scale=_SCALE), tensor("rows", 1, ROWS, 1, CHANNELS, scale=_SCALE)
    model.operator("RESHAPE", [x, numbers("shape", 1, ROWS, 1, CHANNELS)], [rows])
    seen = window("heard", rows, _FIRST, CHANNELS, ROWS, _SCALE)
    units = tensor("units", 1, 1, 1, _UNITS, scale=unit_scale)
    filters = constant("first", first.astype(np.int8), first_scale)
    zero = constant("no bias", np.zeros(_UNITS, np.int32), _SCALE * first_scale)
    model.operator(
        "CONV_2D", [seen, filters, zero], [units], padding=1, stride_h=1, stride_w=1, fused_activation_function=1
    )
    past = window("past", units, _SPAN, _UNITS, 1, unit_scale)
    flat = tensor("flat", 1, _SPAN * _UNITS, scale=unit_scale)
    model.operator("RESHAPE", [past, numbers("flat shape", 1, _SPAN * _UNITS)], [flat])
    scale = float(np.abs(weights).max() / 127)
    codes = np.rint(weights / scale).astype(np.int8)[np.newaxis]
    offset = np.array([round(bias / (scale * unit_scale))], np.int32)
    logit, chance = tensor("logit", 1, 1, scale=0.125, zero_point=0), tensor("chance", 1, 1, scale=1 / 256)
    layer = [flat, constant("second", codes, scale), constant("bias", offset, scale * unit_scale)]
    model.operator("FULLY_CONNECTED", layer, [logit])
    model.operator("LOGISTIC", [logit], [chance])
    result = model.tensor("detected", (1, 1), "uint8", scale=1 / 256)
    model.operator("QUANTIZE", [chance], [result])
    model.next_subgraph([x], [result])
    for name, kept, channels, of in (
        ("heard", _FIRST - ROWS, CHANNELS, _SCALE),
        ("past", _SPAN - 1, _UNITS, unit_scale),
    ):
        handle = model.tensor(f"{name} handle", (), "resource")
        model.operator("VAR_HANDLE", [], [handle], shared_name=name)
        start = np.full((1, kept, 1, channels), -128, np.int8)
        silence = model.tensor(f"{name} start", start.shape, "int8", data=start, scale=of, zero_point=-128)
        model.operator("ASSIGN_VARIABLE", [handle, silence], [])
    return model.finish([], [])
