"""The simulator against the C on the host, and its list of precision points."""

import json
from pathlib import Path

import numpy as np

from tests.support.command_line import DIGITS, DIGITS_DATA, tinygen
from tests.support.float_models import write_float_model


def test_s0_20_outputs_are_those_of_the_c_and_points_are_listed(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    table, points, ours, theirs = (tmp_path / name for name in ("t.json", "points.json", "ours.npz", "c.npz"))
    assert tinygen("calibrate", model, "--data", data, "-o", table).code == 0
    simulated = tinygen(
        "simulate", model, "--ctable", table, "--data", data, "--trace", points, "--output", ours, "--json"
    )
    assert simulated.code == 0, simulated.stderr
    assert tinygen("run", model, "--ctable", table, "--input", data, "--output", theirs, "-t", "host").code == 0
    with np.load(ours) as simulator, np.load(theirs) as c:
        np.testing.assert_array_equal(simulator["out0"], next(iter(c.values())))
    trace = json.loads(points.read_text())
    assert trace == simulated.document
    by_name = {op["name"]: op for op in trace["operators"] if op["operator"] != "OUTPUT"}
    assert [p["point"] for p in by_name["stem"]["points"]] == [
        "input_offset", "weights", "bias", "product", "accumulator", "requantize", "output_offset", "clamp",
    ]  # fmt: skip
    assert [p["point"] for p in by_name["total"]["points"]][2:4] == ["left_shift", "rescale_operands"]
    assert by_name["flat"]["points"] == []
    assert by_name["image"]["points"][0]["point"] == "quantize"
    assert all(op["sqnr_db"] > 20 for op in by_name.values())
    assert by_name["image"]["sqnr_db"] > by_name["logits"]["sqnr_db"]


def test_int8_models_need_no_table_and_float_ones_do(tmp_path: Path) -> None:
    ended = tinygen("simulate", DIGITS, "--data", DIGITS_DATA, "--samples", "5", "--json")
    assert (ended.code, ended.document["samples"], ended.document["operators"][1]["sqnr_db"]) == (0, 5, None)
    model, data = write_float_model(tmp_path)
    refused = tinygen("simulate", model, "--data", data)
    assert refused.code == 2
    assert "is a float model, --ctable or --calibrate was expected" in refused.stderr
