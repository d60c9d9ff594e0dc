"""Weights of int8 in a Huffman code: read back by the format's text, as short as can be, decoded on every core."""

import heapq
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.compact_layers import TARGETS, CompactLayers, compact_layers, packed_in_rows, weights_in_blocks
from tests.support.reference import evaluate
from tests.support.schedules import check_runs, run_schedule
from tinygen.build.toolchain import Sanitizer
from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import HUFFMAN, SHORTEST, Kernel, Library, Toolbox
from tinygen.kernels.huffman import MOST_BITS, HuffmanCode, code_lengths
from tinygen.kernels.select import variants
from tinygen.kernels.tinygen_c.compact import matrix_of
from tinygen.kernels.tinygen_c.huffman import FullyConnectedHuffmanS8, huffman_layer, huffman_layers
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.weighted import Weighted
from tinygen.planner.cost.cost import costs
from tinygen.planner.whole.whole import whole_plan
from tinygen.targets import load

_TABLES = (12, 11, 10, 9)
_COUNTS = st.lists(st.integers(1, 1000), min_size=2, max_size=6)


def _read(words: Array, count: int) -> tuple[list[int], list[int]]:
    """So many weights by the text of tg_huffman.h, and the bits of each one's code."""
    data = words.astype("<i4").tobytes()
    counts = [int.from_bytes(data[2 * at : 2 * at + 2], "little") for at in range(MOST_BITS)]
    values = [byte - 256 if byte > 127 else byte for byte in data[2 * MOST_BITS : 2 * MOST_BITS + sum(counts)]]
    lengths = [length for length, codes in enumerate(counts, 1) for _ in range(codes)]
    code = 0
    meanings: dict[str, int] = {}
    for before, length, value in zip([0, *lengths], lengths, values, strict=False):
        code = code << length - before if meanings else 0
        meanings[f"{code:0{length}b}"] = value
        code += 1
    bits = "".join(f"{byte:08b}" for byte in data[2 * MOST_BITS + sum(counts) :])
    read: list[int] = []
    taken: list[int] = []
    position = 0
    while len(read) < count:
        length = next(length for length in range(1, 13) if bits[position : position + length] in meanings)
        read.append(meanings[bits[position : position + length]])
        taken.append(length)
        position += length
    assert len(bits) - position >= 48, "what is read behind the last code"
    return read, taken


def _lookups(lengths: Sequence[int], bits: int) -> int:
    """Entries that the kernel looks up for codes of these lengths, one after the other."""
    found, at = 0, 0
    while at < len(lengths):
        at += 2 if sum(lengths[at : at + 2]) <= bits and at + 1 < len(lengths) else 1
        found += 1
    return found


@given(st.tuples(st.integers(1, 20), st.integers(1, 100)), st.integers(8, MOST_BITS), st.integers(0, 2**31))
def test_the_format_is_read_back(size: tuple[int, int], bits: int, seed: int) -> None:
    weights = weights_in_blocks(np.random.default_rng(seed), *size)
    code = HuffmanCode(weights, bits)
    words = code.words()
    assert words.dtype == np.int32 and words.size == code.elements
    read, lengths = _read(words, weights.size)
    assert read == weights.ravel().tolist()
    assert max(lengths) <= code.longest <= bits
    assert code.lookups == _lookups(lengths, bits)


def test_a_table_to_the_bit() -> None:
    """Weights -1 (thrice), 2, 5: codes 0, 10, 11; in order -1 2 -1 5 -1."""
    words = HuffmanCode(np.array([[-1, 2, -1, 5, -1]], np.int8), 12).words()
    expected = bytes([1, 0, 2, 0, *[0] * 20, 0xFF, 2, 5, 0b0100_1100, *[0] * 6])
    assert words.astype("<i4").tobytes() == expected + bytes(-len(expected) % 4)


@pytest.mark.parametrize("value", [-128, 0, 127])
def test_a_single_weight_has_a_complete_code(value: int) -> None:
    """Half of the table would be undefined otherwise."""
    code = HuffmanCode(np.full((2, 3), value, np.int8), 12)
    assert (code.weights, code.longest) == (2, 1)
    assert _read(code.words(), 6)[0] == [value] * 6


@given(_COUNTS, st.integers(3, 5))
def test_no_code_of_so_many_bits_is_shorter(counts: list[int], most: int) -> None:
    """Of all lengths that have a prefix code, by Kraft's inequality."""
    lengths = code_lengths(np.array(counts), most)
    assert sum(Fraction(1, 1 << int(length)) for length in lengths) == 1 and lengths.max() <= most
    found = (
        sum(count * length for count, length in zip(counts, tried, strict=True))
        for tried in product(range(1, most + 1), repeat=len(counts))
        if sum(Fraction(1, 1 << length) for length in tried) <= 1
    )
    assert int(lengths @ np.array(counts)) == min(found)


@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=200))
def test_where_no_code_is_too_long_it_is_as_short_as_huffmans(counts: list[int]) -> None:
    heap = sorted(counts)
    least = 0
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        least += joined
        heapq.heappush(heap, joined)
    lengths = code_lengths(np.array(counts), 24)
    assert int(lengths @ np.array(counts)) == least


def test_too_many_weights_for_the_bits() -> None:
    with pytest.raises(ValueError, match=r"^5 symbols have no codes of at most 2 bits$"):
        HuffmanCode(np.arange(5, dtype=np.int8)[None], 2)


def _skewed(op: Op, rng: np.random.Generator) -> Op:
    """With weights most of which are small, whose codes are from 1 bit to the most."""
    assert isinstance(op, FullyConnected)
    powers = np.minimum(rng.geometric(0.5, op.weights.shape), 30) - 1
    return replace(op, weights=replace(op.weights, data=(powers * rng.choice([-4, 4], powers.shape)).astype(np.int8)))


@pytest.mark.parametrize(("target", "sanitizers"), TARGETS)
def test_layers_run(target: str, sanitizers: Sequence[Sanitizer], tmp_path: Path) -> None:
    """With the smallest table and with the largest, codes as long as an entry and shorter ones."""
    board, layers = load(target), compact_layers(len(target))
    layers.fully_connected(1, 1000, 23)
    layers.fully_connected(3, 500, 16)
    rng = np.random.default_rng(1)
    layers.ops[-2:] = [_skewed(op, rng) for op in layers.ops[-2:]]
    graph, inputs = layers.graph(), layers.values()
    for bits in (9, MOST_BITS):
        codes = {op: HuffmanCode(matrix_of(op), bits) for op in graph.ops if isinstance(op, Weighted)}
        longest = {code.longest for code in codes.values()}
        assert bits in longest and min(longest) < bits
        kernels: dict[Op, Kernel] = {op: huffman_layer(op, code) for op, code in codes.items()}
        (folder := tmp_path / f"{bits}").mkdir()
        [outputs] = run_schedule(whole_plan(graph, board, kernels), Library.PORTABLE, folder, [inputs], sanitizers)
        for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
            assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"


def test_rows_of_packed_convolutions_run(tmp_path: Path) -> None:
    """Where chains run row by row, parts of an operator share its table."""
    schedule = packed_in_rows(HUFFMAN)
    packed = [call for call in schedule.all_calls if isinstance(call.kernel, FullyConnectedHuffmanS8)]
    assert len(packed) > 2 and len({call.kernel.tables[0].data for call in packed}) == 2
    check_runs(schedule, Library.PORTABLE, tmp_path)


@pytest.mark.parametrize("core", ["mps2-an382", "mps2-an385", "mps2-an386", "mps3-an547", "qemu-rv32"])
@pytest.mark.parametrize("units", [3, 30, 200])
def test_kernels_are_listed_by_what_they_take(units: int, core: str) -> None:
    """The cheapest first, and then those with smaller tables, or the shortest code first: shorter codes take more."""
    layers = CompactLayers(2)
    layers.fully_connected(1, 700, units)
    (op,) = layers.ops
    board = load(core)
    toolbox = Toolbox(Library.PORTABLE, board.isa, has_thumb2=board.has_thumb2)
    fast, short = (
        variants(op, replace(toolbox, growths=((op.operands[1], growth),))) for growth in (HUFFMAN, SHORTEST)
    )
    assert [kernel.scratch_bytes for kernel in short] == [(4 << bits) + min(units, 4) * 700 + 8 for bits in _TABLES]
    assert short[0].tables[0].elements == min(kernel.tables[0].elements for kernel in short)
    prices = [costs(toolbox).call(op, kernel) for kernel in fast]
    assert prices == sorted(prices) and prices[0] == min(costs(toolbox).call(op, kernel) for kernel in short)
    scratch = [kernel.scratch_bytes for kernel in fast]
    assert scratch == sorted(scratch, reverse=True) and scratch[-1] == short[-1].scratch_bytes


@pytest.mark.parametrize("features", range(90, 98))
def test_nothing_behind_scratch_is_written(features: int, tmp_path: Path) -> None:
    """Weights of one bit, so that decoding goes as far behind four units as it can."""
    layers = CompactLayers(features)
    layers.fully_connected(1, features, 9)
    op = _skewed(layers.ops[0], np.random.default_rng(features))
    layers.ops[0], layers.inputs[:] = op, op.operands[:1]
    schedule = whole_plan(layers.graph(), load("host"), {op: huffman_layers(op)[0]})
    check_runs(schedule, Library.PORTABLE, tmp_path)
