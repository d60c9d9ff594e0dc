"""What each layer of a calibrated network loses, on samples that are last in their file."""

from dataclasses import replace

from tinygen.calib.calibrator import BATCH, Calibration, Calibrator
from tinygen.calib.mixed import NARROW, candidates_of, combined
from tinygen.calib.model import prepared
from tinygen.calib.trials import trials_of_last
from tinygen.quant.calibrate import NO_MOMENTS, Identity, Settings, make_ctable
from tinygen.quant.ctable import CTable
from tinygen.quant.dataset import Dataset
from tinygen.quant.engines.datapaths import engine_names, with_crossings
from tinygen.quant.forward import Forward, forward_of
from tinygen.quant.simulate import simulate
from tinygen.report.layer_errors import LayerError

_SAMPLES = 16


def layer_errors(calibrator: Calibrator, calibration: Calibration, data: Dataset) -> tuple[LayerError, ...]:
    """The operators of the quantized network in their order; on the last samples of a file, at most 16.

    Layers whose weights could be int4 are tried so, each alone; not where engines of a board decide on types.
    """
    count = min(data.samples, _SAMPLES)
    real, engines = float_forward(calibration), engine_names(calibration.table)
    found = simulate(calibration.graph, data.batches(BATCH, data.samples - count, count), real, count, engines=engines)
    settings = calibration.settings or calibrator.settings
    tried = {} if settings.engines.board else _narrow_alone(calibrator, calibration.table, settings, data, count)
    return tuple(
        LayerError(traced.operator, traced.name, traced.sqnr_db, traced.saturated, tried.get(traced.name))
        for traced in found.trace[len(calibration.graph.inputs) : -len(calibration.graph.outputs)]
    )


def _narrow_alone(
    calibrator: Calibrator, table: CTable, settings: Settings, data: Dataset, count: int
) -> dict[str, float]:
    """SQNR of the scores in dB with int4 weights in one layer beside those of the table, by operator."""
    narrow_settings = replace(settings, widths=replace(settings.widths, default=NARROW), rounds_adaptively=False)
    statistics = calibrator.statistics(data)
    narrow = make_ctable(calibrator.graph, statistics, narrow_settings, Identity(calibrator.model.identity), NO_MOMENTS)
    trials = trials_of_last(calibrator, data, count, None)
    return {
        name: trials.sqnr(trials.scores(combined(table, narrow, [candidate])))
        for candidate in candidates_of(calibrator.graph, table, narrow)
        for name in candidate.ops
    }


def float_forward(calibration: Calibration) -> Forward:
    """The float network of a table, with all tensors of the same names."""
    table = calibration.table
    real = with_crossings(prepared(calibration.model.graph, "equalize" in table.preparation), table.casts)
    return forward_of(real, [tensor.name for tensor in real.tensors if not tensor.is_constant])
