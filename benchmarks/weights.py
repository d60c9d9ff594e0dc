"""Networks with narrow weights: accuracy, flash, RAM, instructions; `make bench-weights` writes weights.md and .json.

`make bench-weights MODES='"MXFP4" "float32"'` measures these alone; other rows stay as weights.json has them. Asks
for `../shared` (keyword spotting). The image classifier is trained here (benchmarks/shapes.py).
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx

from benchmarks.shapes import Classifier, shapes
from tinygen import paths
from tinygen.calib.calibrator import Calibrator
from tinygen.calib.model import load_float
from tinygen.compress import CompressionGranularity, DType, QScheme
from tinygen.compress.finding import Finding
from tinygen.compress.method import CompressionMethod, Palettizing, Quantizing
from tinygen.compress.onnx_file import read_model
from tinygen.compress.onnx_model import compress_model
from tinygen.compress.palette import Palette
from tinygen.compress.pruning import Pruning
from tinygen.compress.scheme import CodeRounding, CodeScheme
from tinygen.frontends import import_model
from tinygen.ir.types import Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.bench import bench
from tinygen.system.work import work_folder

SHARED = Path(__file__).resolve().parents[2] / "shared"
_BLOCK = CompressionGranularity.PER_BLOCK
_HALVES = "float16"
MODES: Mapping[str, CompressionMethod | None] = {
    "float32": None,
    _HALVES: None,
    "INT8 per channel": Quantizing(CodeScheme(DType.INT8)),
    "FP8 E4M3 per channel": Quantizing(CodeScheme(DType.FP8_E4M3FN)),
    "INT4 per channel": Quantizing(CodeScheme(DType.INT4)),
    "INT4 per channel, GPTQ": Quantizing(CodeScheme(DType.INT4, rounding=CodeRounding.GPTQ)),
    "INT4 in blocks of 32": Quantizing(CodeScheme(DType.INT4, granularity=_BLOCK)),
    "MXFP4": Quantizing(CodeScheme(DType.FP4_E2M1FN, granularity=_BLOCK)),
    "INT2 in blocks of 32, asymmetric": Quantizing(CodeScheme(DType.INT2, QScheme.ASYMMETRIC, _BLOCK)),
    "INT2 in blocks of 32, asymmetric, GPTQ": Quantizing(
        CodeScheme(DType.INT2, QScheme.ASYMMETRIC, _BLOCK, rounding=CodeRounding.GPTQ)
    ),
    "4-bit palette, scales of channels": Palettizing(Palette(4, channel_scales=True)),
    "3-bit palettes of 8 channels, scales of channels": Palettizing(Palette(3, group_size=8, channel_scales=True)),
    "2-bit palettes of single channels": Palettizing(Palette(2, group_size=1)),
    "30 % zeros, INT8 per channel": Quantizing(CodeScheme(DType.INT8), Pruning(0.3)),
    "30 % zeros, 4-bit palette, scales of channels": Palettizing(Palette(4, channel_scales=True), Pruning(0.3)),
}
_BOARDS = ("mps2-an386", "mps3-an547")  # Cortex-M4, Cortex-M55
_CALIBRATION = 100
_TRAINED, _UNSEEN = 2500, 500
_OUT = Path(__file__).with_suffix("")
_HEAD = (
    "weights", "activations", "right, %", "constants, bytes", "of them float32 weights", "flash",
    "RAM", "instructions, M4", "instructions, M55",
)  # fmt: skip
_INTRODUCTION = """# Narrow weights

By `make bench-weights`. Accuracy is that of the generated C on samples that neither training nor calibration saw.
Constants are all tables of the network, flash has the code, too, RAM the stack (both on the M4, in bytes). Weights that
are not quantized, as they have at most 1,024 elements or no whole blocks along their input channels, are float32 beside
float32 activations (their bytes are said), int8 beside int8 ones. GPTQ has chosen codes and scales on the samples of
calibration. Kernels for codes save flash, not time. int8 per channel with int8 activations has native kernels, which
INT4 per channel is expanded for at each call; FP8 is int8 there; float16 is measured beside float32 activations alone.
Zeros are the smallest weights of each constant, without training afterwards. Kernels are tinygen's own
(`--cmsis-nn off`).
"""


@dataclass(frozen=True)
class Task:
    """A network and its samples."""

    name: str
    model: onnx.ModelProto
    images: Float32Array  # for calibration, then unseen ones
    labels: npt.NDArray[np.integer]  # of the unseen


@dataclass(frozen=True)
class Row:
    """One way to store weights, with one kind of activations."""

    weights: str
    activations: str
    percent: float
    constant_bytes: int
    float_bytes: int
    flash_bytes: int
    ram_bytes: int
    instructions_m4: int
    instructions_m55: int


def keywords() -> Task:
    """Keyword spotting with its official inputs."""
    folder = SHARED / "models" / "mlperf_tiny"
    reference = import_model(folder / "kws_ref_model.tflite")
    with np.load(SHARED / "eval" / "kws01.npz") as data:
        images = dequantize(data["x"], reference.inputs[0].tensor.type).astype(np.float32)
        labels = data["y"][_CALIBRATION:]
    return Task("Keyword spotting (kws_fp32_qualcomm)", read_model(folder / "kws_fp32_qualcomm.tflite"), images, labels)


def classifier() -> Task:
    """The network on textured shapes."""
    network = Classifier()
    network.train(*shapes(_TRAINED, 0))
    images, labels = shapes(_CALIBRATION + _UNSEEN, 1)
    return Task("Image classifier (benchmarks/shapes.py)", network.model(), images, labels[_CALIBRATION:])


def rows(task: Task, names: Sequence[str]) -> Iterator[Row]:
    """Measurements of a network with weights in these ways."""
    for name in names:
        method = MODES[name]
        model, findings = (task.model, ()) if method is None else _compressed(task, method)
        model = _in_halves(model) if name == _HALVES else model
        with work_folder() as folder:
            file, table = folder / "net.onnx", folder / "net.ctable.json"
            onnx.save(model, file)
            yield _row(name, "float32", task, file, None, findings)
            if name == _HALVES:
                continue  # beside int8 activations they are int8, as float32 ones are
            Calibrator(load_float(file)).run([task.images[:_CALIBRATION]]).save(table)
            yield _row(name, "int8", task, file, table, ())


def _in_halves(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its float32 constants of two or more axes as float16, cast to float32 where they are read."""
    found, casts = onnx.ModelProto(), []
    found.CopyFrom(model)
    for constant in found.graph.initializer:
        numbers = onnx.numpy_helper.to_array(constant)
        if numbers.dtype != np.float32 or numbers.ndim < 2:
            continue
        name = constant.name
        constant.CopyFrom(onnx.numpy_helper.from_array(numbers.astype(np.float16), f"{name}:half"))
        casts.append(onnx.helper.make_node("Cast", [f"{name}:half"], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *found.graph.node]
    del found.graph.node[:]
    found.graph.node.extend(nodes)
    return found


def _compressed(task: Task, method: CompressionMethod) -> tuple[onnx.ModelProto, tuple[Finding, ...]]:
    samples = {task.model.graph.input[0].name: task.images[:_CALIBRATION]}
    is_measured = isinstance(method, Quantizing) and method.scheme.needs_samples
    return compress_model(task.model, method, samples if is_measured else None)


def _row(name: str, activations: str, task: Task, file: Path, table: Path | None, findings: tuple[Finding, ...]) -> Row:
    def compiled(target: str) -> Compiled:
        without = paths.WITHOUT_CMSIS_NN  # the same figures wherever it is
        return compile_model(file, Options(target=target, ctable=table, allow_float=table is None, cmsis_nn=without))

    unseen = [[image[np.newaxis]] for image in task.images[_CALIBRATION:]]
    host, boards = compiled("host"), [compiled(board) for board in _BOARDS]
    scores = np.concatenate([outputs[0].reshape(1, -1) for outputs in host.execute(unseen).outputs])
    measured = [bench(board) for board in boards]
    return Row(
        name,
        activations,
        round(100 * float((scores.argmax(axis=1) == task.labels).mean()), 2),
        measured[0].table_bytes,
        sum(finding.bytes for finding in findings if not finding.is_changed and len(finding.shape) > 1),
        measured[0].flash_bytes or 0,
        measured[0].ram_bytes or 0,
        *(found.instructions or 0 for found in measured),
    )


def _table(measured: list[Row]) -> str:
    lines = [_HEAD, ("---", "---", *["---:"] * (len(_HEAD) - 2))]
    lines += [tuple(f"{v:,}" if isinstance(v, int) else str(v) for v in asdict(row).values()) for row in measured]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main(names: Sequence[str]) -> None:
    """Measure these ways, all where none is named, and write both files."""
    unknown = [name for name in names if name not in MODES]
    if unknown:
        raise SystemExit(f"'{unknown[0]}': one of {', '.join(MODES)} was expected.")
    stored = _OUT.with_suffix(".json")
    before = json.loads(stored.read_text(encoding="utf-8")) if names else {}
    document, text = {}, _INTRODUCTION
    for task in (keywords(), classifier()):
        known = [row for row in (Row(**each) for each in before.get(task.name, ())) if row.weights not in names]
        found = [*known, *rows(task, names or list(MODES))]
        found.sort(key=lambda row: list(MODES).index(row.weights))
        document[task.name] = [asdict(row) for row in found]
        text += f"\n{task.name}, {len(task.labels)} samples:\n\n{_table(found)}"
    stored.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    _OUT.with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
