"""What the measuring program notices: writes outside of the arena, operators that fail, samples that end early."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.tflite_writer import ModelWriter
from tinygen.build.execute import execute
from tinygen.codegen.harness import Measure
from tinygen.errors import MismatchError, ToolError
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model

SHIFT = 8  # bytes


@pytest.fixture
def compiled(tmp_path: Path) -> Compiled:
    """y = x + x, on 40 elements."""
    model = ModelWriter()
    x = model.tensor("x", (1, 40), scale=0.1)
    y = model.tensor("y", (1, 40), scale=0.2)
    model.operator("ADD", [x, x], [y])
    file = tmp_path / "twice.tflite"
    file.write_bytes(model.finish([x], [y]))
    return compile_model(file, Options(kernels=Kernels.PORTABLE, target="host"))


def _changed(compiled: Compiled, old: str, new: str) -> Compiled:
    text = compiled.files["twice.c"]
    assert text.count(old) == 1
    return replace(compiled, files={**compiled.files, "twice.c": text.replace(old, new)})


def test_any_number_of_samples(compiled: Compiled) -> None:
    for count in (0, 1, 5):
        samples = [[np.full((1, 40), number, np.int8)] for number in range(count)]
        outputs = compiled.execute(samples).outputs
        assert [int(output[0].max()) for output in outputs] == list(range(count))


def test_writes_outside_of_the_arena(compiled: Compiled) -> None:
    moved = f"context->arena = untyped((int8_t *)arena + {SHIFT});"
    shifted = _changed(compiled, "context->arena = untyped(arena);", moved)
    with pytest.raises(MismatchError, match=r"^twice on host: wrote outside of its arena of \d+ bytes\.$"):
        shifted.execute([[np.ones((1, 40), np.int8)]])


def test_operator_that_fails(compiled: Compiled) -> None:
    failing = _changed(compiled, "    lookup_1(arena);\n", "    lookup_1(arena);\n    return TWICE_LOOKUP_1;\n")
    with pytest.raises(ToolError) as caught:
        failing.execute([[np.ones((1, 40), np.int8)]])
    assert str(caught.value) == (
        "twice on host: twice.tflite, operator 0 (ADD 'y') returned an error. Please report this."
    )


def test_samples_that_end_early(compiled: Compiled, tmp_path: Path) -> None:
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    with pytest.raises(ToolError, match=r"twice on host: ended with code 2, 0 was expected\. It printed: .*ends"):
        execute(image, compiled.schedule, [[np.ones((1, 39), np.int8)]])
