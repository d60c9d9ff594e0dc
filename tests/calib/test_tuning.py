"""`tinygen calibrate --search`: what it finds, against every policy alone, measured here."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.model import load_float
from tinygen.calib.tuning import POLICIES, Tuning, tune
from tinygen.quant.dataset import open_dataset
from tinygen.quant.metric import Metric
from tinygen.quant.search import Search


@pytest.mark.parametrize("metric", list(Metric))
def test_s0_25_grid_is_at_least_as_good_as_any_policy(tmp_path: Path, metric: Metric) -> None:
    model, data = write_float_model(tmp_path)
    np.savez(data, in0=samples(60), labels=np.arange(60) % 4)
    calibrator = Calibrator(load_float(model))
    tuned = tune(calibrator, open_dataset(data, calibrator.model.graph.inputs), Tuning(Search.GRID, metric, 25))
    scores = {trial.policies: trial.score for trial in tuned.found.trials}
    singles = [scores[(str(policy),) * len(tuned.groups)] for policy in POLICIES]
    best = tuple(map(str, tuned.found.best))
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
