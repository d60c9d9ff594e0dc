"""Accuracy after calibration, by widths and by tools, on labelled data; writes accuracy.md and accuracy.json.

`python -m benchmarks.accuracy` (`make bench-accuracy`) needs `../shared` for the keywords, and no framework: networks
stand beside this file, but for that of file types, which is in the wheel of magika; `benchmarks.accuracy.train` says
how they were made. All numbers are those of the simulator, whose integers are the generated C's.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.accuracy.tasks import Samples, Task, clicks, digits, file_types, spoken
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.mixed import constant_bytes
from tinygen.calib.model import FloatModel, load_float
from tinygen.errors import TinygenError
from tinygen.ir.types import Array
from tinygen.ops.quantize import dequantize
from tinygen.options import options_from_text
from tinygen.pipeline import compile_model
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.forward import Forward, NumpyForward, forward_of
from tinygen.quant.widths import Override, Widths

_OUT = Path(__file__).parents[1] / "accuracy"
_BATCH = 500

_INT4 = Widths(Storage.INT4)
_INT2 = Widths(Storage.INT2)
WIDTHS: Mapping[str, Settings] = {
    "w8a8": Settings(),
    "w8a16": Settings(widths=Widths(activations=Storage.INT16)),
    "w6a8": Settings(widths=Widths(Storage("int6"))),
    "w4a8": Settings(widths=_INT4),
    "w4a8, adaptive": Settings(widths=_INT4, rounds_adaptively=True),
    "w3a8": Settings(widths=Widths(Storage("int3"))),
    "w2a8": Settings(widths=_INT2),
}
TOOLS: Mapping[str, Settings] = {
    f"{name}, {tool}": Settings(
        widths=widths,
        corrects_bias="bias" in tool,
        equalizes="equalization" in tool,
        rounds_adaptively="adaptive" in tool,
    )
    for name, widths in (("w8a8", Widths()), ("w4a8", _INT4), ("w2a8", _INT2))
    for tool in ("nothing", "bias", "equalization", "bias and equalization", "bias and adaptive")
}
_PRODUCTS = ("stack", "stack:transposed", "bmm")  # of all pairs, in the click model
CLICKS: Mapping[str, Settings] = {
    "w8a8": Settings(),
    "w8a8, products w8a16": Settings(
        widths=Widths(overrides=tuple(Override(name, Storage.INT8, Storage.INT16) for name in _PRODUCTS))
    ),
}
FILES: Mapping[str, Settings] = {name: WIDTHS[name] for name in ("w8a8", "w8a16")}  # it is a large network
_AT_RUN_TIME = "at run time"
_FILE_TYPES = """
## File types

A network whose normalizations int8 does not keep: each is spelled as the mean of squares less the square of the mean,
whose difference, root and reciprocal get scales of their own, and there is no such root of int16. Quantized while it
runs (`--quant-dynamic`, by the generated C on the host) only layers are int8, and its answers are those of float32:

"""
_INTRODUCTION = """# Accuracy after calibration

By `make bench-accuracy`: default options but for the widths, on data that calibration has not seen.

- `digits`: the 364 images of scikit-learn's digits that `examples/digits` keeps for tests, for a ResNet and a MobileNet
  that `benchmarks/accuracy/train.py` trains from a seed; calibrated on 300 others.
- `keywords`: 900 of the 1,000 official inputs of MLPerf Tiny, calibrated on the other 100 (`../shared`).
- `clicks`: 20,000 visits of a made-up shop, for a network as DLRM that was trained on others; calibrated on 500. The
  metric is the area under the ROC curve.
- `file types`: 96 files of 24 types that the standard library of Python 3.11 makes from a seed
  (`benchmarks/accuracy/files.py`), for the float ONNX network in the wheel of magika 1.0.3; calibrated on 48 others.

"""


@dataclass(frozen=True)
class Result:
    """A task with one way to calibrate."""

    task: str
    settings: str  # float32, or a name above
    score: float  # share of right answers, or area under the curve
    drop: float  # against float32, in points: hundredths
    sqnr_db: float | None  # of the scores; None of the float network
    constant_bytes: int | None


def measured(task: Task, ways: Mapping[str, Settings]) -> list[Result]:
    """The float network, then all ways; those that kernels lack are left out."""
    model = load_float(task.model)
    name = model.graph.outputs[0].tensor.name
    test = _inputs(model, task.test)
    real = _run(forward_of(model.graph, [name]), name, test)
    before = task.metric(real, task.labels)
    found = [Result(task.name, "float32", round(before, 6), 0.0, None, None)]
    for called, settings in ways.items():
        try:
            calibration = Calibrator(model, settings=settings).run([_inputs(model, task.known)])
        except TinygenError as error:
            print(f"{task.name}, {called}: {error}")
            continue
        graph = calibration.graph
        output = next(tensor for tensor in graph.tensors if tensor.name == name)
        scores = np.asarray(dequantize(_run(NumpyForward(graph, [name]), name, test), output.type), np.float64)
        after = task.metric(scores, task.labels)
        noise = 10 * np.log10((real**2).sum() / max(float(((scores - real) ** 2).sum()), 1e-30))
        drop = round(100 * (before - after), 4)
        found.append(Result(task.name, called, round(after, 6), drop, round(float(noise), 2), constant_bytes(graph)))
    return found


def at_run_time(task: Task, before: Result) -> Result:
    """The network with weights of int8, and what goes into layers quantized while they run, as C on the host."""
    compiled = compile_model(task.model, options_from_text("host", quant_dynamic="auto"))
    samples = zip(*(_inputs(load_float(task.model), task.test)), strict=True)
    outputs = compiled.execute([[each[None] for each in sample] for sample in samples]).outputs
    after = task.metric(np.stack([output.reshape(-1) for (output,) in outputs]), task.labels)
    drop = round(100 * (before.score - after), 4)
    return Result(task.name, _AT_RUN_TIME, round(after, 6), drop, None, constant_bytes(compiled.graph))


def _inputs(model: FloatModel, samples: Samples) -> list[Array]:
    return [
        np.asarray(samples[f"in{number}"]).astype(port.external.dtype.numpy).reshape(-1, *port.external.shape[1:])
        for number, port in enumerate(model.graph.inputs)
    ]


def _run(forward: Forward, name: str, inputs: Sequence[Array]) -> npt.NDArray[np.float64]:
    parts = [
        np.asarray(forward.run([each[first : first + _BATCH] for each in inputs])[name], np.float64)
        for first in range(0, len(inputs[0]), _BATCH)
    ]
    return np.concatenate(parts)


def tasks() -> list[Task]:
    """All of them."""
    return [digits("resnet"), digits("mobilenet"), spoken(), clicks()]


def page(widths: Sequence[Result], tools: Sequence[Result], products: Sequence[Result], types: Sequence[Result]) -> str:
    """The page."""
    names = list(dict.fromkeys(each.task for each in widths))
    text = (
        _INTRODUCTION + "Share of right answers or area, and what is lost against float32 in points (hundredths):\n\n"
    )
    text += _table(widths, ["float32", *WIDTHS], names)
    text += "\nConstants, bytes:\n\n" + _table(widths, list(WIDTHS), names, of_bytes=True)
    text += (
        "\n## Bias correction, equalization, adaptive rounding\n\nPoints lost, and the SQNR of the scores in dB, with "
    )
    text += "each tool alone and together (`--no-bias-correction`, `--equalize`, `--rounding adaptive`):\n\n"
    text += _table(tools, list(TOOLS), names, of_noise=True)
    text += _FILE_TYPES + _table(types, ["float32", *FILES, _AT_RUN_TIME], [types[0].task])
    text += "\nConstants, bytes:\n\n" + _table(types, [*FILES, _AT_RUN_TIME], [types[0].task], of_bytes=True)
    return text + _precision(products)


def _precision(found: Sequence[Result]) -> str:
    """What keeps the click model from 99.99 %, and what does not."""
    real, *others = found
    lines = [
        "",
        "## Precision of the click model",
        "",
        "Area as a share of float32's. Four embeddings and the result of the first network are stacked for the",
        "products of all pairs, so they share one scale, and that result is four times as large as embeddings are:",
        "those have a quarter of the levels. With int16 for what is stacked and for the products",
        f"({', '.join(f'`--op {name}=w8a16`' for name in _PRODUCTS)}), constants stay what they are.",
        "",
        "| | area | of float32, % | constants, bytes |",
        "|---|--:|--:|--:|",
    ]
    for each in others:
        cells = f"{each.score:.6f}", f"{100 * each.score / real.score:.3f}", f"{each.constant_bytes:,}"
        lines.append(f"| {each.settings} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _table(
    found: Sequence[Result], rows: Sequence[str], names: Sequence[str], of_bytes: bool = False, of_noise: bool = False
) -> str:
    cells = {(each.task, each.settings): each for each in found}
    lines = [f"| | {' | '.join(names)} |", "|---|" + "--:|" * len(names)]
    for row in rows:
        shown = [_cell(cells.get((name, row)), of_bytes, of_noise) for name in names]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def _cell(found: Result | None, of_bytes: bool, of_noise: bool) -> str:
    if found is None:
        return "no kernels"
    if of_bytes:
        return f"{found.constant_bytes:,}"
    if of_noise:
        return f"{found.drop:.2f}, {found.sqnr_db:.1f} dB"
    score = f"{found.score:.4f}"
    return score if found.settings == "float32" else f"{score} ({found.drop:+.2f})"


def main() -> None:
    """Measure and write both files."""
    chosen = tasks()
    widths = [result for task in chosen for result in measured(task, WIDTHS)]
    tools = [result for task in chosen for result in measured(task, TOOLS)]
    products = measured(clicks(), CLICKS)
    named = file_types()
    types = measured(named, FILES)
    types.append(at_run_time(named, types[0]))
    parts = {"widths": widths, "tools": tools, "products": products, "types": types}
    document = {name: [asdict(each) for each in found] for name, found in parts.items()}
    _OUT.with_suffix(".json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    _OUT.with_suffix(".md").write_text(page(widths, tools, products, types), encoding="utf-8")


if __name__ == "__main__":
    main()
