"""Inputs to run a model on: from a file, or drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tinygen.build.execute import Sample
from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.ir.samples import check_shape, elements, input_arrays
from tinygen.ir.types import Array, DType, TensorType
from tinygen.quant.dataset import UNREADABLE, unreadable

Samples = Sequence[Sample]  # per sample, one array per input, as the application has it

_MARGIN = 1.1  # drawn floats go a little beyond the range that can be stored, so that they saturate too


def random_samples(ports: Sequence[Port], count: int, seed: int) -> Samples:
    """`count` samples over the whole range of each input, the same ones for the same seed."""
    generator = np.random.default_rng(seed)
    return [[_random(port, generator) for port in ports] for _ in range(count)]


def load_samples(file: Path, ports: Sequence[Port]) -> Samples:
    """The samples in a .npy file, or in an .npz file with one array per input, named by the rule of `ir.samples`.

    The first axis of each array counts samples; the rest is the input's shape, or as many elements. UsageError.
    """
    return stack_samples(read_arrays(file), ports, file.name)


def stack_samples(arrays: Mapping[str, Array], ports: Sequence[Port], where: str) -> Samples:
    """The samples in arrays like those of `load_samples`; `where` is what messages call them."""
    names = input_arrays(where, arrays, [port.name for port in ports])
    stacks = [_stack(where, name, arrays[name], port) for name, port in zip(names, ports, strict=True)]
    counts = {len(stack) for stack in stacks}
    if len(counts) != 1:
        raise UsageError(f"{where}: its arrays have {sorted(counts)} samples, the same number was expected in each.")
    return list(zip(*stacks, strict=True))


def _random(port: Port, generator: np.random.Generator) -> Array:
    external = port.external
    if external.dtype is DType.FLOAT32:
        low, high = _real_range(port.tensor.type)
        return generator.uniform(low, high, external.shape).astype(np.float32)
    if external.dtype in (DType.INT8, DType.UINT8, DType.INT16):
        return generator.integers(external.dtype.min, external.dtype.max, external.shape, external.dtype.numpy, True)
    return generator.integers(0, 2, external.shape).astype(external.dtype.numpy)  # booleans, and indices, valid ones


def _real_range(type: TensorType) -> tuple[float, float]:
    """Real values that a quantized tensor can store, and a little more."""
    if type.quant is None:
        return -1.0, 1.0
    low, high = (type.scale * (bound - type.zero_point) for bound in (type.dtype.min, type.dtype.max))
    return low * _MARGIN, high * _MARGIN


def read_arrays(file: Path) -> Mapping[str, Array]:
    """Arrays by name; the array of a .npy file is `in0`."""
    try:
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return {"in0": loaded}
        with loaded:
            return {name: array for name, array in loaded.items() if isinstance(array, np.ndarray)}
    except UNREADABLE as error:
        is_told = isinstance(error, OSError) and error.strerror  # numpy's own words are about pickles
        raise unreadable(file, error if is_told else ValueError("it is in another form, or damaged")) from None


def _stack(where: str, name: str, array: Array, port: Port) -> Array:
    """The samples of one input, in its shape and element type."""
    external, reader = port.external, f"input '{port.name}'"
    check_shape(where, name, array.shape, external, reader)
    return elements(where, name, array, external.dtype, reader).reshape(len(array), *external.shape)
