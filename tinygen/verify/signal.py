"""Signals: as many columns of each input as one likes, cut into the inputs of calls, or into windows."""

from math import prod
from pathlib import Path

import numpy as np

from tinygen.build.execute import Sample
from tinygen.errors import UsageError
from tinygen.ir.graph import Graph, Port
from tinygen.ir.samples import elements, input_arrays
from tinygen.ir.stream import Stream
from tinygen.ir.types import Array
from tinygen.verify.samples import Samples, read_arrays


def load_calls(file: Path, model: Graph, step: Graph) -> Samples:
    """The inputs of each call, from a file with a signal for each input of `model`, which is called as `step` says.

    A signal has the input's shape but for its length along the stream's axis, or columns first. UsageError where its
    columns are none, or do not come out even.
    """
    stream = _stream_of(step)
    arrays = read_arrays(file)
    names = input_arrays(file.name, arrays, [port.name for port in model.inputs])
    signals = [
        _signal(file.name, name, arrays[name], port, stream) for name, port in zip(names, model.inputs, strict=True)
    ]
    counts = {len(signal) for signal in signals}
    count = min(counts)
    if len(counts) != 1 or count == 0 or count % stream.columns:
        raise UsageError(
            f"{file.name}: holds {sorted(counts)} columns, a multiple of {stream.columns} was expected, the same for "
            "each input: so many go into one call."
        )
    return [
        [_call(signal, port, index) for signal, port in zip(signals, step.inputs, strict=True)]
        for index in range(count // stream.columns)
    ]


def windows(calls: Samples, model: Graph, step: Graph) -> list[Sample]:
    """The model's inputs that end with each call, from the first call whose outputs count on."""
    stream = _stream_of(step)
    signals = [
        np.concatenate([_columns(call[index], port) for call in calls]) for index, port in enumerate(step.inputs)
    ]
    return [
        [
            _window(signal, port, stream, end * stream.columns)
            for signal, port in zip(signals, model.inputs, strict=True)
        ]
        for end in range(stream.warmup_calls, len(calls) + 1)
    ]


def _stream_of(step: Graph) -> Stream:
    if step.stream is None:
        raise ValueError(f"{step.name} is no stream")
    return step.stream


def _signal(where: str, name: str, array: Array, port: Port, stream: Stream) -> Array:
    """The signal, columns first, with the input's element type."""
    columns = _columns_first(where, name, array, port, stream)
    return elements(where, name, columns, port.external.dtype, f"input '{port.name}'", unit="column")


def _columns_first(where: str, name: str, array: Array, port: Port, stream: Stream) -> Array:
    """The signal as [columns, the rest of the input's axes in order, without the first]."""
    shape, axis = port.external.shape, stream.axis
    rest = (*shape[1:axis], *shape[axis + 1 :])
    for batch in (shape[:1], ()):
        fits = (*batch, *shape[1:axis]), shape[axis + 1 :]
        at = len(fits[0])
        if array.ndim == at + 1 + len(fits[1]) and (array.shape[:at], array.shape[at + 1 :]) == fits:
            return np.moveaxis(array, at, 0).reshape(-1, *rest)
    if array.ndim and array.size == len(array) * prod(rest):
        return array.reshape(len(array), *rest)
    expected = ", ".join("columns" if index == axis else str(size) for index, size in enumerate(shape))
    raise UsageError(
        f"{where}: array '{name}' has shape {list(array.shape)}, [{expected}] was expected for input '{port.name}'."
    )


def _call(signal: Array, port: Port, index: int) -> Array:
    count = port.external.shape[1]
    return signal[index * count : (index + 1) * count].reshape(port.external.shape)


def _columns(call: Array, port: Port) -> Array:
    return call.reshape(port.external.shape[1], -1)


def _window(signal: Array, port: Port, stream: Stream, end: int) -> Array:
    """The last columns before `end`, in the form of the model's input; zeros stand for those before the first one."""
    shape, axis = port.external.shape, stream.axis
    columns = signal[max(end - shape[axis], 0) : end]
    missing = np.zeros((shape[axis] - len(columns), signal.shape[1]), signal.dtype)
    rest = (*shape[1:axis], *shape[axis + 1 :])
    window = np.concatenate([missing, columns]).reshape(shape[axis], *rest)
    return np.moveaxis(window, 0, axis - 1).reshape(shape)
