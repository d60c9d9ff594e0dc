"""The codes of all weights of a network: rounded as asked, of one type or of as many bits as they may take."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tinygen.compress.average_bits import Choice, chosen
from tinygen.compress.encode import encode
from tinygen.compress.moments import MOST_BYTES, Moments
from tinygen.compress.network import SampledNetwork
from tinygen.compress.scheme import CodeRounding, CodeScheme
from tinygen.compress.second_order import encode_by_moments
from tinygen.ir.coding import Coding
from tinygen.ir.types import Array

NO_MOMENTS = "rounded to nearest: nothing multiplies it with vectors of the samples"


@dataclass(frozen=True, eq=False)
class Weights:
    """A constant to be quantized."""

    name: str
    read: Callable[[], Array]  # its float32 or float16 numbers; ValueError where they cannot be read
    output_axis: int | None
    input_axis: int | None
    rank: int


@dataclass(frozen=True, eq=False)
class Encoded:
    """What became of weights."""

    coding: Coding | None
    failure: str = ""  # why there is none
    note: str = ""
    noise: float | None = None  # squared error of the scores over their squares, were these weights alone narrow


def encoded(weights: Sequence[Weights], scheme: CodeScheme, network: SampledNetwork | None) -> Mapping[str, Encoded]:
    """By the names of weights. CompressionError where they take more than `Scheme.target_bits` in any type."""
    schemes = scheme.candidates
    found = {each.name: [_one(each, one, None) for one in schemes] for each in weights} if network is None else {}
    if network is not None:
        for turn in _turns(weights, scheme, network):
            names = [each.name for each in turn] if scheme.rounding is CodeRounding.GPTQ else []
            moments = dict(network.moments(names))
            for each in turn:
                here = moments.pop(each.name, None)
                found[each.name] = [_one(each, one, here) for one in schemes]
    if scheme.target_bits is None:
        return {name: options[0] for name, options in found.items()}
    assert network is not None
    return _within(found, scheme.target_bits, network)


def _one(weights: Weights, scheme: CodeScheme, moments: Moments | None) -> Encoded:
    try:
        values = weights.read()
        sizes = scheme.block_sizes(weights.rank, weights.output_axis, weights.input_axis)
        if scheme.rounding is CodeRounding.NEAREST:
            return Encoded(encode(values, scheme, sizes))
        if moments is None or weights.output_axis is None:
            return Encoded(encode(values, scheme, sizes), note=NO_MOMENTS)
        return Encoded(encode_by_moments(values, scheme, sizes, weights.output_axis, moments))
    except ValueError as error:
        return Encoded(None, str(error))


def _turns(weights: Sequence[Weights], scheme: CodeScheme, network: SampledNetwork) -> Iterator[list[Weights]]:
    """Weights whose moments fit memory together."""
    if scheme.rounding is CodeRounding.NEAREST:
        yield list(weights)
        return
    turn: list[Weights] = []
    taken = 0
    for each in weights:
        inputs = network.inputs_of(each.name)
        size = 0 if inputs is None else Moments.bytes(inputs.groups, inputs.count)
        if turn and taken + size > MOST_BYTES:
            yield turn
            turn, taken = [], 0
        turn.append(each)
        taken += size
    if turn:
        yield turn


def _within(found: Mapping[str, Sequence[Encoded]], target: float, network: SampledNetwork) -> Mapping[str, Encoded]:
    """Of each weights one of the types, so that all take at most `target` bits a weight on average."""
    options: dict[str, list[Choice[Encoded]]] = {}
    for name, each in found.items():
        for one in each:
            if one.coding is not None:
                noise = network.noise(name, one.coding.decoded)
                measured = Encoded(one.coding, note=one.note, noise=noise)
                option = Choice(measured, 8 * one.coding.bytes, noise)
                options.setdefault(name, []).append(option)
    elements = {name: each[0].value.coding.codes.size for name, each in options.items() if each[0].value.coding}
    picked = chosen(options, target * sum(elements.values()), sum(elements.values()))
    return {name: picked.get(name, each[0]) for name, each in found.items()}
