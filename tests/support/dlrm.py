"""A small recommendation network as DLRM's: embeddings by run-time indices, two MLPs, products of all pairs."""

from pathlib import Path

import numpy as np

from tests.support.onnx_writer import OnnxWriter, Value
from tinygen.ir.types import Array, Float32Array

DENSE, WIDTH = 8, 16
ROWS = (40, 300, 1000, 7)  # of the embedding tables


def write_dlrm(folder: Path, seed: int = 0) -> Path:
    """The float network; its outputs are probabilities of a click."""
    writer, rng = OnnxWriter(), np.random.default_rng(seed)

    def layer(input: Value, features: int, units: int, gain: float = 1.4) -> Value:
        weights = rng.normal(0, gain / np.sqrt(features), (units, features)).astype(np.float32)
        bias = rng.normal(0, 0.1, units).astype(np.float32)
        return writer.node("Gemm", [input, writer.constant(weights), writer.constant(bias)], {"transB": 1})

    dense = writer.port((1, DENSE), name="dense")
    indices = [writer.port((1,), np.int64, name=f"index{n}") for n in range(len(ROWS))]
    bottom = writer.node("Relu", [layer(writer.node("Relu", [layer(dense, DENSE, 32)]), 32, WIDTH)])
    tables = [rng.normal(0, 0.7, (rows, WIDTH)).astype(np.float32) for rows in ROWS]
    rows = [writer.node("Gather", [writer.constant(t), index]) for t, index in zip(tables, indices, strict=True)]
    axis = writer.constant(np.array([1], np.int64))
    stacked = writer.node("Concat", [writer.node("Unsqueeze", [row, axis]) for row in (bottom, *rows)], {"axis": 1})
    products = writer.node("MatMul", [stacked, writer.node("Transpose", [stacked], {"perm": [0, 2, 1]})])
    count = 1 + len(ROWS)
    flat = writer.node("Reshape", [products, writer.constant(np.array([1, count * count], np.int64))])
    pairs = np.array([i * count + j for i in range(count) for j in range(i)], np.int64)
    interactions = writer.node("Gather", [flat, writer.constant(pairs)], {"axis": 1})
    features = writer.node("Concat", [bottom, interactions], {"axis": 1})
    hidden = writer.node("Relu", [layer(features, WIDTH + len(pairs), 32)])
    writer.output(writer.node("Sigmoid", [layer(hidden, 32, 1)]))
    file = folder / "dlrm.onnx"
    file.write_bytes(writer.finish())
    return file


def visits(count: int, seed: int = 1) -> dict[str, Array]:
    """Random inputs; some indices are much more frequent than others."""
    rng = np.random.default_rng(seed)
    dense: Float32Array = rng.normal(0, 1, (count, DENSE)).astype(np.float32)
    found: dict[str, Array] = {"dense": dense}
    for number, rows in enumerate(ROWS):
        found[f"index{number}"] = (rows * rng.random(count) ** 2).astype(np.int64)
    return found
