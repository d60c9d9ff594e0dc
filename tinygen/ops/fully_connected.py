"""Fully connected layer."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import OutputStage, exact_matmul
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_shape, check_symmetric
from tinygen.ops.clamp import Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnected(Op):
    """int8 matrix product; the input is seen as rows of `features`, whatever its shape."""

    input: Tensor  # [..., features] or any shape of rows * features elements
    weights: Tensor  # [units, features]
    bias: Tensor | None  # [units], int32
    output: Tensor  # [..., units]
    clamp: Clamp

    @property
    def rows(self) -> int:
        """Input vectors, each multiplied by the same weights."""
        return self.input.type.elements // self.weights.shape[1]

    @property
    def output_stage(self) -> OutputStage:
        """Bias, requantization and clamp."""
        return OutputStage(self.input, self.weights, self.bias, self.output, self.clamp)

    @property
    def macs(self) -> int:
        return self.rows * self.weights.type.elements

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("weights", self.weights), ("output", self.output)):
            check_dtype(role, tensor, DType.INT8)
        check_rank("weights", self.weights, 2)
        units, features = self.weights.shape
        check_per_tensor("input", self.input)
        check_per_tensor("output", self.output)
        check_symmetric("weights", self.weights, units, axis=0)
        if features == 0 or self.input.type.elements % features or self.output.type.elements != self.rows * units:
            raise ValueError(
                f"weights {list(self.weights.shape)} do not fit input {list(self.input.shape)} "
                f"and output {list(self.output.shape)}"
            )
        if self.bias is not None:
            check_dtype("bias", self.bias, DType.INT32)
            check_shape("bias", self.bias, (units,))
        self.clamp.verify(self.output.type)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        vectors = values[self.input].reshape(self.rows, -1).astype(np.int64) - self.input.type.zero_point
        accumulators = exact_matmul(vectors, values[self.weights].T)
        return (self.output_stage.finish(accumulators).reshape(self.output.shape),)
