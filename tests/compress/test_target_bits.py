"""Types of weights by what the network loses, within an average number of bits."""

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.support.command_line import tinygen
from tests.support.weight_network import image, network
from tinygen.compress import CodeRounding, CompressionError, CompressionGranularity, DType, QScheme, quantize_weights
from tinygen.compress.average_bits import Choice, chosen
from tinygen.compress.method import Quantizing
from tinygen.compress.onnx_model import compress_model
from tinygen.compress.scheme import CodeScheme
from tinygen.options import Options
from tinygen.pipeline import compile_model

SAMPLES = {"image": np.concatenate([image(seed) for seed in range(6)])}


def test_choices_are_nearly_the_best_of_all() -> None:
    """Of six weights and three types each, all 729 choices are tried."""
    rng, found_loss, best_loss = np.random.default_rng(0), 0.0, 0.0
    for _ in range(30):
        sizes, weight = rng.integers(1, 9, 6), np.exp(rng.normal(size=6))
        options = {
            str(n): [Choice((n, bits), int(sizes[n] * bits), float(weight[n] * 4.0**-bits)) for bits in (8, 4, 2)]
            for n in range(6)
        }
        room = float(sizes.sum() * rng.uniform(2.2, 7))
        picked = chosen(options, room, int(sizes.sum()))
        by_value = {option.value: option for each in options.values() for option in each}
        taken = [by_value[value] for value in picked.values()]
        assert sum(option.bits for option in taken) <= room
        fitting = [all_of for all_of in itertools.product(*options.values()) if sum(o.bits for o in all_of) <= room]
        best_loss += min(sum(option.loss for option in all_of) for all_of in fitting)
        found_loss += sum(option.loss for option in taken)
    assert best_loss <= found_loss < 1.25 * best_loss


@pytest.mark.parametrize("rounding", CodeRounding, ids=lambda each: each.value)
def test_models_keep_the_average_and_compile(rounding: CodeRounding, tmp_path: Path) -> None:
    scheme = CodeScheme(DType.INT8, QScheme.ASYMMETRIC, rounding=rounding, target_bits=4.5, weight_num_threshold=280)
    model, findings = compress_model(network(), Quantizing(scheme), SAMPLES)
    changed = [finding for finding in findings if finding.is_changed]
    elements = sum(int(np.prod(finding.shape)) for finding in changed)
    assert 3.5 < 8 * sum(finding.coded_bytes for finding in changed) / elements <= 4.5
    assert len({finding.dtype for finding in changed}) > 1
    onnx.save(model, tmp_path / "mixed.onnx")
    compiled = compile_model(tmp_path / "mixed.onnx", Options(target="host", allow_float=True))
    stored = [op.filters.weights.coding for op in compiled.graph.ops if op.filters is not None]
    assert {coding.format.value for coding in stored if coding} == {finding.dtype for finding in changed}


def test_more_bits_lose_less() -> None:
    """Types are chosen by what is measured: what is narrow loses less than what would be narrow in its place."""
    averages = {}
    for bits in (2.5, 8.5):
        scheme = CodeScheme(target_bits=bits, weight_num_threshold=280)
        _, findings = compress_model(network(), Quantizing(scheme), SAMPLES)
        noises = [10 ** (-finding.scores_db / 10) for finding in findings if finding.scores_db is not None]
        averages[bits] = sum(noises)
    assert averages[2.5] > averages[8.5]


def test_the_command_says_what_each_constant_becomes(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "in.onnx")
    np.savez(tmp_path / "data.npz", image=SAMPLES["image"])
    asked = ("quantize-weights", tmp_path / "in.onnx", tmp_path / "out.onnx", "--target-bits", "5", "--calibrate")
    dry = tinygen(*asked, tmp_path / "data.npz", "--dry-run", "--json")
    assert dry.code == 0, dry.stderr
    assert not (tmp_path / "out.onnx").exists()
    types = {each["name"]: each["dtype"] for each in dry.document["weights"] if each["dtype"]}
    assert set(types) == {"conv", "grouped", "turned", "dense"} and len(set(types.values())) > 1
    real = tinygen(*asked, tmp_path / "data.npz")
    assert real.code == 0, real.stderr
    for name, dtype in types.items():
        line = next(line for line in real.stdout.splitlines() if line.split()[:1] == [name])
        assert f"quantized to {dtype}: alone" in " ".join(line.split())
    assert (tmp_path / "out.onnx").exists()


REFUSED = [
    (["--target-bits", "none"], "--target-bits: is 'none', a number of bits above 0 was expected, as 4.5."),
    (["--target-bits", "4"], "TG-W302 target_bits is measured on samples, calibrate was expected beside it."),
    (["--rounding", "best"], "--rounding: is 'best', one of nearest, gptq was expected"),
    (["--rounding", "gptq", "--calibrate", "missing.npz"], "missing.npz: cannot be read as samples"),
    (["--calibrate", "data.npz"], "TG-W302 calibrate: nothing is measured, rounding GPTQ or target_bits was expected"),
    (
        ["--target-bits", "1.5", "--calibrate", "data.npz"],
        "target_bits: is 1.5, at least 2.135 bits a weight",
    ),
    (
        ["--target-bits", "6", "--dtype", "fp8_e4m3fn", "--calibrate", "data.npz"],
        "target_bits: is 6, at least 8.135 bits a weight",
    ),
    (["--rounding", "gptq", "--calibrate", "data.npz", "--samples", "0"], "0 samples to calibrate with"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[" ".join(r[0]) for r in REFUSED])
def test_bad_arguments_have_clear_errors(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(network(), "in.onnx")
    np.savez("data.npz", image=SAMPLES["image"])
    ended = tinygen("quantize-weights", "in.onnx", "out.onnx", *arguments)
    assert ended.code == 2
    assert message in " ".join(ended.stderr.split())
    assert not Path("out.onnx").exists()


def test_small_floats_become_narrower_in_blocks_of_32() -> None:
    block = CompressionGranularity.PER_BLOCK
    with pytest.raises(CompressionError, match=r"at least 8\.135 bits"):
        quantize_weights(network(), DType.FP8_E4M3FN, target_bits=6, calibrate=SAMPLES)
    scheme = CodeScheme(DType.FP8_E4M3FN, granularity=block, target_bits=6, weight_num_threshold=280)
    _, findings = compress_model(network(), Quantizing(scheme), SAMPLES)
    assert {finding.dtype for finding in findings if finding.dtype} == {"fp8_e4m3fn", "fp4_e2m1fn"}
