"""Constants that are read most often lie in fast memories: in RAM that start-up code fills, and in fast ROM."""

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.support.command_line import DIGITS
from tests.support.tools import requires_qemu
from tinygen import paths
from tinygen.codegen.harness import Measure
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.memory.heat import hot_tables
from tinygen.verify.validate import validate


def _compiled(folder: Path, board: str, memory: str, hot_bytes: int) -> Compiled:
    """On the board whose memory of that name is so large, and wants hot constants."""
    text = (paths.BOARDS / f"{board}.toml").read_text()
    before, name, rest = text.partition(f'name = "{memory}"\n')
    size = next(line for line in rest.splitlines() if line.startswith("size"))
    file = folder / "hot.toml"
    file.write_text(before + name + rest.replace(size, f'size = "{hot_bytes}"\nhot = true', 1))
    return compile_model(Path(DIGITS), _options(str(file)))


def _options(target: str) -> Options:
    """On whole tensors."""
    return Options(target=target, kernels=Kernels.PORTABLE, name="digits", objective=Objective.TIME)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize(
    ("board", "memory", "hot_bytes"), [("mps2-an386", "psram", 2048), ("mps3-an547", "itcm", 4096)]
)
def test_hot_weights_lie_in_the_fast_memory(board: str, memory: str, hot_bytes: int, tmp_path: Path) -> None:
    compiled = _compiled(tmp_path, board, memory, hot_bytes)
    tables = hot_tables(compiled.schedule)
    assert 0 < sum(table.bytes for table in tables) <= hot_bytes
    place = next(m for m in compiled.board.memories if m.name == memory)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    with image.elf.open("rb") as file:
        symbols = {s.name: s["st_value"] for s in ELFFile(file).get_section_by_name(".symtab").iter_symbols()}
    inside = {name for name, at in symbols.items() if place.origin <= at < place.end and name.startswith("digits_")}
    assert len(inside) == len(tables)
    assert "digits_conv_2d_1_weights" in inside  # each of its elements is read for every pixel
    found = validate(compiled, samples=1)
    assert found.exact, found.first_mismatch
    assert image.sizes().const_bytes == _plain_const_bytes(board, tmp_path)


def _plain_const_bytes(board: str, folder: Path) -> int:
    """Of the same network without a memory for hot constants: they are counted as constants all the same."""
    plain = compile_model(Path(DIGITS), _options(board))
    other = folder / "plain"
    other.mkdir()
    return plain.build(other, Measure.INSTRUCTIONS).sizes().const_bytes
