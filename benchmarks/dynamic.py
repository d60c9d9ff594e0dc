"""Measures quantization at run time beside float32 and static int8 on keyword spotting; writes dynamic.md beside it.

    python -m benchmarks.dynamic

Needs arm-none-eabi-gcc, QEMU, the MLPerf Tiny models and the official inputs in ../shared. Accuracy is that of the
generated C on the host, on the 900 inputs that calibration does not see.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, Float32Array
from tinygen.options import options_from_text
from tinygen.pipeline import Compiled, compile_model
from tinygen.quant.dynamic.scheme import ALL
from tinygen.report.bench import Bench, bench

_SHARED = Path(__file__).resolve().parents[2] / "shared"
_MODELS = _SHARED / "models" / "mlperf_tiny"
_CALIBRATION = 100  # of the official inputs
_BOARDS = {"mps2-an386": "M4", "mps3-an547": "M55"}
_NETWORKS: Mapping[
    str, Mapping[str, Mapping[str, object]]
] = {  # and what stands beside its forms: of the second one some layers are int8 in the file
    "kws_fp32_qualcomm": {"float32": {"allow_float": True}},
    "kws_ref_model_float32": {"as in the file": {}},
}
_HEAD = """\
# Quantization at run time

By `make bench-dynamic` (`python -m benchmarks.dynamic`); do not edit.

Keyword spotting of MLPerf Tiny: right answers of 900 inputs, bytes of constants, flash and RAM on Cortex-M4,
instructions of one inference (QEMU, -O2) and how many times fewer they are than those of the first form. `per-channel`
is `--quant-granularity per-channel`, by rows is `-O ram --recompute 100%`: layers run twice where their range must be
known first; all else is `-O time`. Static int8 is `--calibrate` with the other 100 inputs. "of these float32" are
filters and biases of layers that are not quantized: `kws_ref_model_float32` is a dynamic-range file, whose convolutions
are int8, and whose depthwise and last layers are float32 in the file, too. What it holds as float32 is not narrowed
unasked.
"""
_COLUMNS = (
    "form",
    "right of 900",
    "%",
    "constants",
    "of these float32",
    "flash",
    "RAM",
    *(f"on {b}, times" for b in _BOARDS.values()),
)


@dataclass(frozen=True)
class Row:
    """One form of a network."""

    form: str
    right: int
    float_bytes: int  # of filters and biases that stay float32
    benches: Mapping[str, Bench]  # by board


def rows(network: str, data: Path, inputs: Float32Array, classes: Array) -> Iterator[Row]:
    """All forms of a network, the one that others are compared with first."""
    model = _MODELS / f"{network}.tflite"
    forms: dict[str, Mapping[str, object]] = {
        **_NETWORKS[network],
        **{str(scheme): {"quant_dynamic": str(scheme)} for scheme in ALL},
        "asymActivation,symWeight, per-channel": {"quant_dynamic": "auto", "quant_granularity": "per-channel"},
        "asymActivation,symWeight, by rows": {"quant_dynamic": "auto", "optimize": "ram", "recompute": "100%"},
        "static int8": {"calibrate": data},
    }
    for form, asked in forms.items():
        options = {"optimize": "time", **asked}
        host = compile_model(model, options_from_text("host", **options))
        right = _right(host, inputs, classes)
        boards = {board: bench(compile_model(model, options_from_text(board, **options))) for board in _BOARDS}
        yield Row(form, right, _float_bytes(host.graph), boards)


def _float_bytes(graph: Graph) -> int:
    """Of filters and biases of layers on real numbers, each counted once."""
    layers = (op.filters for op in graph.ops if op.filters and op.filters.weights.type.dtype.is_real)
    held = dict.fromkeys(tensor for layer in layers for tensor in (layer.weights, layer.bias) if tensor)
    return sum(tensor.type.bytes for tensor in held)


def _right(compiled: Compiled, inputs: Float32Array, classes: Array) -> int:
    """Answers of the generated C that are right."""
    shaped = inputs.reshape(len(inputs), *compiled.graph.inputs[0].external.shape)
    outputs = compiled.execute([[x] for x in shaped]).outputs
    scores = np.stack([output.reshape(-1) for (output,) in outputs])
    return int((scores.argmax(axis=1) == classes).sum())


def _table(found: list[Row]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{' --- |'}{' ---: |' * (len(_COLUMNS) - 1)}"
    for row in found:
        m4 = row.benches["mps2-an386"]
        counts = [
            (own.instructions or 0, found[0].benches[board].instructions or 0) for board, own in row.benches.items()
        ]
        times = [f"{own:,}, {first / own:.2f}" for own, first in counts]
        sizes = (f"{number:,}" for number in (m4.const_bytes, row.float_bytes, m4.flash_bytes, m4.ram_bytes))
        yield f"| {' | '.join((row.form, str(row.right), f'{row.right / 9:.2f}', *sizes, *times))} |"


def main() -> None:
    """Measure, and write the tables."""
    official = np.load(_SHARED / "eval" / "kws01.npz")
    stored = import_model(_MODELS / "kws_ref_model.tflite").inputs[0].external  # whose quantization the inputs have
    inputs = (official["x"].astype(np.float32) - stored.zero_point) * np.float32(stored.scale)
    parts = [_HEAD]
    with TemporaryDirectory() as folder:
        data = Path(folder) / "samples.npz"
        np.savez(data, in0=inputs[:_CALIBRATION])
        for network in _NETWORKS:
            found = list(rows(network, data, inputs[_CALIBRATION:], official["y"][_CALIBRATION:]))
            parts.append("\n".join((f"## {network}", "", *_table(found), "")))
    Path(__file__).with_name("dynamic.md").write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
