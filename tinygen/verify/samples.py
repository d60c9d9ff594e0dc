"""Inputs to run a model on: from a file, or drawn."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from tinygen.build.execute import Sample
from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.ir.types import Array, DType, TensorType

Samples = Sequence[Sample]  # per sample, one array per input, as the application has it

_MARGIN = 1.1  # drawn floats go a little beyond the range that can be stored, so that they saturate too


def random_samples(ports: Sequence[Port], count: int, seed: int) -> Samples:
    """`count` samples over the whole range of each input, the same ones for the same seed."""
    generator = np.random.default_rng(seed)
    return [[_random(port, generator) for port in ports] for _ in range(count)]


def load_samples(file: Path, ports: Sequence[Port]) -> Samples:
    """The samples in a .npy file, or in an .npz file with one array per input, named as in the model or in0, in1, ...

    The first axis of each array counts samples; the rest is the input's shape, or as many elements. UsageError.
    """
    return stack_samples(read_arrays(file), ports, file.name)


def stack_samples(arrays: Mapping[str, Array], ports: Sequence[Port], where: str) -> Samples:
    """The samples in arrays like those of `load_samples`; `where` is what messages call them."""
    stacks = [_stack(where, arrays, index, port, len(ports)) for index, port in enumerate(ports)]
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
            return dict(loaded)
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is in another form, or damaged"
        raise UsageError(
            f"{file}: cannot be read as samples ({reason}), an .npz or .npy file of numpy was expected. "
            "Write it with numpy.save or numpy.savez."
        ) from None


def _stack(where: str, arrays: Mapping[str, Array], index: int, port: Port, inputs: int) -> Array:
    """The samples of one input, in its shape and element type."""
    name = array_name(where, arrays, index, port, inputs)
    array, external = arrays[name], port.external
    if array.ndim == 0 or array.size != len(array) * external.elements:
        raise UsageError(
            f"{where}: array '{name}' has shape {list(array.shape)}, [samples, "
            f"{', '.join(map(str, external.shape))}] was expected for input '{port.name}'."
        )
    return converted(where, name, array, port).reshape(len(array), *external.shape)


def array_name(where: str, arrays: Mapping[str, Array], index: int, port: Port, inputs: int) -> str:
    """What the array of an input is called: as the model calls it, in0, in1, ..., or anything where it is the only one.

    UsageError where there is none.
    """
    name = next((name for name in (port.name, f"in{index}") if name in arrays), None)
    if name is None and inputs == 1 and len(arrays) == 1:
        name = next(iter(arrays))
    if name is None:
        raise UsageError(
            f"{where}: holds the arrays {sorted(arrays)}, one named '{port.name}' or 'in{index}' was expected."
        )
    return name


def converted(where: str, name: str, array: Array, port: Port) -> Array:
    """The array with the input's element type; UsageError where that does not hold its values."""
    dtype = port.external.dtype
    if not _holds(dtype, array):
        raise UsageError(
            f"{where}: array '{name}' has elements of {array.dtype}, {dtype.numpy} were expected "
            f"for input '{port.name}'. Convert them."
        )
    return array.astype(dtype.numpy)


def _holds(dtype: DType, array: Array) -> bool:
    """Whether `dtype` takes the elements as they are: floats of any width for floats, whole ones within the range."""
    if dtype is DType.FLOAT32:
        return bool(np.issubdtype(array.dtype, np.floating))
    if not dtype.is_integer:
        return array.dtype == dtype.numpy
    is_integral = np.issubdtype(array.dtype, np.integer) or (
        np.issubdtype(array.dtype, np.floating) and np.array_equal(array, np.rint(array))
    )
    within = array.size == 0 or (float(array.min()) >= dtype.min and float(array.max()) <= dtype.max)
    return bool(is_integral and within)
