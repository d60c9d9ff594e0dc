"""The levels plan and calls: tools of MLIR read them, and each number of the schedule is in them."""

from collections.abc import Mapping
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp, UnregisteredOp

from tests.support.command_line import DIGITS
from tests.support.control_models import loop_model
from tests.support.mlir import VERSIONS, names, parsed, printed, resources_of, through_mlir_opt
from tinygen.codegen.mlir import calls_text, plan_text
from tinygen.kernels.base import Objective
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.schedule.schedule import Call

LEVELS = {"plan": plan_text, "calls": calls_text}


@pytest.fixture(scope="module")
def split() -> Compiled:
    """A network in rows, with rings, loops and several kinds of steps."""
    return compile_model(DIGITS, Options(target="cortex-m4", objective=Objective.RAM))


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """A network that runs parts of itself in a loop."""
    path = tmp_path_factory.mktemp("models") / "loop.tflite"
    path.write_bytes(loop_model())
    return compile_model(path, Options(target="cortex-m4"))


def found(module: ModuleOp, name: str) -> list[dict[str, Any]]:
    """Attributes of all operators of that name, as plain values."""
    ops = [op for op in module.walk() if isinstance(op, UnregisteredOp) and op.op_name.data == f"tinygen.{name}"]
    return [{key: plain(value) for key, value in op.attributes.items()} for op in ops]


def plain(attribute: Any) -> Any:
    """Numbers and texts of an attribute; anything else as it is."""
    data = getattr(getattr(attribute, "value", attribute), "data", attribute)
    if isinstance(data, Mapping):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, tuple):
        return [plain(item) for item in data]
    return data.decode() if isinstance(data, bytes) else data


@pytest.mark.parametrize("level", LEVELS)
def test_s2_01_xdsl_reads_schedules(level: str, split: Compiled, looped: Compiled) -> None:
    for compiled in (split, looped):
        module = parsed(LEVELS[level](compiled.schedule))
        assert names(module) == names(parsed(printed(module)))
        assert names(module)[:2] == ["builtin.module", f"tinygen.{level}"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("level", LEVELS)
def test_s2_01_mlir_opt_reads_schedules(level: str, version: int, split: Compiled, looped: Compiled) -> None:
    for compiled in (split, looped):
        text = LEVELS[level](compiled.schedule)
        assert names(parsed(through_mlir_opt(text, version))) == names(parsed(text))


def test_s2_01_a_plan_says_where_everything_lies(split: Compiled) -> None:
    schedule, module = split.schedule, parsed(plan_text(split.schedule))
    buffers = [
        (buffer["name"], buffer["bytes"], buffer["kind"], buffer["offset"], buffer["first_step"], buffer["last_step"])
        for buffer in found(module, "buffer")
    ]
    assert buffers == [
        (each.name, each.bytes, each.kind.value, schedule.offsets[each], each.first_step, each.last_step)
        for each in schedule.buffers
    ]
    [plan] = found(module, "plan")
    assert [(place["name"], place["buffer"], place["offset"]) for place in plan["places"]] == [
        (tensor.name, place.buffer.name, place.offset) for tensor, place in schedule.places.items()
    ]
    views = {view["name"]: view for view in found(module, "view")}
    parts = [part for part in schedule.pieces.values() if part.tensor.name in views]
    assert len(parts) > 10
    for part in parts:
        assert views[part.tensor.name]["whole"] == part.whole.name
        assert views[part.tensor.name]["rows"] == [part.rows.first, part.rows.end]


def test_s2_01_a_plan_has_each_step(split: Compiled) -> None:
    """Calls with the operators that they belong to, and the loops around them."""
    schedule, module = split.schedule, parsed(plan_text(split.schedule))
    steps = [type(step).__name__.lower() for step in schedule.flat_steps]
    kinds = {f"tinygen.{kind}" for kind in steps}
    assert [name for name in names(module) if name in kinds] == [f"tinygen.{kind}" for kind in steps]
    assert len(set(steps)) > 1
    assert "tinygen.loop" in names(module)
    assert [call["whole"] for call in found(module, "call")] == [call.whole.name for call in schedule.calls]


def test_s2_01_constants_of_a_plan_keep_their_bytes(split: Compiled) -> None:
    operands = [tensor for call in split.schedule.calls for tensor in call.op.operands]
    constants = dict.fromkeys(tensor for tensor in operands if tensor.data is not None)
    assert resources_of(plan_text(split.schedule)) == [t.data.tobytes() for t in constants if t.data is not None]


def test_s2_01_calls_have_addresses_parameters_and_tables(split: Compiled) -> None:
    schedule = split.schedule
    text = calls_text(schedule)
    steps = [step for step in schedule.flat_steps if isinstance(step, Call)]
    for said, step in zip(found(parsed(text), "call"), steps, strict=True):
        assert said["callee"] == step.kernel.function
        [result] = said["writes"]
        assert result["address"] == schedule.address(step.kernel.writes[0])
    tables = dict.fromkeys(table.stored for step in steps for table in step.kernel.tables)
    assert resources_of(text) == [table.values.tobytes() for table in tables]
    one = found(parsed(text), "call")[0]["parameters"]
    assert one["activation"] == {"min": -128, "max": 127}


def test_s2_01_parts_that_operators_run_are_inside_of_their_calls(looped: Compiled) -> None:
    assert len(looped.schedule.subschedules) == 2
    for level, text in LEVELS.items():
        assert names(parsed(text(looped.schedule))).count(f"tinygen.{level}") == 3
