"""What `tinygen calibrate --errors` measures of each layer, and the picture of it."""

import json
import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import write_float_model
from tinygen.report.layer_errors import LayerError, layer_error_picture

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_float_model(tmp_path_factory.mktemp("layer_errors"))


def test_layers_lose_what_the_simulator_finds(files: tuple[Path, Path], tmp_path: Path) -> None:
    """The same figures as those of `simulate` on the last 16 samples, which it is given alone."""
    model, data = files
    table, picture, last = (tmp_path / name for name in ("t.json", "errors.svg", "last.npz"))
    found = tinygen("calibrate", model, "--data", data, "-o", table, "--errors", picture, "--json")
    assert found.code == 0, found.stderr
    with np.load(data) as arrays:
        np.savez(last, in0=arrays["in0"][-16:])
    simulated = tinygen("simulate", model, "--ctable", table, "--data", last, "--json").document["operators"]
    wanted = [op for op in simulated if op["operator"] not in ("INPUT", "OUTPUT")]
    keys = ("operator", "name", "sqnr_db", "saturated")
    assert [{key: each[key] for key in keys} for each in found.document["errors"]] == [
        {key: each[key] for key in keys} for each in wanted
    ]
    drawn = ElementTree.parse(picture).getroot()
    assert len(drawn.findall(f"{SVG}rect")) == 1 + len(wanted)
    sensitive = [each for each in found.document["errors"] if each["narrow_db"] is not None]
    assert len(drawn.findall(f"{SVG}circle")) == len(sensitive) > 0


def test_int4_alone_is_what_mixed_measures_too(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Of all samples in both: a file of 16, where the narrow layer is the one that --op makes so by hand."""
    model, data = files
    some = tmp_path / "some.npz"
    with np.load(data) as arrays:
        np.savez(some, in0=arrays["in0"][:16])
    table = tmp_path / "t.json"
    alone = tinygen("calibrate", model, "--data", some, "-o", table, "--errors", tmp_path / "e.svg", "--json").document
    mixed = tinygen("calibrate", model, "--data", some, "-o", table, "--mixed", "auto", "--json").document["mixed"]
    sensitivity = {layer["name"]: layer["sensitivity"]["int4"] for layer in mixed["layers"]}
    found = {each["name"]: each["narrow_db"] for each in alone["errors"] if each["name"] in sensitivity}
    assert found == pytest.approx(sensitivity)


def test_layers_are_tried_beside_others_of_wider_activations(files: tuple[Path, Path], tmp_path: Path) -> None:
    """Casts between widths are no engines of a board: what has weights but the layer that --op names is tried."""
    model, data = files
    options = ("-o", tmp_path / "t.json", "--errors", tmp_path / "e.svg", "--op", "stem=w4a16", "--json")
    errors = tinygen("calibrate", model, "--data", data, *options).document["errors"]
    found = {each["name"] for each in errors if each["narrow_db"] is not None}
    assert {"depthwise", "logits"} <= found and "stem" not in found
    assert any(each["operator"] == "CAST" for each in errors)


def test_errors_of_the_command(files: tuple[Path, Path], tmp_path: Path) -> None:
    model, data = files
    table, picture = tmp_path / "t.json", tmp_path / "e.svg"
    picture.write_text("<svg/>")
    refused = tinygen("calibrate", model, "--data", data, "-o", table, "--errors", picture)
    assert (refused.code, table.exists()) == (2, False)
    assert refused.stderr == (
        f"tinygen: {picture}: is there, and no picture of tinygen's; a new name was expected. "
        "Choose one, or add --force.\n"
    )
    for _ in range(2):  # its own is replaced
        assert tinygen("calibrate", model, "--data", data, "-o", table, "--errors", picture, "--force").code == 0
    assert (
        "layers against the float network"
        in tinygen("calibrate", model, "--data", data, "-o", table, "--errors", picture).stdout
    )
    same = tinygen("calibrate", model, "--data", data, "-o", table, "--errors", table)
    assert same.stderr.startswith(f"tinygen: --errors, --output: are both {table}, two files were expected.")
    refining = tinygen("calibrate", model, "--refine", "--ctable-in", table, "-o", table, "--errors", picture)
    assert refining.stderr.startswith("tinygen: --errors: --refine has no samples to measure on")


def test_names_are_text_in_a_picture_of_any_length() -> None:
    """Of whoever wrote the model; noise may be none, and below the axis."""
    names = ['<script>"&', "a\0\x1b[2J\u202e" + "x" * 500, ""]
    ratios = (math.inf, -math.inf, None)
    errors = [LayerError("A", name, ratio, 0.5, ratio) for name, ratio in zip(names, ratios, strict=True)]
    drawn = ElementTree.fromstring(layer_error_picture("<&>\n", errors))
    assert [int(float(bar.attrib["width"])) for bar in drawn.findall(f"{SVG}rect")[1:]] == [420, 0, 420]
    texts = [found.text or "" for found in drawn.findall(f"{SVG}text")]
    assert '<script>"&' in texts and max(map(len, texts)) < 120 + 20
    assert json.dumps(texts).isascii()


def test_no_layers_are_a_picture() -> None:
    assert ElementTree.fromstring(layer_error_picture("net", [])).attrib["height"] == "76.0"
