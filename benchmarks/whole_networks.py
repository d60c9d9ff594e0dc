"""Outputs of whole networks beside LiteRT's, with its reference kernels and its default ones; writes whole_networks.md.

    python -m benchmarks.whole_networks

Needs ai-edge-litert and the MLPerf Tiny models. Outputs are those of the generated C on the host, which equals the C on
boards; inputs are drawn, and of keyword spotting the 1,000 official ones of ../shared too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from benchmarks.keywords import OFFICIAL
from tinygen.ir.types import Array
from tinygen.mlperf.models import find, int8_model
from tinygen.mlperf.tasks import TASKS
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.oracle import Oracle
from tinygen.verify.samples import Samples, random_samples
from tinygen.verify.validate import validate

_DRAWN = 200
_OPERATORS = 5  # inputs on which single operators are compared
_HEAD = """\
# Whole networks beside LiteRT

By `python -m benchmarks.whole_networks`; do not edit.

An operator alone, fed LiteRT's own input for it, is 1 away at most (fully connected layers, which CMSIS-NN and TFLite
Micro round twice, LiteRT once). Through a network such differences grow. Here are those of whole networks: the largest
one of any output, in LSB, and the share of outputs that differ. The reference kernels are the ones that `validate`
compares with; the default ones (XNNPACK's) round otherwise in all layers. Against TFLite Micro with CMSIS-NN there is
no difference at all (`tests/models/test_golden.py`).

| network | inputs | an operator alone, reference | reference kernels | differ | default kernels | differ |
|---|--:|--:|--:|--:|--:|--:|
"""


def _rows() -> Iterator[str]:
    for task in TASKS:
        file = find(int8_model(task), None)
        compiled = compile_model(file, Options(target="host", kernels=Kernels.PORTABLE))
        alone = validate(compiled, samples=_OPERATORS, against=Oracle.LITERT).max_abs_diff
        ports = compiled.schedule.graph.inputs
        yield _row(f"{task}, drawn", file, compiled, random_samples(ports, _DRAWN, 0), alone)
        if task == "kws" and OFFICIAL.is_file():
            with np.load(OFFICIAL) as data:
                inputs = [[x.reshape(ports[0].external.shape)] for x in data["x"]]
            yield _row(f"{task}, official", file, compiled, inputs, alone)


def _row(name: str, file: Path, compiled: Compiled, samples: Samples, alone: float) -> str:
    ours = np.stack([outputs[0] for outputs in compiled.execute(samples).outputs]).astype(np.int64)
    cells = [name, f"{len(samples):,}", f"{alone:g}"]
    for resolver in (OpResolverType.BUILTIN_REF, OpResolverType.AUTO):
        difference = np.abs(ours - _litert(file, samples, resolver))
        cells += [str(difference.max()), f"{np.mean(difference > 0):.1%}"]
    return f"| {' | '.join(cells)} |"


def _litert(file: Path, samples: Sequence[Sequence[Array]], resolver: OpResolverType) -> npt.NDArray[np.int64]:
    interpreter = Interpreter(model_path=str(file), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    [input], [output] = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for sample in samples:
        interpreter.set_tensor(input["index"], sample[0].reshape(input["shape"]))
        interpreter.invoke()
        found.append(interpreter.get_tensor(output["index"]).astype(np.int64))
    return np.stack(found)


def main() -> None:
    """Compare all and write the page."""
    rows = "".join(f"{row}\n" for row in _rows())
    Path(__file__).with_suffix(".md").write_text(_HEAD + rows, encoding="utf-8")


if __name__ == "__main__":
    main()
