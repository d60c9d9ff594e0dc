"""Running a built model on samples: files in, files out, numbers reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinygen.build import host, qemu
from tinygen.build.firmware import Image
from tinygen.build.outcome import Outcome
from tinygen.codegen.harness import INPUT_FILE, OUTPUT_FILE, TRACE_FILE, traced_results
from tinygen.errors import MismatchError, ToolError
from tinygen.ir.graph import Port
from tinygen.ir.types import Array
from tinygen.planner.schedule import Schedule

_OUTSIDE_ARENA = 3  # exit codes of the harness
_FAILED_OPERATOR = 4
_BASE_TIMEOUT_S = 120.0
_MACS_PER_S = 200_000  # slower than any emulator met so far: only a guard against hanging

Sample = Sequence[Array]  # one array per input, or per output


@dataclass(frozen=True)
class Execution:
    """What the program wrote and reported."""

    outputs: list[list[Array]]  # per sample, one array per output, as the application sees it
    outcome: Outcome


def execute(image: Image, schedule: Schedule, inputs: Sequence[Sample]) -> Execution:
    """Run `image` on `inputs` in the folder it was built in.

    Raises MismatchError where the model writes outside of its arena, ToolError where the program fails otherwise.
    """
    folder = image.elf.parent
    (folder / INPUT_FILE).write_bytes(_packed(inputs, schedule.graph.inputs))
    timeout_s = _BASE_TIMEOUT_S + len(inputs) * schedule.graph.macs / _MACS_PER_S
    board = schedule.board
    if board.is_host:
        outcome = host.run(image.elf, folder, timeout_s)
    else:
        outcome = qemu.run(image.elf, board, folder, timeout_s)
    _check(outcome, schedule)
    return Execution(_unpacked(folder / OUTPUT_FILE, schedule.graph.outputs, len(inputs)), outcome)


def read_trace(image: Image, schedule: Schedule, samples: int) -> list[dict[str, Array]]:
    """Per sample, the value of every result right after its operator, by tensor name."""
    data = memoryview((image.elf.parent / TRACE_FILE).read_bytes())
    position = 0
    traces: list[dict[str, Array]] = []
    for _ in range(samples):
        values: dict[str, Array] = {}
        for call, results in zip(schedule.steps, traced_results(schedule), strict=True):
            for tensor, result in zip(call.op.results, results, strict=True):
                raw = data[position : position + result.bytes]
                values[tensor.name] = np.frombuffer(raw, tensor.type.dtype.numpy).reshape(tensor.shape)
                position += result.bytes
        traces.append(values)
    return traces


def _packed(inputs: Sequence[Sample], ports: Sequence[Port]) -> bytes:
    chunks = []
    for sample in inputs:
        for port, values in zip(ports, sample, strict=True):
            chunks.append(np.ascontiguousarray(values, port.external.dtype.numpy).tobytes())
    return b"".join(chunks)


def _unpacked(file: Path, ports: Sequence[Port], samples: int) -> list[list[Array]]:
    data = file.read_bytes()
    position = 0
    outputs = []
    for _ in range(samples):
        sample: list[Array] = []
        for port in ports:
            dtype, count = port.external.dtype.numpy, port.external.elements
            sample.append(np.frombuffer(data, dtype, count, position).reshape(port.external.shape))
            position += count * dtype.itemsize
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
        name = schedule.steps[number - 1].op.source if 0 < number <= len(schedule.steps) else "an operator"
        raise ToolError(f"{where}: {name} returned an error. Please report this.")
    raise ToolError(
        f"{where}: ended with code {outcome.exit_code}, 0 was expected. It printed: {outcome.text[-500:]!r}"
    )
