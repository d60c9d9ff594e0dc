"""`tinygen mlperf`: firmware for the tasks of MLPerf Tiny, and a runner that drives it."""

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.api import report
from tinygen.build.output import check_folder, write_folder
from tinygen.build.qemu import Machine, machine_of
from tinygen.cli.command import command as as_command
from tinygen.cli.group import NamedGroup
from tinygen.cli.options import Model, Seed
from tinygen.cli.output_file import check_free, is_own_document, write_bytes
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.mlperf import session
from tinygen.mlperf.dataset import DataSet, load_data, random_data
from tinygen.mlperf.firmware import PROGRAM_BYTES, firmware_files
from tinygen.mlperf.models import fetch
from tinygen.mlperf.runner import WINDOWS, Accuracy, Performance
from tinygen.mlperf.session import BenchmarkProgram, Mode, Session, SessionPlan
from tinygen.mlperf.submission import DIVISION, read_firmware, read_session, submission
from tinygen.mlperf.tables import session_table
from tinygen.mlperf.tasks import TASKS, Task
from tinygen.mlperf.transport import TransportKind, qemu_pty
from tinygen.option import choice
from tinygen.options import Options
from tinygen.pipeline import compile_model, inside
from tinygen.report.compilation import compilation_table
from tinygen.report.document import json_text
from tinygen.report.table import facts
from tinygen.targets import Board, load
from tinygen.tasks.kernel_note import kernel_note

_RESULTS_FILE = "results.json"
_MOST = 2**31 - 1  # inferences that a command of the benchmark can ask for

Out = Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Folder to write.", show_default=False)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that tinygen did not write.")]
FirmwarePath = Annotated[
    Path, typer.Argument(metavar="ELF|FOLDER", help="Firmware, or the folder that it is built in.", show_default=False)
]
ModelsFolder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where they go.", show_default=False)]
TaskName = Annotated[
    str | None,
    typer.Option("--task", help="kws, ic, vww, ad or sww (default: that of the folder).", show_default=False),
]
ModeName = Annotated[str, typer.Option("--mode", help="accuracy or performance.")]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FOLDER|FILE",
        help="The runner's folder with its y_labels.csv, or an .npz with samples x and labels y.",
        show_default=False,
    ),
]
TransportName = Annotated[
    str, typer.Option("--transport", help="uart (as the official runner) or semihosting (whole data sets, faster).")
]
Port = Annotated[
    str | None,
    typer.Option("--port", metavar="DEVICE", help="A real board's serial port, instead of QEMU.", show_default=False),
]
Samples = Annotated[
    int | None, typer.Option("--samples", min=1, help="Use only the first ones (default: all).", show_default=False)
]
Iterations = Annotated[
    int | None,
    typer.Option(
        "--iterations",
        min=1,
        max=_MOST,
        help="Inferences of a window (default: as many as take ten seconds).",
        show_default=False,
    ),
]
Warmups = Annotated[
    int | None, typer.Option("--warmups", min=0, max=_MOST, help="Inferences before them (default: the runner's).")
]
ResultsFile = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Results (default: results.json beside the ELF).", show_default=False
    ),
]
Emulated = Annotated[
    str | None,
    typer.Option("-t", "--target", help="Board that QEMU plays (default: the folder's).", show_default=False),
]

Tracks = Annotated[
    Path | None,
    typer.Option(
        "--tracks",
        metavar="FOLDER",
        help="WAV files that the interface board plays to firmware that listens.",
        show_default=False,
    ),
]

FirmwareFolders = Annotated[
    list[Path],
    typer.Argument(metavar="FOLDER...", help="Firmware, a folder for each task.", show_default=False),
]
Sessions = Annotated[
    list[Path] | None,
    typer.Option(
        "--session",
        metavar="FOLDER",
        help="A session of the benchmark's runner (sessions/TIME); may be given several times.",
        show_default=False,
    ),
]
Organization = Annotated[str, typer.Option("--organization", help="Who submits.", show_default=False)]
System = Annotated[str, typer.Option("--system", help="A name for the board with its software.", show_default=False)]

Monitor = Annotated[
    bool,
    typer.Option("--monitor", help="With an emulated power monitor, for energy mode; it measures nothing."),
]

app = typer.Typer(
    cls=NamedGroup,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: tinygen mlperf kws kws.tflite -t mps2-an386 -o kws/",
)


@app.callback()
def mlperf() -> None:
    """MLPerf Tiny: write the firmware of a task, and drive it as the benchmark's runner does."""


def _firmware_command(task: Task) -> Callable[..., None]:
    @as_command(without=["name"])
    def command(terminal: Terminal, model: Model, out: Out, options: Options, force: Force = False) -> None:
        check_folder(out, force)
        with terminal.progress(f"compiling {model.name}"):
            compiled = compile_model(model, replace(options, name=task.name))  # its headers hide no other
            compiled.check_fits()
            compiled = inside(compiled, PROGRAM_BYTES)
            files = firmware_files(
                task,
                compiled.network(),
                compiled.trees,
                compiled.opt,
                compiled.options.flash_bytes,
                compiled.options.front_end,
            )
        terminal.note(kernel_note(compiled))
        write_folder(out, files, force)
        summary = report(compiled, files)
        terminal.result(summary, compilation_table(summary, out))
        terminal.note(f"`make -C {out}` builds {task.name}.elf; `tinygen mlperf run {out}` builds and drives it.")

    return command


for _task in TASKS.values():
    app.command(
        _task.name,
        help=f"Write the firmware of {_task.title} ({_task.model_version}): a folder that builds on its own.",
        epilog=f"Example: tinygen mlperf {_task.name} model.tflite -t mps2-an386 -o firmware/",
    )(_firmware_command(_task))


@app.command("run", epilog="Example: tinygen mlperf run kws/ --mode accuracy --data kws01.npz --transport semihosting")
@as_command()
def run(
    terminal: Terminal,
    firmware: FirmwarePath,
    task: TaskName = None,
    mode: ModeName = Mode.ACCURACY.value,
    data: Data = None,
    transport: TransportName = TransportKind.UART.value,
    port: Port = None,
    target: Emulated = None,
    samples: Samples = None,
    iterations: Iterations = None,
    warmups: Warmups = None,
    output: ResultsFile = None,
    seed: Seed = 0,
    force: Force = False,
) -> None:
    """Drive firmware by the runner's protocol, under QEMU or on a board, and write results.json."""
    kind = choice(TransportKind, "transport", transport)
    plan = SessionPlan(choice(Mode, "mode", mode), samples, iterations, warmups)
    with terminal.progress("building the firmware"):
        program = session.find_program(firmware, kind)
    results = output or program.elf.with_name(_RESULTS_FILE)
    keys = [field.name for field in fields(Session)]
    check_free(results, force, lambda file: is_own_document(file, keys), inputs=(program.elf, data))
    chosen = _task_of(program, task)
    if program.block_samples is not None:
        listened = _listen(terminal, program, chosen, plan, data, port, target)
        write_bytes(results, f"{json_text(listened)}\n".encode())
        terminal.result(listened, session_table(listened))
        return
    found = _data(chosen, plan, data, seed)
    if port is None:
        machine = _machine(program, target)
        place, ends = machine.name, session.start(program, machine, kind)
    else:
        place, ends = port, session.attach(port, chosen)
    with terminal.progress(f"{chosen.model_version}, {plan.mode}") as progress, ends as transport_ends:
        identity, measured = session.drive(transport_ends, chosen, found, plan, progress)
    result = Session(
        task=chosen.name,
        mode=plan.mode,
        transport="serial port" if port else kind.value,
        target=place,
        device=identity,
        data=found.source,
        accuracy=measured if isinstance(measured, Accuracy) else None,
        performance=measured if isinstance(measured, Performance) else None,
        listening=None,
    )
    write_bytes(results, f"{json_text(result)}\n".encode())
    terminal.result(result, session_table(result))


@app.command("serve", epilog="Example: tinygen mlperf serve kws/")
@as_command()
def serve(
    terminal: Terminal,
    firmware: FirmwarePath,
    target: Emulated = None,
    tracks: Tracks = None,
    monitor: Monitor = False,
) -> None:
    """Run firmware under QEMU with its UART on a pty, for the benchmark's own runner, until Ctrl-C."""
    with terminal.progress("building the firmware"):
        program = session.find_program(firmware, TransportKind.UART)
    if program.block_samples is not None:
        _serve_sound(terminal, program, target, tracks)
        return
    machine = _machine(program, target)
    if monitor:
        _serve_energy(terminal, program, machine)
        return
    session.check_elf(program.elf)
    with qemu_pty(program.elf, machine, counts_instructions=True) as (path, emulator):
        if terminal.json:
            terminal.result({"pty": path})
        else:
            terminal.text(f"{path}\n")
        sys.stdout.flush()  # a script waits for it
        terminal.note(f"in the runner's folder: {session.runner_command(path)}")
        emulator.process.wait()


def _serve_energy(terminal: Terminal, program: BenchmarkProgram, machine: Machine) -> None:
    """Firmware behind an interface board on one pty, a power monitor that measures nothing on another."""
    with session.monitored(program, machine) as (interface, power, serve_both):
        if terminal.json:
            terminal.result({"interface": interface, "monitor": power})
        else:
            terminal.text(f"{interface}\n{power}\n")
        sys.stdout.flush()  # a script waits for it
        terminal.note(f"in the runner's folder: {session.runner_command(None, interface, power)}")
        serve_both()


def _serve_sound(terminal: Terminal, program: BenchmarkProgram, target: str | None, tracks: Path | None) -> None:
    """Firmware that listens on one pty, an interface board that plays tracks on another."""
    if tracks is None:
        raise UsageError(f"--tracks: is missing, {program.elf} listens to WAV files. Name the folder they are in.")
    with (
        session.playing(program, _board(program, target), tracks) as (path, interface),
        session.own_pty() as (other, port),
    ):
        if terminal.json:
            terminal.result({"pty": path, "interface": other})
        else:
            terminal.text(f"{path}\n{other}\n")
        sys.stdout.flush()  # a script waits for it
        terminal.note(f"in the runner's folder: {session.runner_command(path, other)}")
        interface.serve(port)


def _listen(
    terminal: Terminal,
    program: BenchmarkProgram,
    task: Task,
    plan: SessionPlan,
    data: Path | None,
    port: str | None,
    target: str | None,
) -> Session:
    """Tracks, played to firmware that listens."""
    if port is not None:
        raise UsageError(
            f"--port {port}: {program.elf} listens, which takes an interface board beside the serial port. Use the "
            "benchmark's own runner."
        )
    if data is None or data.is_dir():
        raise UsageError(
            "--data: is missing or a folder, the truth file of tracks was expected: JSON, with the WAV files beside it."
        )
    board = _board(program, target)
    with terminal.progress(f"{task.model_version}, {plan.mode}") as progress:
        identity, listened = session.drive_tracks(program, board, task, data, progress)
    return Session(
        task=task.name,
        mode=plan.mode,
        transport=TransportKind.UART.value,
        target=board.name,
        device=identity,
        data=str(data),
        accuracy=None,
        performance=None,
        listening=listened,
    )


def _board(program: BenchmarkProgram, target: str | None) -> Board:
    name = target or program.board
    assert name is not None  # of a folder's description
    return load(name)


@app.command(
    "submission",
    epilog="Example: tinygen mlperf submission kws/ --session sessions/1 --organization acme --system board -o out/",
)
@as_command()
def submission_command(
    terminal: Terminal,
    firmware: FirmwareFolders,
    organization: Organization,
    system: System,
    out: Out,
    session_folders: Sessions = None,
    force: Force = False,
) -> None:
    """Arrange firmware and the runner's sessions as the results repositories have them."""
    check_folder(out, force)
    found = submission(
        organization,
        system,
        [read_firmware(folder) for folder in firmware],
        [read_session(folder) for folder in session_folders or ()],
    )
    write_folder(out, found.files, force)
    summary = {"files": sorted(found.files), "missing": list(found.missing)}
    rows = (("files", f"{len(found.files):,} in {out}"), *(("still missing", what) for what in found.missing))
    terminal.result(summary, facts(f"{DIVISION}/{organization}, {system}", rows))


@app.command("models", epilog="Example: tinygen mlperf models models/mlperf_tiny")
@as_command()
def models(terminal: Terminal, folder: ModelsFolder) -> None:
    """Fetch the benchmark's reference models and check them; those that are there already stay."""
    with terminal.progress("fetching") as step:
        files = fetch(folder, step)
    terminal.result({"models": [str(file) for file in files]}, *(str(file) for file in files))


def _task_of(program: BenchmarkProgram, asked: str | None) -> Task:
    name = asked or program.task
    if name is None:
        raise UsageError(f"{program.elf}: says nothing of its task, --task was expected: one of {', '.join(TASKS)}.")
    if name not in TASKS:
        raise UsageError(f"--task: is '{name}', one of {', '.join(TASKS)} was expected. Choose one of them.")
    return TASKS[name]


def _data(task: Task, plan: SessionPlan, source: Path | None, seed: int) -> DataSet:
    if source is not None:
        return load_data(source, task)
    if plan.mode is Mode.ACCURACY:
        raise UsageError("--data: is missing, accuracy mode needs samples and labels. Name a folder or an .npz file.")
    return random_data(task, WINDOWS, seed)


def _machine(program: BenchmarkProgram, target: str | None) -> Machine:
    machine = program.machine if target is None else machine_of(load(target))
    if machine is None:
        raise UsageError(
            f"{program.elf}: its board has no QEMU machine, or is not known. Name a board with -t, or a serial port "
            "with --port."
        )
    return machine
