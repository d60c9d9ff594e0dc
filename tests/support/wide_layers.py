"""Layers of 64 channels, which single bits fill as words."""

from pathlib import Path

import numpy as np

from tests.support.onnx_writer import OnnxWriter

LAST_TWO = ("t2", "t4")  # names of the 3x3 convolutions


def wide_layers(folder: Path) -> tuple[Path, Path]:
    """Convolutions of 64 channels and a fully connected layer, with samples."""
    writer, rng = OnnxWriter(), np.random.default_rng(0)

    def weights(*shape: int) -> str:
        return writer.constant(rng.normal(0, 0.05, shape).astype(np.float32))

    x = writer.port((1, 64, 8, 8), name="x")
    before = writer.node("Relu", [writer.node("Conv", [x, weights(64, 64, 1, 1)])])
    pads = {"pads": [1, 1, 1, 1]}
    first = writer.node("Relu", [writer.node("Conv", [before, weights(64, 64, 3, 3)], pads)])
    second = writer.node("Conv", [first, weights(64, 64, 3, 3)], pads)
    flat = writer.node("Flatten", [writer.node("GlobalAveragePool", [second])])
    writer.output(writer.node("Gemm", [flat, weights(10, 64)], {"transB": 1}))
    (folder / "wide.onnx").write_bytes(writer.finish())
    np.savez(folder / "x.npz", x=np.random.default_rng(1).normal(0, 1, (32, 64, 8, 8)).astype(np.float32))
    return folder / "wide.onnx", folder / "x.npz"
