"""Each invariant of a graph, broken once: the whole message names the stage and the culprit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.support.control_models import branch_model
from tests.support.reference import import_model
from tinygen import passes
from tinygen.errors import VerifyError
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ir.verify import verify

TYPE = TensorType(DType.INT8, (1, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(Op):
    """An operator with a rule of its own."""

    inputs: tuple[Tensor, ...]
    output: Tensor

    def verify(self) -> None:
        if any(tensor.shape != self.output.shape for tensor in self.inputs):
            raise ValueError(f"shapes differ from {list(self.output.shape)}, one shape was expected")


def tensor(name: str, data: Array | None = None, type: TensorType = TYPE) -> Tensor:
    return Tensor(name, type, data)


def ports(*tensors: Tensor) -> tuple[Port, ...]:
    return tuple(Port(t.name, t, t.type) for t in tensors)


def add(name: str, inputs: Sequence[Tensor], output: Tensor) -> Sum:
    return Sum(name=name, source=Source("net.tflite", 3, "ADD 'sum'"), inputs=tuple(inputs), output=output)


X, Y, Z = tensor("x"), tensor("y"), tensor("z")
ONES = tensor("ones", np.ones((1, 2), np.int8))
GOOD = Graph("net", ports(X), ports(Z), (add("first", [X, ONES], Y), add("second", [X, Y], Z)))


def with_ops(*ops: Op) -> Graph:
    return replace(GOOD, ops=ops)


def with_constant(data: Array) -> Graph:
    return with_ops(add("first", [X, tensor("c", data)], Z))


def test_a_good_graph_is_left_alone() -> None:
    verify(GOOD, "import")
    verify(replace(GOOD, outputs=ports(ONES)), "import")


@pytest.mark.parametrize(
    ("graph", "complaint"),
    [
        (
            lambda: with_ops(add("first", [X, tensor("x")], Z)),
            "two tensors are named 'x', names must be unique",
        ),
        (
            lambda: with_ops(add("same", [X], Y), add("same", [Y], Z)),
            "two operators are named 'same', names must be unique",
        ),
        (lambda: with_ops(*GOOD.ops[::-1]), "second reads 'y' before it is defined"),
        (lambda: with_ops(add("loop", [Z], Z)), "loop reads 'z' before it is defined"),
        (lambda: with_ops(*GOOD.ops, add("third", [X], Y)), "third defines 'y' a second time"),
        (lambda: with_ops(*GOOD.ops, add("third", [Y], X)), "third defines 'x' a second time"),
        (lambda: with_ops(*GOOD.ops, add("third", [Y], ONES)), "third defines 'ones' a second time"),
        (lambda: with_ops(GOOD.ops[0]), "output 'z' is never defined"),
        (
            lambda: with_constant(np.ones((2, 1), np.int8)),
            "constant 'c' holds int8[2, 1], its type is int8[1, 2]",
        ),
        (
            lambda: with_constant(np.ones((1, 2), np.uint8)),
            "constant 'c' holds uint8[1, 2], its type is int8[1, 2]",
        ),
        (
            lambda: with_ops(add("first", [tensor("c", np.zeros(3, np.int8), TensorType(DType.INT8, (3,)))], Z)),
            "net.tflite, operator 3 (ADD 'sum'): shapes differ from [1, 2], one shape was expected",
        ),
    ],
)
def test_broken(graph: Callable[[], Graph], complaint: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(graph(), "fuse_clamps")
    assert str(caught.value) == (f"net, after fuse_clamps: {complaint}. This is a defect in tinygen: please report it.")
    assert caught.value.exit_code == 1


def test_every_pass_is_verified() -> None:
    """The pass that breaks a graph is named, whichever would mend it afterwards."""

    def breaking(graph: Graph) -> Graph:
        return replace(graph, ops=())

    with pytest.raises(VerifyError, match="breaking"):
        passes.run(GOOD, [breaking, lambda _: GOOD])


def test_what_changes_in_subgraphs_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the graph around them, too, whether or not a pass changes that one afterwards."""
    stages: list[tuple[str, str]] = []
    monkeypatch.setattr(passes, "verify", lambda graph, after: stages.append((graph.name, after)))
    graph = import_model(branch_model())
    passes.run(graph, ())
    assert stages == [("y:else", "subgraphs"), (graph.name, "subgraphs")], "a branch has branches, too"
