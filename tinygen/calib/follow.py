"""What compiling a float model takes from calibration: a table from a file, or one made of samples."""

from pathlib import Path

from tinygen.calib.calibrator import DEFAULT_SAMPLES, Calibration, Calibrator
from tinygen.calib.engines import BY_DEFAULT, Assigning, assign, check_board
from tinygen.calib.model import float_model
from tinygen.errors import UsageError
from tinygen.ir.graph import Graph
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.dataset import open_dataset
from tinygen.quant.widths import ALL_INT8, Widths
from tinygen.targets import Board


def follow(
    source: Path,
    imported: Graph,
    table: Path | None,
    data: Path | None,
    board: Board,
    widths: Widths,
    assigning: Assigning = BY_DEFAULT,
) -> Calibration | None:
    """The calibration that `--ctable` or `--calibrate` asks for; None where neither does."""
    if data is None and assigning != BY_DEFAULT:
        raise UsageError("--engine, --max-drop: are for --calibrate, which is not given, it was expected. Add it.")
    if data is None and widths != ALL_INT8:
        raise UsageError(
            "--weights, --op, --activations: are for --calibrate, which is not given, it was expected. Add it."
        )
    if table is None and data is None:
        return None
    if table is not None and data is not None:
        raise UsageError("--ctable and --calibrate: both are given, one was expected. Leave one out.")
    model = float_model(source, imported)
    if table is not None:
        found = read_ctable(table)
        if board.assigns_engines:
            check_board(found, board.engines, board.name)
        return Calibration(model, found)
    assert data is not None
    samples = open_dataset(data, model.graph.inputs, DEFAULT_SAMPLES)
    calibrator = Calibrator(model, board, Settings(widths=widths))
    if not board.assigns_engines:
        return calibrator.run_file(samples)
    check_widths(widths, board)
    return assign(calibrator, samples, assigning)


def check_widths(widths: Widths, board: Board) -> None:
    """Raise UsageError where activations are asked for that a board's engines decide."""
    if widths.has_int16:
        raise UsageError(
            f"--activations: {board.name} has engines, whose datapaths say that, the option left out was expected. "
            "Choose engines with --engine NAME=ENGINE."
        )
