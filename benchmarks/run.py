"""Measures the five MLPerf Tiny models and writes mlperf_tiny.json and mlperf_tiny.md beside this file.

    python -m benchmarks.run [FOLDER WITH THE .tflite FILES]

Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. The same versions of these give the same files.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.tables import markdown
from tinygen.build.toolchain import Opt, for_board
from tinygen.kernels.base import Library
from tinygen.pipeline import Kernels, Options, compile_model
from tinygen.report.bench import bench
from tinygen.targets import load

MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "str_ww_ref_model")
TARGETS = ("mps2-an385", "mps2-an386", "mps3-an547")  # M3, M4, M55 with MVE
OPTS = (Opt.SIZE, Opt.TWO)

_HERE = Path(__file__).resolve().parent
_DEFAULT_MODELS = _HERE.parents[1] / "shared" / "models" / "mlperf_tiny"


def measure(models: Path) -> Iterator[Measurement]:
    """All combinations, in a fixed order."""
    for target in TARGETS:
        for library in Library:
            for opt in OPTS:
                for model in MODELS:
                    yield _measurement(models / f"{model}.tflite", target, library, opt)


def _measurement(file: Path, target: str, library: Library, opt: Opt) -> Measurement:
    compiled = compile_model(file, Options(target=target, kernels=Kernels(library.value), opt=opt))
    found = asdict(bench(compiled))
    numbers = {
        key: found[key]
        for key in ("arena_bytes", "ram_bytes", "stack_bytes", "code_bytes", "const_bytes", "instructions")
    }
    return Measurement(file.stem, target, library.value, opt.value, **numbers)


def main() -> None:
    """Measure, showing progress, and write both files."""
    models = Path(sys.argv[1]) if len(sys.argv) > 1 else _DEFAULT_MODELS
    measurements = []
    for measurement in measure(models):
        print(measurement, file=sys.stderr)
        measurements.append(measurement)
    compiler = for_board(load(TARGETS[0])).version
    records = [asdict(measurement) for measurement in measurements]
    text = json.dumps({"compiler": compiler, "measurements": records}, indent=2)
    (_HERE / "mlperf_tiny.json").write_text(f"{text}\n", encoding="utf-8")
    (_HERE / "mlperf_tiny.md").write_text(markdown(compiler, measurements), encoding="utf-8")


if __name__ == "__main__":
    main()
