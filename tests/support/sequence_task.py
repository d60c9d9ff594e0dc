"""A small task on sequences, and networks for it: random recurrent weights, and a layer behind them that is fitted."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.support.onnx_writer import OnnxWriter
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, Float32Array
from tinygen.verify import reference

STEPS, INPUTS, CLASSES, UNITS = 24, 2, 4, 24
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}


@dataclass(frozen=True)
class SequenceTask:
    """Noisy oscillations of several frequencies and about one phase: which one is it?"""

    sequences: Float32Array  # [count, steps, 1, inputs]
    classes: Array  # [count]

    @classmethod
    def drawn(cls, seed: int, count: int = 360) -> "SequenceTask":
        """Sequences of all classes alike."""
        rng = np.random.default_rng(seed)
        classes = np.arange(count) % CLASSES
        phases = rng.uniform(-0.5, 0.5, count)[:, None] + np.arange(STEPS) * (0.35 + 0.25 * classes)[:, None]
        waves = np.stack([np.sin(phases), np.cos(phases)], axis=-1) + rng.normal(0, 0.15, (count, STEPS, INPUTS))
        return cls(waves[:, :, np.newaxis].astype(np.float32), classes)

    @property
    def half(self) -> int:
        """Those before are for fitting, the others for counting."""
        return len(self.sequences) // 2

    def right(self, graph: Graph) -> float:
        """The share of sequences of the second half that a network tells."""
        found = [
            int(np.argmax(reference.outputs(graph, reference.evaluate(graph, [x]))[0]))
            for x in self.sequences[self.half :]
        ]
        return float(np.mean(np.array(found) == self.classes[self.half :]))


def task_network(operator: str, task: SequenceTask, file: Path, seed: int = 3) -> None:
    """Writes a network whose last layer is the least-squares fit to the last states of a random recurrent one."""
    file.write_bytes(_model(operator, seed, None))
    graph = import_model(file)
    states = [
        reference.outputs(graph, reference.evaluate(graph, [x]))[0].reshape(-1) for x in task.sequences[: task.half]
    ]
    features = np.column_stack([np.stack(states).astype(np.float64), np.ones(task.half)])
    wanted = np.eye(CLASSES)[task.classes[: task.half]]
    fitted = np.linalg.solve(features.T @ features + 0.05 * np.eye(UNITS + 1), features.T @ wanted)
    file.write_bytes(_model(operator, seed, fitted.astype(np.float32)))


def _model(operator: str, seed: int, fitted: Float32Array | None) -> bytes:
    rng, gates = np.random.default_rng(seed), _GATES[operator]
    model = OnnxWriter()
    kernel = rng.normal(0, 0.7, (1, gates * UNITS, INPUTS)).astype(np.float32)
    recurrent = rng.normal(0, 1.1 / UNITS**0.5, (1, gates * UNITS, UNITS)).astype(np.float32)
    bias = rng.normal(0, 0.3, (1, 2 * gates * UNITS)).astype(np.float32)
    operands = [model.port((STEPS, 1, INPUTS)), *map(model.constant, (kernel, recurrent, bias))]
    attributes = {"hidden_size": UNITS} | ({"linear_before_reset": 1} if operator == "GRU" else {})
    last = f"{model.node(operator, operands, attributes, 2)}.1"
    if fitted is None:
        model.output(last)
        return model.finish()
    flat = model.node("Reshape", [last, model.constant(np.array([1, UNITS]))])
    model.output(model.node("Gemm", [flat, model.constant(fitted[:-1]), model.constant(fitted[-1])]))
    return model.finish()
