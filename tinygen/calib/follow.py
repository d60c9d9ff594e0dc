"""What compiling a float model takes from calibration: a table from a file, or one made of samples."""

from pathlib import Path

from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.engines import BY_DEFAULT, Assigning, assign, check_board
from tinygen.calib.model import float_model
from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.dataset import DEFAULT_SAMPLES, open_dataset
from tinygen.quant.widths import ALL_INT8, Widths
from tinygen.targets import Board


def follow(
    source: Path,
    imported: Graph,
    table: Path | None,
    data: Path | None,
    board: Board | None,
    widths: Widths,
    assigning: Assigning = BY_DEFAULT,
) -> Calibration | None:
    """The calibration that `--ctable` or `--calibrate` asks for; None where neither does.

    `board` is the one that was named, which a table made of samples is for; None makes it for any.
    """
    needing_samples = _given(widths, assigning)
    if data is None and needing_samples:
        raise UsageError(
            f"{needing_samples}: given without --calibrate, which was expected too. Add it, or leave "
            f"{needing_samples} out."
        )
    if table is None and data is None:
        return None
    if table is not None and data is not None:
        raise UsageError("--ctable and --calibrate: both are given, one was expected. Leave one out.")
    model = float_model(source, imported)
    if table is not None:
        found = read_ctable(table)
        if board is not None and board.assigns_engines:
            check_board(found, board.engines, board.name)
        return Calibration(model, found)
    assert data is not None
    samples = open_dataset(data, model.graph.inputs, DEFAULT_SAMPLES)
    calibrator = Calibrator(model, board, Settings(widths=widths))
    if board is None or not board.assigns_engines:
        return calibrator.run_file(samples)
    check_widths(widths, board)
    return assign(calibrator, samples, assigning)


def _given(widths: Widths, assigning: Assigning) -> str:
    """The options that differ from what holds without them."""
    options = {
        "--weights": widths.default is not ALL_INT8.default,
        "--op": bool(widths.overrides),
        "--activations": widths.activations is not ALL_INT8.activations,
        "--engine": bool(assigning.forced),
        "--max-drop": assigning.max_drop != BY_DEFAULT.max_drop,
    }
    return ", ".join(option for option, is_given in options.items() if is_given)


def check_widths(widths: Widths, board: Board) -> None:
    """Raise UsageError where activations are asked for that a board's engines decide."""
    other = [f"--op {o.pattern}={o}" for o in widths.overrides if o.activations is not Storage.INT8]
    if widths.activations is not Storage.INT8:
        other.insert(0, f"--activations {widths.activations}")
    if other:
        raise UsageError(
            f"{', '.join(other)}: {board.name} has engines, whose datapaths say what activations are, nothing else was "
            "expected to. Choose engines with --engine NAME=ENGINE."
        )
