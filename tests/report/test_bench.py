"""Measurements add up, repeat, and are what the generated code alone costs."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from tests.support.models import compiled_model
from tests.support.tiny_models import classifier, view
from tests.support.tools import requires_qemu
from tinygen.build.sizes import symbol_sizes
from tinygen.codegen.harness import Measure
from tinygen.errors import MismatchError
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.schedule.constants import const_bytes
from tinygen.report.bench import bench
from tinygen.report.counting import Counter, count, count_operators
from tinygen.report.measurement import bench_table, comparison_table, operator_bench_table
from tinygen.verify.samples import random_samples

MODEL = "str_ww_ref_model"
TICK = 40  # instructions of a tick of SysTick at 25 MHz
CALL_OF_THE_COUNTER = 12  # instructions, at most, around each operator
CALL_OF_THE_SYSTICK = 60  # of the harness, which SysTick counts too


@pytest.mark.qemu
@requires_qemu
def test_nothing_is_called(tmp_path: Path) -> None:
    (tmp_path / "view.tflite").write_bytes(view())
    found = bench(compile_model(tmp_path / "view.tflite", Options(target="mps2-an386")), per_op=True)
    assert (found.per_op, found.table_bytes, found.arena_bytes) == ((), 0, 16)
    assert found.instructions is not None and found.instructions < CALL_OF_THE_COUNTER


@pytest.mark.qemu
@requires_qemu
def test_operators_add_up() -> None:
    compiled = compiled_model(MODEL, "mps2-an386")
    found = bench(compiled, per_op=True)
    calls = compiled.schedule.calls
    assert found.instructions is not None and found.stack_bytes is not None and found.code_bytes is not None
    assert [op.kernel for op in found.per_op] == [call.kernel.function for call in calls]
    assert sum(op.macs for op in found.per_op) == compiled.graph.macs
    assert found.per_op[0].operator in ("CONV_2D", "DEPTHWISE_CONV_2D")
    total = sum(op.instructions or 0 for op in found.per_op)
    assert abs(total - found.instructions) <= len(calls) * CALL_OF_THE_COUNTER
    assert found.instructions > compiled.graph.macs  # no scalar kernel does more than one in an instruction
    assert found.flash_bytes == found.code_bytes + found.const_bytes
    assert found.ram_bytes == found.arena_bytes + found.stack_bytes
    assert 0 < found.stack_bytes < 1024
    assert found.outputs is not None and (found.outputs.elements, found.outputs.mismatches) == (3, 0)
    assert bench(compiled, per_op=True) == found


@pytest.mark.qemu
@requires_qemu
def test_flash_is_read_as_often_by_operators_as_by_all_of_them() -> None:
    """The band is shown beside the cycles, and what makes them more than on a board without wait states."""
    compiled = compiled_model(MODEL, "nucleo-l4r5zi")
    samples = random_samples(compiled.graph.inputs, 1, 0)
    operators = count_operators(compiled, samples, Counter.PLUGIN)
    found = bench(compiled, per_op=True)
    ideal = bench(compiled_model(MODEL, "mps2-an386"))
    assert found.flash_fetches is not None and found.cycles_model is not None and ideal.cycles_model is not None
    assert abs(sum(part.fetches or 0 for part in operators.values()) - found.flash_fetches) < 0.02 * found.flash_fetches
    assert abs(found.cycles_model - ideal.cycles_model - 5 * found.flash_fetches) < 1000
    assert (found.cycles_band, ideal.cycles_band, ideal.flash_fetches) == (0.08, 0.3, None)
    shown = _shown(bench_table("", found))
    assert "± 8%" in shown and f"{found.flash_fetches:,} that miss the caches" in shown
    assert "flash reads" not in _shown(bench_table("", ideal))
    assert {operator.cycles_band for operator in found.per_op} == {0.08}
    assert _shown(operator_bench_table(found.per_op)).count("± 8%") == len(found.per_op) > 0
    assert "± 8%" in _shown(comparison_table("", found, ideal)) and "± 30%" in _shown(
        comparison_table("", found, ideal)
    )


@pytest.mark.qemu
@requires_qemu
def test_what_computes_something_else_is_not_measured(tmp_path: Path) -> None:
    """Weights are changed in the C text after planning."""
    (tmp_path / "classifier.tflite").write_bytes(classifier())
    options = Options(target="mps2-an386", kernels=Kernels.PORTABLE)
    compiled = compile_model(tmp_path / "classifier.tflite", options)
    table = re.compile(r"int8_t \w+_weights\[\d+\] = {[^}]*")
    number = re.compile(r"(?<=[\s,])-?\d+(?=,)")
    files = {
        file: table.sub(lambda found: number.sub(lambda weight: str(~int(weight[0])), found[0]), text)
        for file, text in compiled.files.items()
    }
    assert files != compiled.files
    with pytest.raises(MismatchError, match=r"on mps2-an386: \d+ of 3 values of its outputs are not those of the ref"):
        bench(replace(compiled, files=files))


@pytest.mark.qemu
@requires_qemu
def test_two_ways_of_counting_agree() -> None:
    compiled = compiled_model(MODEL, "mps2-an386")
    samples = random_samples(compiled.graph.inputs, 1, 0)
    by_plugin, sizes = count(compiled, samples, Counter.PLUGIN)
    by_systick, same_sizes = count(compiled, samples, Counter.SYSTICK)
    assert by_plugin.instructions is not None and by_systick.instructions is not None
    assert abs(by_plugin.instructions - by_systick.instructions) <= TICK
    assert by_systick.cycles is None and sizes == same_sizes
    assert by_plugin.cycles is not None and by_plugin.cycles > by_plugin.instructions
    assert sum(by_plugin.histogram.values()) == by_plugin.instructions
    operators = count_operators(compiled, samples, Counter.SYSTICK)
    exact = count_operators(compiled, samples, Counter.PLUGIN)
    assert operators.keys() == exact.keys()
    for number, found in operators.items():
        assert abs((found.instructions or 0) - (exact[number].instructions or 0)) <= TICK + CALL_OF_THE_SYSTICK


@pytest.mark.qemu
@requires_qemu
def test_constants_are_tables_and_parameters(tmp_path: Path) -> None:
    """What bench counts beyond `compile` is the structs of the layers, to the byte."""
    compiled = compiled_model(MODEL, "mps2-an386")
    found = bench(compiled)
    symbols = symbol_sizes(compiled.build(tmp_path, Measure.INSTRUCTIONS).elf)
    structs = sum(size for name, size in symbols.items() if name.endswith("_layer"))
    assert found.table_bytes == const_bytes(compiled.schedule)
    assert found.const_bytes - found.table_bytes == structs > 0
    (constants,) = [line for line in _shown(bench_table("", found)).splitlines() if "constants" in line]
    assert constants.split() == [
        "constants", f"{found.const_bytes:,}", "bytes:", f"{found.table_bytes:,}", "tables,", f"{structs:,}", "layer",
        "parameters",
    ]  # fmt: skip


def _shown(table: RenderableType) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def test_host_counts_nothing() -> None:
    compiled = compiled_model(MODEL, "host")
    found = bench(compiled, per_op=True)
    assert (found.instructions, found.stack_bytes, found.ram_bytes, found.code_bytes) == (None, None, None, None)
    assert found.arena_bytes == compiled.schedule.arena_bytes
    assert found.const_bytes == found.table_bytes > 50_000
    assert f"{found.const_bytes:,} bytes, without layer parameters" in _shown(bench_table("", found))
    assert {op.instructions for op in found.per_op} == {None}
