"""What all front ends have in common: frames, files, and their place before a network."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder
from tinygen.audio.description import KINDS, read_front_end
from tinygen.audio.front_end import FrontEnd, Made, Site
from tinygen.errors import UsageError
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.cast import Cast
from tinygen.ops.concat import Concat
from tinygen.ops.reshape import Reshape
from tinygen.ops.slice import Slice
from tinygen.verify import reference


@dataclass(frozen=True, kw_only=True)
class First(FrontEnd):
    """The first samples of each frame."""

    kind: ClassVar[str] = "first"

    sample_rate: int = 1000
    window_ms: int = 5
    step_ms: int = 2
    channels: int = 3

    def operators(self, samples: Tensor, features: Tensor, place: Site) -> Made:
        rows = features.type.elements // self.channels
        ops: list[Op] = []
        for row in range(rows):
            part = place.tensor(f"row {row}", TensorType(DType.INT16, (self.channels,)))
            source, begin = place.source("SLICE"), (row * self.step,)
            ops.append(Slice(name=part.name, source=source, input=samples, output=part, begin=begin, strides=(1,)))
        parts = tuple(op.results[0] for op in ops)
        whole = place.tensor("whole", TensorType(DType.INT16, (rows * self.channels,)))
        shaped = place.tensor("shaped", TensorType(DType.INT16, features.shape))
        source = place.source("FIRST")
        return Made(
            (
                *ops,
                Concat(name=whole.name, source=source, inputs=parts, output=whole, axis=0),
                Reshape(name=shaped.name, source=source, input=whole, output=shaped),
                Cast(name=features.name, source=source, input=shaped, output=features),
            )
        )


SAMPLES = np.arange(1, 12, dtype=np.int16)


def test_item_17_frames_of_a_signal() -> None:
    """Whole windows, or whole steps after silence."""
    front_end = First()
    expected = [[1, 2, 3], [3, 4, 5], [5, 6, 7], [7, 8, 9]]
    np.testing.assert_array_equal(front_end.features(SAMPLES), expected)
    np.testing.assert_array_equal(
        front_end.features(SAMPLES, after_silence=True), [[0, 0, 0], [0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 8]]
    )
    assert front_end.features(SAMPLES[:4]).shape == (0, 3)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_item_17_calls_are_frames_after_silence(rows: int) -> None:
    build = GraphBuilder()
    network = build.graph(build.lookup(build.input(1, rows, 3, 1)))
    joined = First().before(network)
    (port,) = joined.inputs
    assert (port.external.dtype, port.external.shape) == (DType.INT16, (2 * rows,))
    signal = np.arange(1, 2 * rows * 4 + 1, dtype=np.int16)
    expected = First().stored(signal, network.inputs[0].tensor.type, after_silence=True)
    calls = reference.evaluate_calls(joined, [[part] for part in signal.reshape(4, -1)])
    found = [arrays[network.inputs[0].tensor] for arrays in calls]
    np.testing.assert_array_equal(np.stack(found).reshape(-1, 3), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_ms": 6}, "step_ms is 6, a step of 1 sample or more within a window of at most 32768 was expected"),
        ({"channels": 0}, "channels is 0, a number above 0 was expected"),
        ({"channels": -1}, "channels is -1, a number above 0 was expected"),
        ({"channels": 10**9}, "channels is 1000000000, at most 1024 was expected"),
        ({"sample_rate": -16000}, "sample_rate is -16000, a number above 0 was expected"),
        ({"sample_rate": 10**12}, "step_ms is 2, a step of 1 sample or more within a window of at most 32768 was"),
        ({"channels": "3"}, "channels is '3', a value of type int was expected"),
        ({"channel": 3}, "has 'channel', one of channels, sample_rate, step_ms, window_ms was expected"),
    ],
)
def test_item_17_what_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=f"^front end first: {message}"):
        First.made_of(change)


def test_item_17_networks_that_take_no_such_features() -> None:
    build = GraphBuilder()
    network = build.graph(build.lookup(build.input(1, 2, 4, 1)))
    with pytest.raises(UsageError, match=r"gives 3 features per row, input '.*' has shape"):
        First().before(network)
    with pytest.raises(UsageError, match="samples are float64"):
        First().features(SAMPLES * 1.0)


def test_item_17_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(KINDS, "first", First)
    file = tmp_path / "front_end.json"
    file.write_text(json.dumps(First(channels=2).described()))
    assert read_front_end(file) == First(channels=2)
    for text, message in (
        ("{", "is no JSON"),
        ("[]", "is no JSON object"),
        ('{"kind": "other"}', "kind is 'other', one of .*first was expected"),
        ('{"kind": []}', r"kind is \[\], one of .*first was expected"),
        (" " * (1 << 17), "has more than 65536 bytes"),
    ):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            read_front_end(file)
    with pytest.raises(UsageError, match="No such file"):
        read_front_end(tmp_path / "missing.json")
