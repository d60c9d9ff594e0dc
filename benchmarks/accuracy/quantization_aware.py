"""Keyword spotting trained for few-bit weights in torch, and back through a CTable; docs/training.md goes through it.

`python -m benchmarks.accuracy.quantization_aware` needs torch, onnxscript and `../shared`, and prints a table. No
labels are used to train: the float network teaches, on the 100 inputs that calibration has, mixed, moved and with
noise. The 900 others are for measuring alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.ao import quantization as aq

from benchmarks.keywords import CALIBRATION, MODEL, official_inputs
from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.imports import import_table
from tinygen.calib.making import calibrate
from tinygen.calib.mixed import constant_bytes
from tinygen.calib.model import FloatModel, load_float
from tinygen.calib.request import CalibrationRequest
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.ctable_file import ctable_text
from tinygen.quant.forward import NumpyForward
from tinygen.quant.metric import scores_tensor
from tinygen.quant.widths import Widths
from tinygen.system.work import work_folder

WIDTHS = (4, 3, 2)
_INPUTS = 1000
_SEED, _STEPS, _BATCH, _RATE = 1, 250, 64, 1e-3
_FRAMES, _NOISE = 3, 0.05  # that inputs are moved by at most; of their deviation
_SHARES = np.linspace(0.3, 1.0, 15)  # of the scale at which the largest weight fits
_INTRODUCTION = f"""Keyword spotting of MLPerf Tiny, {_STEPS} steps of {_BATCH} inputs made of {CALIBRATION} official
ones without labels, in torch with fake quantization; then `tinygen ctable import` and `tinygen calibrate --refine`.
Activations have 8 bits. Right answers of the {_INPUTS - CALIBRATION} other official inputs, by the integers of the
generated C, beside `tinygen calibrate` with the same {CALIBRATION} inputs.

"""


@dataclass(frozen=True)
class Row:
    """A width of weights."""

    bits: int
    calibrated: int  # right ones after calibration alone
    in_torch: int  # of the fake-quantized module
    trained: int  # through the table
    constant_bytes: int


class Keywords(nn.Module):  # type: ignore[misc]
    """The network: a convolution, four pairs of depthwise and 1x1 convolutions, a mean, scores."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.ZeroPad2d((1, 1, 4, 5)), nn.Conv2d(1, 64, (10, 4), 2), nn.ReLU()]
        for _ in range(4):
            layers += [nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.ReLU(), nn.Conv2d(64, 64, 1), nn.ReLU()]
        layers += [nn.AvgPool2d((24, 5)), nn.Flatten(), nn.Linear(64, 12)]
        self.quant, self.layers, self.dequant = aq.QuantStub(), nn.Sequential(*layers), aq.DeQuantStub()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores [N, 12] of features [N, 1, 49, 10]."""
        return self.dequant(self.layers(self.quant(x)))

    def take(self, model: FloatModel) -> "Keywords":
        """The weights of the float network, whose layers stand in the same order."""
        own = [layer for layer in self.layers if isinstance(layer, nn.Conv2d | nn.Linear)]
        theirs = [op.filters for op in model.graph.ops if op.filters is not None]
        for layer, filters in zip(own, theirs, strict=True):
            values, bias = filters.weights.data, filters.bias
            assert values is not None and bias is not None and bias.data is not None
            if values.ndim == 4:  # of depthwise ones the last axis counts channels
                values = values.transpose((3, 0, 1, 2) if len(values) == 1 else (0, 3, 1, 2))
            layer.weight.data = torch.from_numpy(values.reshape(layer.weight.shape).copy())
            layer.bias.data = torch.from_numpy(bias.data.reshape(-1).copy())
        return self


class LeastError(aq.PerChannelMinMaxObserver):  # type: ignore[misc]
    """Scales of channels by the smallest squared error of the weights, as tinygen chooses them."""

    def forward(self, weights: torch.Tensor) -> torch.Tensor:
        """Remember the weights that scales are for."""
        self.weights = weights.detach()
        return super().forward(weights)

    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """A scale for each output channel, and zeros."""
        rows = self.weights.flatten(1)
        largest = rows.abs().amax(1, keepdim=True).clamp_min(1e-8) / self.quant_max
        scales = torch.stack([share * largest for share in map(float, _SHARES)])
        stored = (rows / scales).round().clamp(self.quant_min, self.quant_max)
        best = ((stored * scales - rows) ** 2).sum(2).argmin(0)
        chosen = scales[best, torch.arange(len(rows)), 0]
        return chosen, torch.zeros_like(chosen, dtype=torch.int64)


def fake_quantized(net: Keywords, bits: int) -> nn.Module:
    """The module with weights of so many bits, and activations of eight."""
    most = 2 ** (bits - 1) - 1
    net.qconfig = aq.QConfig(
        activation=aq.FakeQuantize.with_args(
            observer=aq.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=torch.quint8
        ),
        weight=aq.FakeQuantize.with_args(
            observer=LeastError,
            quant_min=-most,
            quant_max=most,
            dtype=torch.qint8,
            qscheme=torch.per_channel_symmetric,
            ch_axis=0,
        ),
    )
    names = [name for name, layer in net.named_modules() if isinstance(layer, nn.Conv2d)]
    pairs = [[name, f"layers.{int(name.split('.')[1]) + 1}"] for name in names]
    return aq.prepare_qat(aq.fuse_modules_qat(net.train(), pairs))


def made_inputs(known: torch.Tensor) -> Iterator[torch.Tensor]:
    """Batches of pairs that are mixed, moved by some frames, with noise."""
    for _ in range(_STEPS):
        one, other = (known[torch.randint(len(known), (_BATCH,))] for _ in range(2))
        share = torch.rand(_BATCH, 1, 1, 1) / 2
        moved = torch.roll((1 - share) * one + share * other, int(torch.randint(-_FRAMES, _FRAMES + 1, ())), 2)
        yield moved + _NOISE * known.std() * torch.randn_like(moved)


def train(student: nn.Module, teacher: nn.Module, known: torch.Tensor) -> None:
    """Until its scores are those of the teacher."""
    optimizer = torch.optim.Adam(student.parameters(), _RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, _STEPS)
    for inputs in made_inputs(known):
        with torch.no_grad():
            wanted = teacher(inputs)
        loss = nn.functional.mse_loss(student(inputs), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    student.eval().apply(aq.disable_observer)


def export(student: nn.Module, folder: Path) -> tuple[Path, Path]:
    """The float network with the trained weights as ONNX, and the state of the fake-quantized module."""
    plain, state = Keywords(), student.state_dict()
    plain.load_state_dict({name: state[name] for name in plain.state_dict()})
    program = torch.onnx.export(plain.eval(), (torch.zeros(1, 1, 49, 10),), dynamo=True, verbose=False)
    program.save(str(folder / "kws.onnx"), external_data=False)
    torch.save(state, folder / "kws.pt")
    return folder / "kws.onnx", folder / "kws.pt"


def through_table(file: Path, state: Path, widths: Widths, folder: Path) -> Calibration:
    """What `tinygen ctable import` and `tinygen calibrate --refine` make of both."""
    model, table = load_float(file), folder / "kws.ctable.json"
    table.write_text(ctable_text(import_table(state, model, widths=widths)), encoding="utf-8")
    refined = calibrate(file, CalibrationRequest(refine=True, ctable_in=table))
    return Calibration(model, refined.table)


def right_of(calibration: Calibration, test: np.ndarray, labels: np.ndarray) -> int:
    """By the integers of the C."""
    name, shape = scores_tensor(calibration.graph).name, calibration.graph.inputs[0].external.shape
    inputs = test.reshape(-1, *shape[1:])
    scores = NumpyForward(calibration.graph, [name]).run([inputs])[name]
    return int((scores.reshape(len(inputs), -1).argmax(1) == labels).sum())


def row(bits: int, folder: Path) -> Row:
    """Calibrate, and train."""
    torch.manual_seed(_SEED)
    images, labels = official_inputs()
    known, test, labels = images[:CALIBRATION], images[CALIBRATION:], labels[CALIBRATION:]
    model, widths = load_float(MODEL), Widths(Storage(f"int{bits}"))
    calibrated = Calibrator(model, settings=Settings(widths=widths)).run([known])
    teacher, student = Keywords().take(model).eval(), fake_quantized(Keywords().take(model), bits)
    train(student, teacher, torch.from_numpy(known).reshape(-1, 1, 49, 10))
    with torch.no_grad():
        scores = student(torch.from_numpy(test).reshape(-1, 1, 49, 10)).numpy()
    trained = through_table(*export(student, folder), widths, folder)
    return Row(
        bits,
        right_of(calibrated, test, labels),
        int((scores.argmax(1) == labels).sum()),
        right_of(trained, test, labels),
        constant_bytes(trained.graph),
    )


def page(rows: list[Row]) -> str:
    """The table."""
    lines = ["| weights | calibrated | trained, in torch | trained, C | constants, bytes |", "|---|--:|--:|--:|--:|"]
    for each in rows:
        cells = (each.calibrated, each.in_torch, each.trained, f"{each.constant_bytes:,}")
        lines.append(f"| int{each.bits} | {' | '.join(map(str, cells))} |")
    return _INTRODUCTION + "\n".join(lines)


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    with work_folder() as folder:
        rows = [row(bits, folder) for bits in WIDTHS]
    print(page(rows))


if __name__ == "__main__":
    main()
