"""One call makes the table that a request asks for, whichever way that means."""

from pathlib import Path

import pytest

from tests.support.command_line import tinygen
from tests.support.float_models import write_float_model
from tinygen.calib import CalibrationRequest, calibrate
from tinygen.calib.making import Refined
from tinygen.errors import UsageError
from tinygen.option import from_written
from tinygen.quant.ctable_file import ctable_text


@pytest.mark.parametrize(
    "options", [{}, {"policy": "l2"}, {"search": "grid", "budget": 3}, {"mixed": "auto"}, {"target": "mps2-an386"}]
)
def test_item_13_python_makes_what_the_command_line_writes(options: dict[str, str | int], tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    ended = tinygen("calibrate", model, "--data", data, "-o", tmp_path / "t.json", *flags)
    assert ended.code == 0, ended.stderr
    made = calibrate(model, from_written(CalibrationRequest, {"data": str(data), **options}))
    assert ctable_text(made.table) == (tmp_path / "t.json").read_text()


def test_item_13_repairs_are_such_a_way_too(tmp_path: Path) -> None:
    model, data = write_float_model(tmp_path)
    before = calibrate(model, CalibrationRequest(data=data)).table
    (tmp_path / "t.json").write_text(ctable_text(before))
    made = calibrate(model, CalibrationRequest(refine=True, ctable_in=tmp_path / "t.json"))
    assert isinstance(made, Refined) and made.changes == ()
    assert made.table.tensors == before.tensors


def test_a_request_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--refine: takes --ctable-in and no --data"):
        calibrate(tmp_path / "none.onnx", CalibrationRequest(refine=True))
