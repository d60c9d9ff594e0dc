"""Calibration samples, read piece by piece: memory does not depend on how many there are."""

import io
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zipfile import BadZipFile, ZipFile

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Port
from tinygen.ir.samples import LABELS, check_elements, check_shape, elements, input_arrays
from tinygen.ir.types import Array
from tinygen.option import COUNT, option
from tinygen.quant.errors import Code, SampleError

UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,  # of encrypted archives; NotImplementedError of unknown compression is one
    MemoryError,  # of headers that promise more than there is
    BadZipFile,
    zlib.error,
)
"""What numpy and zipfile raise where a file is no file of arrays."""

DEFAULT_SAMPLES = 500
_HELD_OUT = 10  # one sample in so many
_MOST_HELD_OUT = 64
_SUFFIX = ".npy"
_WHOLE = "in0"  # what the array of a .npy file is called


def samples_option() -> int:
    """How many samples count, of commands that calibrate."""
    return option(DEFAULT_SAMPLES, COUNT, "--samples", at_least=0, help="How many samples to read at most.")


@dataclass(frozen=True)
class Header:
    """What stands before the elements of an array in a file."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


@dataclass(frozen=True)
class Dataset:
    """The samples of a file: one array per input of a model, the first axis counts samples."""

    file: Path
    names: tuple[str, ...]  # arrays in the file, one per input
    ports: tuple[Port, ...]
    samples: int
    has_labels: bool

    def batches(self, size: int, first: int = 0, count: int | None = None) -> Iterator[list[Array]]:
        """Samples [first, first + count) in batches of at most `size`; per batch, one finite array per input."""
        end = self.samples if count is None else min(first + count, self.samples)
        with ExitStack() as stack:
            streams = [stack.enter_context(_opened(self.file, name)) for name in self.names]
            for (header, stream), port in zip(streams, self.ports, strict=True):
                _skip(stream, first * header.dtype.itemsize * port.external.elements)
            for start in range(first, end, size):
                here = min(size, end - start)
                yield [
                    self._batch(stream, header, port, name, start, here)
                    for (header, stream), port, name in zip(streams, self.ports, self.names, strict=True)
                ]

    def held_out(self, most: int = _MOST_HELD_OUT) -> int:
        """How many samples at the end are to measure on, where the others are what ranges are made of: a tenth, at
        most so many; none of a single sample.
        """
        return min(max(self.samples // _HELD_OUT, 1), most, self.samples - 1)

    def labels(self) -> Array | None:
        """The class of each sample, where the file has them."""
        return read_labels(self.file, self.samples) if self.has_labels else None

    def _batch(self, stream: IO[bytes], header: Header, port: Port, name: str, first: int, count: int) -> Array:
        values = _elements(self.file, name, stream, header, count * port.external.elements)
        batch = values.reshape(count, *port.external.shape[1:]) if _is_batch(port) else values.reshape(count, -1)
        return elements(self.file.name, name, batch, port.external.dtype, _reader(port), first)


def open_dataset(file: Path, ports: Sequence[Port], limit: int | None = None) -> Dataset:
    """The first `limit` samples of a .npy or .npz file, arrays named by the rule of `ir.samples`; UsageError."""
    headers = _headers(file)
    names = input_arrays(file.name, headers, [port.name for port in ports])
    for name, port in zip(names, ports, strict=True):
        check_shape(file.name, name, headers[name].shape, port.external, _reader(port))
        check_elements(file.name, name, headers[name].dtype, port.external.dtype, _reader(port))
    counts = {headers[name].shape[0] for name in names}
    if len(counts) != 1:
        raise SampleError(
            f"{file.name}: its arrays have {sorted(counts)} samples, the same number was expected in each. "
            "Cut the longer ones."
        )
    samples = min(counts.pop(), limit if limit is not None else 1 << 62)
    if samples < 1:
        raise SampleError(
            f"{Code.NO_SAMPLES.value} {file.name}: 0 samples to calibrate with, 300 to 500 were expected. "
            "Give more data, or a larger --samples."
        )
    return Dataset(file, names, tuple(ports), samples, _has_labels(file, headers, samples))


def read_labels(file: Path, samples: int) -> Array | None:
    """The classes of the first samples in an .npz file; None where it has no labels. SampleError for what is none."""
    if file.suffix.lower() == _SUFFIX:
        return None
    try:
        with np.load(file, allow_pickle=False) as arrays:
            name = next((name for name in LABELS if name in arrays), None)
            if name is None:
                return None
            labels: Array = arrays[name]
    except UNREADABLE as error:
        raise unreadable(file, error) from None
    is_one = _are_classes(file, name, Header(labels.shape, labels.dtype), samples)
    return labels[:samples].reshape(-1) if is_one else None


def _has_labels(file: Path, headers: Mapping[str, Header], samples: int) -> bool:
    """Whether there is a class, an integer, for each sample; SampleError where `labels` cannot be that."""
    name = next((name for name in LABELS if name in headers), None)
    return name is not None and _are_classes(file, name, headers[name], samples)


def _are_classes(file: Path, name: str, header: Header, samples: int) -> bool:
    """Whether an array is an integer class for each sample; SampleError where it should be."""
    shape, dtype = header.shape, header.dtype
    if shape[:1] < (samples,) or math.prod(shape[1:]) != 1 or dtype.kind not in "iu":
        if name == "y":  # anything may be called that
            return False
        raise SampleError(
            f"{file.name}: array '{name}' has shape {list(shape)} of {dtype}, an integer class for each of {samples} "
            "samples was expected. Correct or rename it."
        )
    return True


def _is_batch(port: Port) -> bool:
    return port.external.shape[:1] == (1,)


def _reader(port: Port) -> str:
    """What takes an array, as messages name it."""
    return f"input '{port.name}'"


def _headers(file: Path) -> dict[str, Header]:
    """The arrays in the file, by name."""
    names = _array_names(file)
    found = {}
    for name in names:
        with _opened(file, name) as (header, _):
            found[name] = header
    return found


def _array_names(file: Path) -> list[str]:
    if file.suffix.lower() == _SUFFIX:
        return [_WHOLE]
    try:
        with ZipFile(file) as archive:
            return [name.removesuffix(_SUFFIX) for name in archive.namelist() if name.endswith(_SUFFIX)]
    except UNREADABLE as error:
        raise unreadable(file, error) from None


@contextmanager
def _opened(file: Path, name: str) -> Iterator[tuple[Header, IO[bytes]]]:
    """An array's header, and the stream that stands at its first element."""
    with ExitStack() as stack:
        try:
            if file.suffix.lower() == _SUFFIX:
                stream: IO[bytes] = stack.enter_context(file.open("rb"))
            else:
                stream = stack.enter_context(stack.enter_context(ZipFile(file)).open(name + _SUFFIX))
            header = _header(stream)
        except UNREADABLE as error:
            raise unreadable(file, error) from None
        yield header, stream


def _header(stream: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise ValueError("its arrays are in another form")
    if is_fortran and len(shape) > 1:
        raise ValueError("an array is in Fortran order, which numpy.ascontiguousarray changes")
    return Header(shape, dtype)


def _elements(file: Path, name: str, stream: IO[bytes], header: Header, count: int) -> Array:
    try:
        content = stream.read(count * header.dtype.itemsize)
    except UNREADABLE as error:  # a damaged archive shows it only here
        raise unreadable(file, error) from None
    if len(content) != count * header.dtype.itemsize:
        raise unreadable(file, ValueError(f"array '{name}' ends early"))
    values: Array = np.frombuffer(content, header.dtype)
    return values


def _skip(stream: IO[bytes], size: int) -> None:
    if stream.seekable():
        stream.seek(size, io.SEEK_CUR)
    elif size:
        stream.read(size)


def _is_special(file: Path) -> bool:
    try:
        return file.is_fifo() or file.is_char_device()
    except OSError:  # a name that no file can have
        return False


def unreadable(file: Path, error: BaseException) -> UsageError:
    """The error that says so of one of `UNREADABLE`."""
    reason = (isinstance(error, OSError) and error.strerror) or str(error) or "it is damaged"
    if _is_special(file):
        reason = "it is a pipe or a device, where nothing can be read twice"
    return SampleError(
        f"{file}: cannot be read as samples ({reason}), an .npz or .npy file of numpy was expected. "
        "Write it with numpy.save or numpy.savez."
    )
