"""Options of dataclasses that some commands take alone."""

from pathlib import Path
from typing import Annotated

from tinygen.calib.request import CalibrationRequest
from tinygen.cli.derived import declared
from tinygen.options import Options

Trust = Annotated[bool, declared(Options, "trust")]
CTableFile = Annotated[Path | None, declared(Options, "ctable")]
CalibrationData = Annotated[Path | None, declared(Options, "calibrate")]
SampleCount = Annotated[int, declared(CalibrationRequest, "samples")]
