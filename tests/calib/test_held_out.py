"""What `tinygen calibrate` says of its result: measured on samples that the ranges were not made of."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import samples, write_float_model
from tests.support.shared import shared_file
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.held_out import measure_held_out
from tinygen.calib.model import load_float
from tinygen.calib.trials import trials_of_last
from tinygen.calib.tuning import POLICIES
from tinygen.frontends import import_model
from tinygen.ops.quantize import dequantize
from tinygen.quant.calibrate import Settings
from tinygen.quant.dataset import open_dataset
from tinygen.quant.forward import forward_of
from tinygen.quant.policy import Policy

KEYWORDS = "models/mlperf_tiny/kws_fp32_qualcomm.tflite"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The small network, and samples with the classes that it gives them."""
    folder = tmp_path_factory.mktemp("held_out")
    model, data = write_float_model(folder)
    graph, images = load_float(model).graph, samples(400)
    name = graph.outputs[0].tensor.name
    scores = forward_of(graph, [name]).run([images])[name]
    np.savez(data, in0=images, labels=scores.reshape(len(images), -1).argmax(axis=1))
    return model, data


@pytest.fixture(scope="module")
def keywords(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 of the official inputs, with labels."""
    reference = import_model(shared_file("models/mlperf_tiny/kws_ref_model.tflite"))
    file = tmp_path_factory.mktemp("keywords") / "kws.npz"
    with np.load(shared_file("eval/kws01.npz")) as data:
        images = dequantize(data["x"][:500], reference.inputs[0].tensor.type).astype(np.float32)
        np.savez(file, in0=images, labels=data["y"][:500])
    return file


def _calibrated(model: Path, data: Path, folder: Path, *options: str) -> tuple[dict[str, Any], str]:
    """The document, and what stands on stderr."""
    ended = tinygen("calibrate", model, "--data", data, "-o", folder / "t.json", "--json", *options)
    assert ended.code == 0, ended.stderr
    return ended.document, ended.stderr


def test_a_good_policy_is_measured_and_not_warned_of(files: tuple[Path, Path], tmp_path: Path) -> None:
    document, stderr = _calibrated(*files, tmp_path)
    found = document["held_out"]
    assert (found["samples"], found["float_right"], found["loses"], found["better"]) == (40, 40, False, None)
    assert found["found"]["sqnr_db"] > 20
    assert found["found"]["right"] >= 38
    assert document["warnings"] == []
    assert "held out" not in stderr


@pytest.mark.parametrize("policy", ["percentile:20", "percentile:35.5"])
def test_a_bad_policy_is_named_with_the_best_one(files: tuple[Path, Path], policy: str, tmp_path: Path) -> None:
    model, data = files
    document, stderr = _calibrated(model, data, tmp_path, "--policy", policy)
    found, better = document["held_out"], document["held_out"]["better"]
    (warning,) = document["warnings"]
    assert warning in stderr
    assert warning.startswith(f"net.tflite, policy {policy}: on 40 samples that ranges were not made of, the scores ")
    assert warning.endswith(" right of 40. Choose that.")
    assert f"{better['options']} has SQNR {better['found']['sqnr_db']:.1f} dB" in warning
    assert better["found"]["sqnr_db"] > found["found"]["sqnr_db"] + 3
    assert better["options"] in {f"--policy {other}" for other in POLICIES}
    again, _ = _calibrated(model, data, tmp_path, *better["options"].split())
    assert again["held_out"]["found"] == better["found"]
    assert again["warnings"] == []


def test_item_20_four_commands_show_float_and_int8_side_by_side(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Labels are what the float network says, so it is always right; the quantized one in nearly all."""
    model, data = files
    held, _ = _calibrated(model, data, tmp_path, "--policy", "mse")
    found = held["held_out"]["accuracy"]
    top = found["measures"][0]
    assert (found["samples"], top["measure"], top["float_network"]["value"]) == (40, "top1", 1.0)
    assert top["network"]["value"] * 40 == pytest.approx(held["held_out"]["found"]["right"])
    assert (top["p_value"], top["by_chance"]) == (1.0, True)
    compiled = tinygen("compile", model, "--calibrate", data, "-t", "host", "-o", tmp_path / "out", "--json")
    assert compiled.document["accuracy"] == found
    run = tinygen("run", model, "--calibrate", data, "--input", data, "--json", "-t", "host").document
    [scores] = run["outputs"].values()
    with np.load(data) as arrays:
        right = np.reshape(scores, (400, -1)).argmax(axis=1) == arrays["labels"]
    measures = {each["measure"]: each for each in run["accuracy"]["measures"]}
    assert measures["top1"]["network"]["value"] == pytest.approx(right.mean())
    assert measures["top1"]["float_network"]["value"] == 1.0
    assert measures["top1"]["network"]["low"] < right.mean() <= measures["top1"]["network"]["high"]
    validated = tinygen(
        "validate", model, "--calibrate", data, "--data", data, "--samples", "50", "--json", "-t", "host"
    ).document
    assert validated["accuracy"]["samples"] == 50
    assert validated["accuracy"]["measures"][0]["network"]["value"] == pytest.approx(right[:50].mean())
    printed = tinygen("validate", model, "--calibrate", data, "--data", data, "--samples", "50", "-t", "host").stdout
    assert "Accuracy on 50 labelled samples" in printed
    assert "chance explains it" in printed


def test_item_20_labels_that_are_no_classes_end_the_command(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, _ = files
    for labels, said in (
        (np.full(3, 4000), "4000 is among them"),
        (np.ones((3, 2), np.int8), "array 'labels' has shape [3, 2] of int8"),
        (np.ones(2, np.int8), "an integer class for each of 3 samples was expected"),
        (np.ones(3), "of float64, an integer class"),
    ):
        np.savez(tmp_path / "bad.npz", in0=samples(3), labels=labels)
        ended = tinygen("run", model, "--allow-float", "--input", tmp_path / "bad.npz", "-t", "host")
        assert (ended.code, said in ended.stderr) == (2, True), ended.stderr


def test_the_samples_that_it_is_measured_on_are_in_no_range(files: tuple[Path, Path]) -> None:
    """The same as a table of the first samples alone, on the last ones; the table itself has the ranges of all."""
    model = load_float(files[0])
    whole, first = (open_dataset(files[1], model.graph.inputs, limit) for limit in (400, 360))
    calibrator = Calibrator(model, None, Settings(Policy.parse("max")))
    table = calibrator.run_file(whole).table
    held = measure_held_out(calibrator, calibrator.settings, whole)
    alone = Calibrator(model, None, calibrator.settings).run_file(first).table
    trials = trials_of_last(calibrator, whole, 40, None)
    assert held is not None
    assert held.found.sqnr_db == pytest.approx(trials.sqnr(trials.scores(alone)), abs=1e-9)
    images = samples(400)
    assert table.tensors["image"].threshold == np.abs(images).max()
    assert alone.tensors["image"].threshold == np.abs(images[:360]).max()


def test_a_single_sample_leaves_none_to_measure_on(files: tuple[Path, Path], tmp_path: Path) -> None:
    document, _ = _calibrated(*files, tmp_path, "--samples", "1")
    assert (document["held_out"], document["warnings"]) == (None, [])


def test_without_labels_a_constant_is_the_measure(files: tuple[Path, Path], tmp_path: Path) -> None:
    np.save(tmp_path / "images.npy", samples(100))
    document, stderr = _calibrated(
        files[0], tmp_path / "images.npy", tmp_path, "--weights", "int1", "--activations", "int2"
    )
    found = document["held_out"]
    assert (found["float_right"], found["chance_right"], found["found"]["right"]) == (None, None, None)
    assert found["is_at_chance"] == (found["found"]["explained"] <= 0) == ("A constant would be as near" in stderr)
    assert found["better"]["options"] in ("--weights int4", "--weights int8")


def test_mixed_widths_and_engines_are_measured_as_they_were_chosen(files: tuple[Path, Path], tmp_path: Path) -> None:
    board = Path(__file__).resolve().parents[1] / "boards" / "m4-engines.toml"
    mixed, _ = _calibrated(*files, tmp_path, "--mixed", "auto", "--max-drop", "100")
    narrow, _ = _calibrated(*files, tmp_path, "--weights", "int4")
    assert mixed["held_out"]["found"] == narrow["held_out"]["found"]
    forced = ("-t", str(board), "--max-drop", "100", "--engine")
    wide, _ = _calibrated(*files, tmp_path, *forced, "*=cpu")
    analog, _ = _calibrated(*files, tmp_path, *forced, "stem=cim")
    plain, _ = _calibrated(*files, tmp_path)
    assert wide["held_out"]["found"] == plain["held_out"]["found"]
    assert analog["held_out"]["found"]["sqnr_db"] < plain["held_out"]["found"]["sqnr_db"]


@pytest.mark.parametrize("policy", ["kld:ort", "kld:sophon"])
def test_keywords_warn_of_policies_that_lose(keywords: Path, policy: str, tmp_path: Path) -> None:
    document, stderr = _calibrated(shared_file(KEYWORDS), keywords, tmp_path, "--policy", policy)
    found, better = document["held_out"], document["held_out"]["better"]
    assert found["loses"]
    assert better["found"]["sqnr_db"] > 25
    assert better["found"]["right"] > found["found"]["right"]
    assert f"policy {policy}: " in stderr and f". {better['options']} has " in stderr


@pytest.mark.parametrize("weights", ["int1", "int2"])
def test_keywords_say_that_one_and_two_bits_are_chance(keywords: Path, weights: str, tmp_path: Path) -> None:
    document, stderr = _calibrated(shared_file(KEYWORDS), keywords, tmp_path, "--weights", weights)
    found = document["held_out"]
    assert found["is_at_chance"]
    assert f" That is no more than chance: always the commonest class has {found['chance_right']}. " in stderr
    assert found["better"]["options"] == "--weights int4"
    assert found["better"]["found"]["right"] >= found["float_right"] - 2


@pytest.mark.parametrize("options", [(), ("--weights", "int4")])
def test_keywords_have_no_warning_where_little_is_lost(
    keywords: Path, options: tuple[str, ...], tmp_path: Path
) -> None:
    document, _ = _calibrated(shared_file(KEYWORDS), keywords, tmp_path, *options)
    assert (document["held_out"]["loses"], document["warnings"]) == (False, [])
