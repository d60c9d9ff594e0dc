"""Networks on QEMU's RISC-V machine with native kernels: the outputs of TFLM, and no load that a core may refuse."""

from pathlib import Path

import pytest

from tests.support.command_line import DIGITS
from tests.support.models import MLPERF_TINY, golden_tflm, largest_difference, model_file
from tests.support.program import build_program
from tests.support.shared import shared_file
from tests.support.tools import requires_riscv_qemu
from tinygen.build import qemu
from tinygen.build.execute import execute
from tinygen.build.instruction_counts import plugin_option
from tinygen.build.toolchain import for_board
from tinygen.codegen.harness import Measure
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.targets import load
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

OPEN = (
    "kaijiang_ic_resnet_qdq.onnx",
    "kaijiang_kws_qdq.onnx",
    "mcunet_vww_int8.tflite",
    "mlonmcu_micro_kws_m_fp32.onnx",
    "mlonmcu_micro_kws_m_int8.tflite",
    "mlonmcu_micro_kws_m_qdq.onnx",
    "mww_v2_vad_streaming_int8.tflite",
    "silabs_rock_paper_scissors.tflite",
    "tflm_audio_preprocessor_int8.tflite",
    "tflm_hello_world_float.tflite",
    "tflm_hello_world_int8.tflite",
    "tflm_keyword_scrambled_8bit.tflite",
    "tflm_keyword_scrambled_i16.tflite",
    "tflm_micro_speech_int8.tflite",
    "tflm_mnist_lstm_int8.tflite",
    "tflm_person_detect.tflite",
    "tflm_person_detect_fixedqdim.tflite",
    "tinymaix_cifar10_int8.tflite",
    "tinymaix_mbnet96_0.25_int8.tflite",
)

pytestmark = [pytest.mark.qemu, requires_riscv_qemu]


@pytest.mark.parametrize(
    ("target", "kernels"),
    [("qemu-rv32", Kernels.NATIVE), ("qemu-rv32", Kernels.PORTABLE), ("qemu-rv32-zve32x", Kernels.NATIVE)],
)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_networks_give_the_outputs_of_tflm_from_aligned_loads(
    name: str, target: str, kernels: Kernels, tmp_path: Path
) -> None:
    options = Options(target=target, kernels=kernels, objective=Objective.TIME)
    compiled = compile_model(model_file(name), options)
    inputs, expected = golden_tflm(name, compiled)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    misaligned = tmp_path / "misaligned.txt"
    plugin = plugin_option(image.elf, compiled.board, tmp_path / "counts.txt")
    found = execute(image, compiled.schedule, inputs[:1], f"{plugin},misaligned={misaligned}")
    assert largest_difference(found.outputs, expected[:1]) == 0
    assert misaligned.read_text() == ""


@pytest.mark.parametrize("name", OPEN)
def test_item_24_public_networks(name: str) -> None:
    """Every layer of them on the machine, as the numpy references have it."""
    options = Options(target="qemu-rv32", kernels=Kernels.NATIVE, allow_float=True)
    found = validate(compile_model(shared_file(f"models/open/{name}"), options), samples=1, against=Oracle.SIMULATOR)
    assert found.exact, found.first_mismatch


@pytest.mark.parametrize("core", ["rv32imc", "rv32imafc", "hazard3"])
def test_item_24_sets_of_parts(core: str) -> None:
    """That of an ESP32-C3, a CH32V307 and an RP2350, on a machine that has no more; rv32imac is tried above."""
    found = validate(compile_model(DIGITS, Options(target=core)), samples=1, against=Oracle.SIMULATOR)
    assert found.exact, found.first_mismatch


@pytest.mark.parametrize(
    ("target", "load_words", "addresses"),
    [
        ("qemu-rv32", "lw t0, 1(%0)", 1),
        ("qemu-rv32-zve32x", "addi t0, %0, 1\\n vsetivli zero, 4, e32, m1, ta, ma\\n vle32.v v0, (t0)", 4),
    ],
)
def test_misaligned_loads_are_found(target: str, load_words: str, addresses: int, tmp_path: Path) -> None:
    """What the test above would see."""
    board, source = load(target), tmp_path / "main.c"
    source.write_text(_MISALIGNED.replace("LOAD", load_words))
    tools = for_board(board)
    elf = build_program(tools, [source], tmp_path)
    misaligned = tmp_path / "misaligned.txt"
    plugin = plugin_option(elf, board, tmp_path / "counts.txt")
    run = qemu.run(elf, board, tmp_path, 20, icount=False, plugin=f"{plugin},misaligned={misaligned}")
    assert run.exit_code == 0
    assert [line.split()[2] for line in misaligned.read_text().splitlines()] == ["4"] * addresses


_MISALIGNED = """
#include "tg_target.h"
static uint32_t words[5];
int main(void)
{
    tg_count_start();
    __asm__ volatile("LOAD" : : "r"(words) : "t0", "memory");
    (void)tg_count_stop();
    return 0;
}
"""
