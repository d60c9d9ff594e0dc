"""The firmware folder of a task: model, submission, command parser, port, start-up, linker script, Makefile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path

from tinygen import paths
from tinygen.audio.front_end import FrontEnd
from tinygen.build import target_runtime
from tinygen.build.bundle import Contents, NetworkFiles, bundle
from tinygen.build.kernel_sources import SourceTree
from tinygen.codegen.environment import environment
from tinygen.codegen.linker import linker_script
from tinygen.codegen.model import ModelText
from tinygen.codegen.project import ProjectKind
from tinygen.codegen.quoting import make_value
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.ir.graph import Graph, Port
from tinygen.ir.stream import Stream
from tinygen.ir.types import DType, TensorType
from tinygen.mlperf.description import DESCRIPTION_FILE, LARGEST_BLOCK, Description
from tinygen.mlperf.tasks import InputForm, Task
from tinygen.mlperf.tracks import SAMPLE_RATE
from tinygen.planner.schedule.schedule import Schedule
from tinygen.report.document import json_text
from tinygen.targets import Board, SoundKind, TimerKind

_OWN = paths.RUNTIME_C / "mlperf"
PROGRAM_BYTES = 32 << 10  # of main RAM beside arena and stack: most of it is for what a runner sends
_QUANTIZE = "tg_quantize_f32_s8"
_TIMERS = {TimerKind.MPS_FPGAIO: "mps_fpgaio.h", TimerKind.RISCV_MTIME: "riscv_mtime.h"}
_START = ("run.c", "semihosting.c", "semihosting_call.c", "startup.c")


@dataclass(frozen=True)
class Listening:
    """How firmware listens."""

    block_samples: int  # of a call
    warmup_blocks: int  # the first whose outputs are those of a whole window
    threshold: float  # probability of the word above which it is heard

    def stored_threshold(self, output: TensorType) -> int:
        """The largest stored output, of that type, that is no more than the threshold."""
        return min(floor(self.threshold / output.scale) + output.zero_point, output.max)


def firmware_files(
    task: Task,
    network: NetworkFiles,
    trees: Sequence[SourceTree],
    opt: str,
    flash_bytes: int | None = None,
    front_end: FrontEnd | None = None,
) -> dict[str, str]:
    """All files of the folder by relative path; with a front end, of firmware that listens.

    Raises UnsupportedModelError where the model is not one of the task, UsageError where the board is the host.
    """
    name, schedule = network.name, network.schedule
    board = schedule.board
    _check_board(board)
    listening = None if front_end is None else _listening(task, schedule, front_end)
    _check_model(task, schedule, listening)
    block_samples = None if listening is None else listening.block_samples
    description = Description(
        task=task.name,
        board=board.name,
        qemu_machine=board.qemu.machine if board.qemu else None,
        program=task.name,
        block_samples=block_samples,
        qemu_cpu=board.qemu.cpu if board.qemu else None,
        family=board.toolset.family,
    )
    context = _context(task, schedule, name, opt, description, listening)
    files = {f"mlperf/{file}": (_OWN / file).read_text(encoding="utf-8") for file in _own_sources(listening)}
    if board.timer is not None:
        files["mlperf/port_timer.h"] = (_OWN / "timers" / _TIMERS[board.timer.kind]).read_text(encoding="utf-8")
    files |= {f"target/{file.name}": file.read_text(encoding="utf-8") for file in _start_sources(board)}
    wanted = (_QUANTIZE,) if _is_window(task) else ()
    contents = Contents(name, [network], trees, opt, schedule.arena_bytes, wanted=wanted)
    files |= {f"model/{file}": text for file, text in bundle(contents, ProjectKind.MAKE).items()}
    for file, template in (
        ("mlperf_config.h",) * 2,
        ("submission.c", _submission(schedule, listening)),
        ("Makefile",) * 2,
    ):
        files[file] = environment().get_template(f"mlperf/{template}.j2").render(context)
    files["linker.ld"] = linker_script(
        board.listening if listening else board, flash_bytes=flash_bytes, hot_code=schedule.hot_code
    )
    files[DESCRIPTION_FILE] = json_text(description) + "\n"
    return files


def _submission(schedule: Schedule, listening: Listening | None) -> str:
    if listening is not None:
        return "listening_submission.c"
    return "submission.c" if schedule.graph.stream is None else "stream_submission.c"


def _listening(task: Task, schedule: Schedule, front_end: FrontEnd) -> Listening:
    """Raises UsageError where the task is not about sound."""
    if task.threshold is None:
        raise UsageError(
            f"--front-end: is given for {task.title}, whose runner sends inputs of the network. Leave the option out."
        )
    if front_end.sample_rate != SAMPLE_RATE:
        raise UsageError(
            f"--front-end: takes samples at {front_end.sample_rate:,} Hz, {SAMPLE_RATE:,} Hz were expected for "
            f"{task.title}. Correct sample_rate."
        )
    (port,) = schedule.graph.inputs
    samples = port.tensor.type.elements
    if samples > LARGEST_BLOCK:
        raise UsageError(
            f"--front-end: a call takes {samples:,} samples, at most {LARGEST_BLOCK:,} were expected for {task.title}. "
            "Add --stream time."
        )
    rows = samples // front_end.step
    return Listening(samples, -(-task.input_elements // (rows * front_end.channels)), task.threshold)


def _context(
    task: Task, schedule: Schedule, name: str, opt: str, description: Description, listening: Listening | None
) -> Mapping[str, object]:  # what templates print
    model = ModelText(name, schedule)
    board = schedule.board
    return {
        "task": task,
        "model": model,
        "upper": model.upper,
        "board": board,
        "opt": opt,
        "tools": board.toolset,
        "flags": make_value((*board.flags, *board.toolset.flags)),
        "link_flags": make_value((*board.link_flags, *board.toolset.flags)),
        "library": make_value(board.toolset.link_flags),
        "start": [f"target/{file}" for file in _START],
        "port": _port(board) or "",
        "sound_port": _sound_port(board) or "",
        "listening": listening,
        "threshold": listening and listening.stored_threshold(schedule.graph.outputs[0].tensor.type),
        "elf": description.uart_elf,
        "semihosting_elf": description.semihosting_elf,
        "download_bytes": task.sample_bytes,
        "is_image": task.form is InputForm.IMAGE,
        "is_float_window": _is_window(task),
        "keeps_sample": _is_window(task) or model.ports.fetches_rows,
    }


def _is_window(task: Task) -> bool:
    return task.form is InputForm.WINDOW


def _port(board: Board) -> str | None:
    """The port of the board's serial port and counter; None where the user has to write one."""
    if board.uart is None or board.timer is None:
        return None
    return "mlperf/port_uart.c"


def _sound_port(board: Board) -> str | None:
    """What gives samples on the board; None where the user has to write it."""
    return (
        None
        if board.sound is None
        else {SoundKind.SHARED_RAM: "mlperf/sound/sound_port_shared_ram.c"}[board.sound.kind]
    )


def _own_sources(listening: Listening | None) -> list[str]:
    """Relative to `_OWN`."""
    folders = (_OWN,) if listening is None else (_OWN, _OWN / "sound")
    files = (file for folder in folders for file in sorted(folder.iterdir()))
    return [file.relative_to(_OWN).as_posix() for file in files if file.suffix in {".c", ".h", ".cpp"}]


def _start_sources(board: Board) -> list[Path]:
    sources = [file for file in target_runtime.sources(board) if file.name in _START]
    return [*sources, *sorted(target_runtime.INCLUDE.glob("*.h"))]


def _check_board(board: Board) -> None:
    if board.is_host:
        raise UsageError(f"--target {board.name}: is no microcontroller, expected a board. See `tinygen targets`.")


def _check_model(task: Task, schedule: Schedule, listening: Listening | None) -> None:
    graph = schedule.graph
    if schedule.stored:
        raise UsageError(
            "--results: is stored, resident was expected: the runner asks for the whole output. Leave the option out."
        )
    for role, ports, elements in (
        ("input", graph.inputs, task.input_elements),
        ("output", graph.outputs, task.output_elements),
    ):
        if len(ports) != 1:
            raise _unsuitable(task, schedule, f"has {len(ports)} {role}s", f"1 {role} was")
        kind = ports[0].tensor.type
        if listening is not None and role == "input":
            continue  # samples
        if not _is_int8(ports[0]) or kind.elements * _calls_per(role, graph) != elements:
            shape = f"{kind.dtype.numpy}{list(kind.shape)}"
            raise _unsuitable(
                task, schedule, f"{role} '{ports[0].name}' is {shape}", f"{elements} quantized int8 values were"
            )
    if graph.stream is not None:
        _check_stream(task, graph.stream)


def _check_stream(task: Task, stream: Stream) -> None:
    if task.form is not InputForm.FEATURES or stream.window_columns % stream.columns:
        raise UsageError(
            f"--stream: takes {stream.columns} of {stream.window_columns} columns a call, features that come out even "
            f"were expected for {task.title}. Leave the option out."
        )


def _calls_per(role: str, graph: Graph) -> Fraction:
    """How many calls of a stream take the input that the runner sends; 1 without a stream."""
    if role != "input" or graph.stream is None:
        return Fraction(1)
    return Fraction(graph.stream.window_columns, graph.stream.columns)


def _is_int8(port: Port) -> bool:
    kind = port.tensor.type
    return kind.dtype is DType.INT8 and kind.quant is not None


def _unsuitable(task: Task, schedule: Schedule, what: str, expected: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{schedule.graph.name}: {what}, {expected} expected for {task.title}. Choose the task of this model."
    )
