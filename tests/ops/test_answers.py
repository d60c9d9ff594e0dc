"""Operators answer for themselves: a class without an answer cannot be defined."""

from dataclasses import dataclass
from typing import ClassVar

import pytest

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array


def test_a_class_without_an_answer_cannot_be_defined() -> None:
    with pytest.raises(
        TypeError, match=r"^Nothing: no answer to result_range and channel_links, which passes ask of every operator$"
    ):

        class Nothing(Op):
            input: Tensor
            output: Tensor

            def evaluate(self, values: Values) -> tuple[Array, ...]:
                return (values[self.input],)


def test_a_class_with_weights_says_which_they_are() -> None:
    missing = "channel_links and precision_points and filters"
    with pytest.raises(TypeError, match=f"^Weighted: no answer to {missing}, which passes ask of every operator$"):

        class Weighted(Op):
            result_range: ClassVar[Range] = Range.OWN

            input: Tensor
            weights: Tensor
            output: Tensor

            def evaluate(self, values: Values) -> tuple[Array, ...]:
                return (values[self.input],)


def test_a_family_answers_for_its_members() -> None:
    class Family(Op):
        result_range: ClassVar[Range] = Range.MOVED

        def channel_links(self) -> None:
            return None

    @dataclass(frozen=True, eq=False, kw_only=True)
    class Member(Family):
        input: Tensor
        output: Tensor

        def evaluate(self, values: Values) -> tuple[Array, ...]:
            return (values[self.input],)

    assert Member.result_range is Range.MOVED


def test_what_computes_says_where_its_precision_changes() -> None:
    with pytest.raises(TypeError, match=r"^Halved: no answer to precision_points, which passes ask of every operator$"):

        class Halved(Op):
            result_range: ClassVar[Range] = Range.OWN

            input: Tensor
            output: Tensor

            def channel_links(self) -> None:
                return None

            def evaluate(self, values: Values) -> tuple[Array, ...]:
                return (values[self.input] // 2,)
