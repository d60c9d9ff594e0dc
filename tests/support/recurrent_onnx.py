"""Random ONNX models with one LSTM, GRU or RNN."""

from dataclasses import dataclass

import numpy as np

from tests.support.onnx_writer import OnnxWriter
from tinygen.ir.types import Array

_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
_BOUNDED = ("Sigmoid", "Tanh", "HardSigmoid", "Softsign", "ScaledTanh")
_UNBOUNDED = ("Relu", "LeakyRelu", "Softplus", "Elu", "ThresholdedRelu", "Affine")
_ALPHA = ("HardSigmoid", "ScaledTanh", "LeakyRelu", "Elu", "ThresholdedRelu", "Affine")
_BETA = ("HardSigmoid", "ScaledTanh", "Affine")
_PER_DIRECTION = {"GRU": 2, "LSTM": 3, "RNN": 1}


@dataclass(frozen=True)
class SequenceModel:
    """A model, the same with steps first, and samples for the former."""

    content: bytes
    steps_first: bytes  # layout 0, which onnxruntime takes
    samples: tuple[tuple[Array, ...], ...]
    has_batches_first: bool

    def turned(self, sample: tuple[Array, ...]) -> list[Array]:
        """The sample for the model with steps first."""
        if not self.has_batches_first:
            return list(sample)
        return [np.ascontiguousarray(x.swapaxes(0, 1)) if x.ndim == 3 else x for x in sample]

    def turned_back(self, outputs: list[Array]) -> list[Array]:
        """Outputs of the model with steps first as the other one gives them."""
        if not self.has_batches_first:
            return outputs
        return [y.transpose(2, 0, 1, 3) if y.ndim == 4 else y.swapaxes(0, 1) for y in outputs]


def sequence_model(seed: int, operator: str, is_plain: bool = False) -> SequenceModel:
    """x -> operator -> all its outputs; `is_plain`: with nothing but the functions that integers have."""
    rng = np.random.default_rng(seed)
    steps, batches, inputs, units = (int(rng.integers(1, most)) for most in (7, 4, 9, 9))
    direction = str(rng.choice(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1
    gates, is_first = _GATES[operator], bool(rng.integers(2))
    attributes: dict[str, object] = {"hidden_size": units, "direction": direction}
    if operator == "GRU":
        attributes["linear_before_reset"] = int(rng.integers(2))
    has = {name: bool(rng.integers(2)) for name in ("bias", "lengths", "states", "given", "clip", "peepholes")}
    if not is_plain:
        attributes |= _others(rng, operator, directions)
        if has["clip"]:
            attributes["clip"] = 0.5
    weights = [rng.normal(0, 0.5, (directions, gates * units, depth)).astype(np.float32) for depth in (inputs, units)]
    bias = rng.normal(0, 0.5, (directions, 2 * gates * units)).astype(np.float32)
    lengths = rng.integers(0, steps + 1, batches).astype(np.int32)
    lengths[0] = steps
    shape = (directions, batches, units)
    states = [rng.normal(0, 0.5, shape).astype(np.float32) for _ in range(2 if operator == "LSTM" else 1)]
    peepholes = rng.normal(0, 0.5, (directions, 3 * units)).astype(np.float32)

    def drawn(batches_first: bool) -> bytes:
        model = OnnxWriter()
        x = model.port((batches, steps, inputs) if batches_first else (steps, batches, inputs))
        operands = [x, *map(model.constant, weights), model.constant(bias) if has["bias"] else ""]
        operands.append(model.constant(lengths) if has["lengths"] else "")
        for state in states if has["states"] else ():
            own = np.ascontiguousarray(state.swapaxes(0, 1)) if batches_first else state
            operands.append(model.port(own.shape) if has["given"] else model.constant(own))
        if operator == "LSTM" and has["peepholes"] and not is_plain:
            operands += [""] * (7 - len(operands)) + [model.constant(peepholes)]
        layout = {"layout": 1} if batches_first else {}
        count = 3 if operator == "LSTM" else 2
        first = model.node(operator, operands, {**attributes, **layout}, count)  # type: ignore[dict-item]
        for number in range(count):
            model.output(first if number == 0 else f"{first}.{number}")
        return model.finish()

    def sample() -> tuple[Array, ...]:
        x = rng.normal(0, 1, (batches, steps, inputs) if is_first else (steps, batches, inputs)).astype(np.float32)
        own = [np.ascontiguousarray(state.swapaxes(0, 1)) if is_first else state for state in states]
        return (x, *(own if has["states"] and has["given"] else ()))

    return SequenceModel(drawn(is_first), drawn(False), tuple(sample() for _ in range(3)), is_first)


def _others(rng: np.random.Generator, operator: str, directions: int) -> dict[str, object]:
    """Attributes that only float32 has."""
    found: dict[str, object] = {}
    if operator == "LSTM":
        found["input_forget"] = int(rng.integers(2))
    if rng.integers(2):
        last = _PER_DIRECTION[operator] - 1  # of gates, unbounded ones would let sequences grow without limits
        choices = [(*_BOUNDED, *_UNBOUNDED) if number == last else _BOUNDED for number in range(last + 1)] * directions
        names = [str(rng.choice(names)) for names in choices]
        found["activations"] = names
        for attribute, takers in (("activation_alpha", _ALPHA), ("activation_beta", _BETA)):
            count = sum(name in takers for name in names)
            found[attribute] = [float(number) for number in rng.uniform(0.1, 0.6, max(count, 1))]
    return found
