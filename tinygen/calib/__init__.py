"""Calibration from Python: a float model and samples become a CTable, which the compiler follows.

from tinygen.calib import Calibrator, load_float
table = Calibrator(load_float("kws.onnx"), board="mps2-an386").run(batches)
table.save("kws.ctable.json")
"""

from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.engines import Assigning, assign
from tinygen.calib.making import calibrate
from tinygen.calib.model import FloatModel, load_float, quantized
from tinygen.calib.request import CalibrationRequest
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import CTable
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.policy import Policy
from tinygen.quant.scheme import Scheme

__all__ = [
    "Assigning",
    "CTable",
    "Calibration",
    "CalibrationRequest",
    "Calibrator",
    "FloatModel",
    "Policy",
    "Scheme",
    "Settings",
    "assign",
    "calibrate",
    "load_float",
    "quantized",
    "read_ctable",
]
