"""Running a built model on samples: files in, files out, numbers reported."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinygen.budget import TURNS
from tinygen.build import host, qemu
from tinygen.build.firmware import Image
from tinygen.build.outcome import Outcome
from tinygen.codegen.harness import INPUT_FILE, OUTPUT_FILE, TRACE_FILE
from tinygen.errors import MismatchError, ToolError
from tinygen.ir.graph import Values
from tinygen.ir.rows import part_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.quantize import convert
from tinygen.planner.schedule.schedule import Schedule

_OUTSIDE_ARENA = 3  # exit codes of the harness
_FAILED_OPERATOR = 4
_BASE_TIMEOUT_S = 120.0
_MACS_PER_S = 200_000  # slower than any emulator met so far: only a guard against hanging

Sample = Sequence[Array]  # one array per input, or per output


@dataclass(frozen=True)
class Execution:
    """What the program wrote and reported."""

    outputs: Sequence[Sequence[Array]]  # per sample, one array per output, as the application sees it
    outcome: Outcome


def execute(image: Image, schedule: Schedule, inputs: Sequence[Sample], plugin: str | None = None) -> Execution:
    """Run `image` on `inputs` in the folder it was built in, on QEMU with `plugin`, which then does the counting.

    Raises MismatchError where the model writes outside of its arena, ToolError where the program fails otherwise.
    """
    folder = image.elf.parent
    (folder / INPUT_FILE).write_bytes(_packed(inputs, schedule))
    timeout_s = _BASE_TIMEOUT_S + len(inputs) * schedule.graph.macs / _MACS_PER_S
    board = schedule.board
    if image.on_desk is not None:
        run = image.on_desk.run(folder, timeout_s, len(inputs) * _written_bytes(schedule)).outcome
    elif board.is_host:
        run = host.run(image.elf, folder, timeout_s)
    else:
        run = qemu.run(image.elf, board, folder, timeout_s, icount=plugin is None, plugin=plugin)
    _check(run, schedule)
    return Execution(_unpacked(folder / OUTPUT_FILE, schedule, len(inputs)), run)


def read_trace(image: Image, schedule: Schedule, inputs: Sequence[Sample]) -> list[dict[Tensor, Array]]:
    """Per sample of `inputs`, the value of every result of the graph as its operator wrote it.

    The image is one of Measure.TRACE and has just run on `inputs`.
    """
    reader = _TraceReader((image.elf.parent / TRACE_FILE).read_bytes(), schedule)
    return [reader.sample(sample) for sample in inputs]


class _TraceReader:
    """Puts the rows of a trace together."""

    def __init__(self, data: bytes, schedule: Schedule) -> None:
        self._data = data
        self._schedule = schedule
        self._position = 0
        self._states = {state.tensor: state.initial for state in schedule.graph.states}

    def sample(self, inputs: Sample) -> dict[Tensor, Array]:
        """The results of the next sample; views have the value of what they view."""
        ports = zip(self._schedule.graph.inputs, inputs, strict=True)
        values = {port.tensor: convert(array, port.external, port.tensor.type) for port, array in ports} | self._states
        for call in self._schedule.calls:
            for tensor in call.kernel.writes:
                self._store(values, tensor)
        for op in self._schedule.graph.ops:
            if not values.keys() >= set(op.results):
                values.update(zip(op.results, op.evaluate(Values(values.__getitem__)), strict=True))
        for state in self._schedule.graph.states:
            self._states[state.tensor] = state.after(values[state.window])
        return values

    def _store(self, values: dict[Tensor, Array], tensor: Tensor) -> None:
        flat = np.frombuffer(self._data, tensor.type.dtype.numpy, tensor.type.elements, self._position)
        self._position += tensor.type.bytes
        part = self._schedule.pieces.get(tensor)
        if part is None:
            values[tensor] = flat.reshape(tensor.shape)
            return
        whole = values.setdefault(part.whole, np.zeros(part.whole.shape, flat.dtype))
        part_of(whole, part)[:] = flat.reshape(tensor.shape)


def _written_bytes(schedule: Schedule) -> int:
    """What a program writes for a sample, at most: outputs, and what each call has written."""
    outputs = sum(max(port.tensor.type.bytes, port.external.bytes) for port in schedule.graph.outputs)
    return outputs + sum(tensor.type.bytes for call in schedule.calls for tensor in call.kernel.writes)


def _packed(inputs: Sequence[Sample], schedule: Schedule) -> bytes:
    """The number of samples, then the samples: fetched inputs as in the arena, others as the caller has them."""
    chunks = [struct.pack("<I", len(inputs))]
    for sample in inputs:
        for port, values in zip(schedule.graph.inputs, sample, strict=True):
            is_fetched = port.tensor in schedule.fetched
            stored = convert(values, port.external, port.tensor.type) if is_fetched else values
            dtype = port.tensor.type.dtype if is_fetched else port.external.dtype
            chunks.append(np.ascontiguousarray(stored, dtype.numpy).tobytes())
    return b"".join(chunks)


def _unpacked(file: Path, schedule: Schedule, samples: int) -> list[list[Array]]:
    """The outputs of each sample: stored ones come as in the arena, others as the caller has them."""
    data = file.read_bytes()
    position = 0
    outputs = []
    for _ in range(samples):
        sample: list[Array] = []
        for port in schedule.graph.outputs:
            type = port.tensor.type if port.tensor in schedule.stored else port.external
            flat = np.frombuffer(data, type.dtype.numpy, type.elements, position)
            sample.append(convert(flat.reshape(type.shape), type, port.external))
            position += type.bytes
        outputs.append(sample)
    return outputs


def _check(outcome: Outcome, schedule: Schedule) -> None:
    if outcome.exit_code == 0:
        return
    where = f"{schedule.graph.name} on {schedule.board.name}"
    if outcome.exit_code == _OUTSIDE_ARENA:
        raise MismatchError(f"{where}: wrote outside of its arena of {schedule.arena_bytes} bytes.")
    if outcome.exit_code == _FAILED_OPERATOR:
        number = outcome.values.get("failed_operator", 0)
        failed = next((call.whole for call in schedule.calls if call.whole.source.number == number), None)
        name = failed.source if failed else "an operator"
        if failed and failed.subgraphs:
            raise ToolError(f"{where}: {name}: a loop did not end, {TURNS.most:,} turns at most were expected.")
        raise ToolError(f"{where}: {name} returned an error. Please report this.")
    raise ToolError(
        f"{where}: ended with code {outcome.exit_code}, 0 was expected. It printed: {outcome.text[-500:]!r}"
    )
