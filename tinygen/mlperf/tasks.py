"""The five tasks of MLPerf Tiny: what the runner sends for each, and what it wants to see.

Follows benchmark/runner of github.com/mlcommons/tiny and the rules of the closed division.
"""

from dataclasses import dataclass
from enum import StrEnum


class InputForm(StrEnum):
    """Values of an input as the runner sends them."""

    FEATURES = "features"  # int8, quantized as the model's input
    IMAGE = "image"  # uint8 pixels, HWC; int8 = uint8 - 128
    WINDOW = "window"  # float32, little-endian; the result is one number, the squared error of the reconstruction


@dataclass(frozen=True)
class Task:
    """One task: shape of its inputs and outputs, and how the runner measures it."""

    name: str
    title: str
    model_version: str  # by which the runner finds tests and data
    form: InputForm
    input_elements: int
    output_elements: int
    iterations: int  # of the runner's performance mode
    warmups: int
    quality: float | None  # least top-1 accuracy, or AUC of windows; None: not measured this way
    stride_bytes: int | None = None  # between windows of a file
    baud: int = 115200
    threshold: float | None = None  # probability of the word above which firmware that listens has heard it

    @property
    def sample_bytes(self) -> int:
        """Bytes of one download."""
        return self.input_elements * (4 if self.form is InputForm.WINDOW else 1)


TASKS = {
    task.name: task
    for task in (
        Task("kws", "keyword spotting", "kws01", InputForm.FEATURES, 490, 12, 70, 10, 0.90),
        Task("ic", "image classification", "ic01", InputForm.IMAGE, 3072, 10, 20, 5, 0.85),
        Task("vww", "visual wake words", "vww01", InputForm.IMAGE, 27648, 2, 20, 5, 0.80),
        Task("ad", "anomaly detection", "ad01", InputForm.WINDOW, 640, 640, 1500, 10, 0.85, 512, 921600),
        Task("sww", "streaming wake word", "sww01", InputForm.FEATURES, 1200, 3, 70, 10, None, threshold=243 / 256),
    )
}
