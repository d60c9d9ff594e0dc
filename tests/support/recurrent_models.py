"""Random TFLite models with one recurrent layer."""

from dataclasses import dataclass, replace

import numpy as np

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.tensor import Tensor
from tinygen.ops.lstm import Lstm


def svdf_model(
    seed: int,
    is_real: bool = False,
    rank: int | None = None,
    is_variable: bool = True,
    state_zero_point: int | None = None,
    ends: tuple[int, int, int] = (20, 7, 12),
) -> tuple[bytes, tuple[int, int]]:
    """x -> SVDF -> y, and the shape of x; of int8 with a state of int8 or int16, or of float32. Inputs, units and steps
    are drawn from below the `ends`."""
    rng = np.random.default_rng(seed)
    batches, inputs, units = (int(rng.integers(1, end)) for end in (3, *ends[:2]))
    own_rank, steps = int(rng.integers(1, 4)), int(rng.integers(1, ends[2]))
    filters, is_wide = units * own_rank, bool(rng.integers(2))
    model = ModelWriter()
    kind = "float32" if is_real else "int8"
    state_kind = "float32" if is_real else "int16" if is_wide else "int8"
    state_zero = 0 if is_wide or is_real else int(rng.integers(-60, 60))
    state_zero = state_zero if state_zero_point is None else state_zero_point

    def tensor(
        name: str, shape: tuple[int, ...], type: str, scale: float, zero_point: int = 0, data: object = None
    ) -> int:
        quant = {} if is_real else {"scale": scale, "zero_point": zero_point}
        values = None if data is None else np.asarray(data).astype(type)
        is_state = name == "state" and is_variable
        return model.tensor(name, shape, type, data=values, is_variable=is_state, **quant)  # type: ignore[arg-type]

    spread = 1.0 if is_real else 127.0
    features = np.clip(rng.normal(0, spread / 3, (filters, inputs)), -spread, spread)
    times = np.clip(rng.normal(0, 3000 if is_wide and not is_real else spread / 3, (filters, steps)), -32767, 32767)
    times = times if is_wide or is_real else np.clip(times, -127, 127)
    bias = rng.normal(0, 1 if is_real else 2000, units)
    x_scale, feature_scale, time_scale = 0.05, 0.008, 0.0005 if is_wide else 0.008
    state_scale = x_scale * feature_scale * 127 * inputs**0.5 / (1000 if is_wide else 1) / float(rng.uniform(1, 3))
    x = tensor("x", (batches, inputs), kind, x_scale, int(rng.integers(-100, 100)))
    layer = [
        x,
        tensor("features", (filters, inputs), kind, feature_scale, data=features),
        tensor("times", (filters, steps), state_kind, time_scale, data=times),
        tensor("bias", (units,), "float32" if is_real else "int32", state_scale * time_scale, data=bias),
        tensor("state", (batches, filters * steps), state_kind, state_scale, state_zero),
    ]
    y_scale = state_scale * time_scale * (3000 * 300 if is_wide else 40 * 40) * steps**0.5 / 60
    y = tensor("y", (batches, units), kind, y_scale, int(rng.integers(-100, 100)))
    model.operator("SVDF", layer, [y], rank=rank or own_rank, fused_activation_function=0)
    return model.finish([x] if is_variable else [x, layer[-1]], [y]), (batches, inputs)


@dataclass(frozen=True)
class Layer:
    """What a test asks of a layer that is else drawn."""

    batches: int = 1
    steps: int = 3
    inputs: int = 8
    units: int = 8
    is_wide: bool = False
    is_time_major: bool = False
    weight_scale: float = 0.004
    hidden_zero_point: int = 0
    recurrent: tuple[int, ...] = ()  # the recurrent weights of each gate, all the same; drawn where there are none


def lstm_model(
    seed: int,
    is_real: bool = False,
    activation: int = 4,
    cell_scale: float | None = None,
    bias: int | None = None,
    layer: Layer | None = None,
    result: tuple[float, int] | None = None,
) -> tuple[bytes, tuple[int, ...], str]:
    """x -> UNIDIRECTIONAL_SEQUENCE_LSTM -> y, the shape of x and its type: int8, int16 or float32.

    `result`: scale and zero point of y, where they are not the state's.
    """
    rng = np.random.default_rng(seed)
    batches, steps, inputs, units = (int(rng.integers(1, most)) for most in (3, 6, 20, 12))
    is_wide, is_time_major = bool(rng.integers(2)), bool(rng.integers(2))
    if layer:
        batches, steps, inputs, units = layer.batches, layer.steps, layer.inputs, layer.units
        is_wide, is_time_major = layer.is_wide, layer.is_time_major
    kind = "float32" if is_real else "int16" if is_wide else "int8"
    sums = "float32" if is_real else "int64" if is_wide else "int32"
    model = ModelWriter()

    def tensor(
        name: str, shape: tuple[int, ...], type: str, scale: float, zero_point: int = 0, data: object = None
    ) -> int:
        quant = {} if is_real else {"scale": scale, "zero_point": zero_point}
        values = None if data is None else np.asarray(data).astype(type)
        return model.tensor(name, shape, type, data=values, is_variable="state" in name, **quant)  # type: ignore[arg-type]

    x_scale, h_scale = (0.0002, 1 / 32768) if is_wide else (0.03, 1 / 128)
    x_zero, h_zero = (0, 0) if is_wide else (int(rng.integers(-60, 60)), int(rng.integers(-9, 9)))
    h_zero = layer.hidden_zero_point if layer else h_zero
    weight_scale = float(rng.choice([0.004, 0.02, 0.1]))  # of the largest, products with the state leave 16 bits
    weight_scale = layer.weight_scale if layer else weight_scale
    order = (steps, batches) if is_time_major else (batches, steps)

    def weights(name: str, count: int) -> list[int]:
        spread = (0.5, 2.0) if is_real else (60, 127)
        values = [np.clip(rng.normal(0, spread[0], (units, count)), -spread[1], spread[1]) for _ in range(4)]
        kinds = "float32" if is_real else "int8"
        return [tensor(f"{name} {n}", (units, count), kinds, weight_scale, data=v) for n, v in enumerate(values)]

    x = tensor("x", (*order, inputs), kind, x_scale, x_zero)
    kernels = weights("kernel", inputs)
    recurrent = (
        [
            tensor(f"recurrent {n}", (units, units), "int8", weight_scale, data=np.full((units, units), value))
            for n, value in enumerate(layer.recurrent)
        ]
        if layer and layer.recurrent
        else weights("recurrent", units)
    )
    size = 0.5 if is_real else 0.3 / (x_scale * weight_scale)
    starts = [rng.normal(0, size, units) if bias is None else np.full(units, bias) for _ in range(4)]
    biases = [tensor(f"bias {n}", (units,), sums, x_scale * weight_scale, data=data) for n, data in enumerate(starts)]
    hidden = tensor("hidden state", (batches, units), kind, h_scale, h_zero)
    exponent = int(rng.integers(9, 16))
    cell = tensor("cell state", (batches, units), "float32" if is_real else "int16", cell_scale or 2.0**-exponent)
    y = tensor("y", (*order, units), kind, *(result or (h_scale, h_zero)))
    absent = [-1, -1, -1]
    operands = [x, *kernels, *recurrent, *absent, *biases, -1, -1, hidden, cell, *absent, -1]
    model.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        [y],
        fused_activation_function=activation,
        cell_clip=float(rng.choice([0.0, 0.4, 10.0])),
        time_major=is_time_major,
    )
    return model.finish([x], [y]), (*order, inputs), kind


def lstm_as_tflite(op: Lstm) -> bytes:
    """The model of a quantized layer, with the same integers and scales."""
    model = ModelWriter()

    def tensor(of: Tensor, name: str = "", is_variable: bool = False) -> int:
        type = of.type
        kind = np.dtype(type.dtype.numpy).name
        return model.tensor(
            name or of.name,
            type.shape,
            kind,
            data=of.data,
            is_variable=is_variable,
            scale=type.scale,
            zero_point=type.zero_point,
        )

    x = tensor(replace(op.input, data=None))
    constants = [[tensor(of) for of in constants] for constants in (op.kernels, op.recurrent, op.biases)]
    hidden, cell = (tensor(replace(of, data=None), f"{of.name} of TFLM", is_variable=True) for of in op.states)
    y = tensor(op.result)
    operands = [x, *constants[0], *constants[1], -1, -1, -1, *constants[2], -1, -1, hidden, cell, -1, -1, -1, -1]
    model.operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        [y],
        fused_activation_function=4,
        cell_clip=op.cell_clip,
        time_major=op.is_time_major,
    )
    return model.finish([x], [y])


def real_model(operator: str, seed: int, activation: int = 4) -> tuple[bytes, tuple[int, ...]]:
    """x -> a recurrent operator of float32 -> y, two of a bidirectional one that does not merge; and the shape of x."""
    rng = np.random.default_rng(seed)
    batches, steps, inputs, units = (int(rng.integers(1, most)) for most in (3, 6, 12, 9))
    is_time_major, is_merged = bool(rng.integers(2)), bool(rng.integers(2))
    order = (steps, batches) if is_time_major else (batches, steps)
    is_merged &= "LSTM" not in operator or is_time_major or batches == 1  # LiteRT's others lie over each other
    gates, directions = 4 if "LSTM" in operator else 1, ("fw", "bw") if "BIDIRECTIONAL" in operator else ("fw",)
    model = ModelWriter()

    def constants(name: str, *shape: int) -> list[int]:
        values = [rng.normal(0, 0.5, shape).astype(np.float32) for _ in range(gates)]
        return [model.tensor(f"{name} {number}", shape, "float32", data=data) for number, data in enumerate(values)]

    def state(name: str) -> int:
        return model.tensor(name, (batches, units), "float32", is_variable=True)

    x = model.tensor("x", (*order, inputs), "float32")
    operands = [x]
    for way in directions:
        kernels, recurrent = constants(f"{way} kernel", units, inputs), constants(f"{way} recurrent", units, units)
        biases = constants(f"{way} bias", units)
        if gates == 1:
            operands += [*kernels, *recurrent, *biases, state(f"{way} hidden")]
        else:
            operands += [*kernels, *recurrent, -1, -1, -1, *biases, -1, -1]
    if gates == 4:
        operands += [state(f"{way} {role}") for way in directions for role in ("hidden", "cell")]
    operands += [-1] * (9 if gates == 4 else 3)
    options: dict[str, object] = {"fused_activation_function": activation, "time_major": is_time_major}
    if len(directions) == 1:
        operands = operands[:5]
        outputs = [model.tensor("y", (*order, units), "float32")]
    else:
        options["merge_outputs"] = is_merged
        sizes = [2 * units] if is_merged else [units, units]
        outputs = [model.tensor(f"y{n}", (*order, size), "float32") for n, size in enumerate(sizes)]
    if gates == 4:
        options["cell_clip"] = float(rng.choice([0.0, 0.3]))
    model.operator(operator, operands, outputs, **options)  # type: ignore[arg-type]
    return model.finish([x], outputs), (*order, inputs)
