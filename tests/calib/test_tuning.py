"""`tinygen calibrate --search`: what it finds, against every policy alone, measured here."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.mixed import constant_bytes
from tinygen.calib.model import load_float
from tinygen.calib.tuning import POLICIES, Tuning, tune
from tinygen.errors import DoesNotFitError
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.dataset import open_dataset
from tinygen.quant.metric import Metric
from tinygen.quant.search import Search
from tinygen.quant.widths import Widths


@pytest.mark.parametrize("metric", list(Metric))
def test_s0_25_grid_is_at_least_as_good_as_any_policy(tmp_path: Path, metric: Metric) -> None:
    model, data = write_float_model(tmp_path)
    np.savez(data, in0=samples(60), labels=np.arange(60) % 4)
    calibrator = Calibrator(load_float(model))
    tuned = tune(calibrator, open_dataset(data, calibrator.model.graph.inputs), Tuning(Search.GRID, metric, 25))
    scores = {trial.policies: trial.score for trial in tuned.trials}
    singles = [scores[(str(policy),) * len(tuned.groups)] for policy in POLICIES]
    best = tuned.best.policies
    assert scores[best] == max(scores.values()) >= max(singles)
    entries = tuned.calibration.table.tensors
    assert tuple(entries[name].policy for name in tuned.groups) == best
    assert len(tuned.calibration.graph.ops) == len(calibrator.model.graph.ops)


def test_s0_25_the_command_lists_every_point_and_refuses_what_it_lacks(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path, 40)
    table = tmp_path / "t.ctable.json"
    asked = ("calibrate", model, "--data", data, "-o", table, "--search")
    ended = tinygen(*asked, "greedy", "--budget", "12", "--json")
    assert (ended.code, len(ended.document["trials"])) == (0, 12)
    record = tinygen("ctable", "show", table, "--json").document["calibration"]
    assert (record["search"], record["metric"], record["samples"]) == ("greedy", "sqnr", 40)
    assert tinygen("ctable", "check", table, model).code == 0
    unlabelled = tinygen(*asked, "grid", "--metric", "accuracy")
    assert unlabelled.code == 2
    assert "--metric accuracy: samples.npz has no array named labels or label or y" in unlabelled.stderr
    assert tinygen(*asked, "best").code == 2


def test_s0_25_widths_are_chosen_in_the_same_search(tmp_path: Path) -> None:
    """Every trial fits the flash; the best is no worse than the best policy with the smallest layers wide."""
    model, data = write_float_model(tmp_path, 40)
    calibrator = Calibrator(load_float(model))
    samples = open_dataset(data, calibrator.model.graph.inputs)
    narrow, wide = (
        constant_bytes(Calibrator(calibrator.model, settings=Settings(widths=Widths(width))).run_file(samples).graph)
        for width in (Storage.INT4, Storage.INT8)
    )
    flash = (narrow + wide) // 2
    tuned = tune(calibrator, samples, Tuning(Search.GRID, budget=30, flash_bytes=flash))
    assert len(tuned.layers) > 1
    assert {width for trial in tuned.trials for width in trial.weights} == {"int4", "int8"}
    assert len({trial.weights for trial in tuned.trials}) > 1
    assert narrow <= constant_bytes(tuned.calibration.graph) <= flash
    entries = tuned.calibration.table.ops
    assert tuple(entries[name].weights for name in tuned.layers) == tuned.best.weights
    assert tuned.best.score == max(trial.score for trial in tuned.trials)
    with pytest.raises(DoesNotFitError, match=r"^--flash: constants of .* with int4 weights wherever there are"):
        tune(calibrator, samples, Tuning(Search.GRID, flash_bytes=narrow - 1))


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path, 40)
    asked = ("calibrate", model, "--data", data, "-o", tmp_path / "t.json")
    ended = tinygen(*asked, "--search", "grid", "--flash", "20k", "--weights", "int4")
    assert (ended.code, "--weights: --search chooses them by --flash, int8 was expected." in ended.stderr) == (2, True)
