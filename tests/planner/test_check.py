"""The checker: every class of defect, planted into a right schedule, is found and named."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.graphs import GraphBuilder
from tinygen import targets
from tinygen.errors import VerifyError
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.concat import Concat
from tinygen.ops.window import HW
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import _Execution, check
from tinygen.planner.schedule.schedule import Buffer, Place, Schedule

_BOARD = targets.load("mps2-an386")


def _schedule() -> Schedule:
    """conv (with scratch), a residual added in place, a view, a fully connected layer, softmax in place."""
    build = GraphBuilder()
    image = build.input(1, 6, 6, 2)
    stem = build.conv(image, 4, HW(3, 3))
    branch = build.conv(stem, 4, HW(3, 3))
    total = build.add(stem, branch)
    flat = build.reshape(total, 1, 144)
    output = build.softmax(build.fully_connected(flat, 10))
    return plan(build.graph(output), _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa))


def _buffer(schedule: Schedule, name: str) -> Buffer:
    return next(buffer for buffer in schedule.buffers if buffer.name == name)


def _tensor(schedule: Schedule, name: str) -> Tensor:
    return next(tensor for tensor in schedule.places if tensor.name == name)


def _move(schedule: Schedule, name: str, offset: int) -> Schedule:
    return replace(schedule, offsets={**schedule.offsets, _buffer(schedule, name): offset})


def _replace_buffer(schedule: Schedule, old: Buffer, new: Buffer) -> Schedule:
    places = {t: replace(p, buffer=new) if p.buffer is old else p for t, p in schedule.places.items()}
    return replace(
        schedule,
        buffers=tuple(new if buffer is old else buffer for buffer in schedule.buffers),
        steps=tuple(replace(call, scratch=new) if call.scratch is old else call for call in schedule.calls),
        places=places,
        offsets={new if buffer is old else buffer: offset for buffer, offset in schedule.offsets.items()},
    )


def _live(schedule: Schedule, name: str, first: int, last: int) -> Schedule:
    old = _buffer(schedule, name)
    return _replace_buffer(schedule, old, replace(old, first_step=first, last_step=last))


def _put(schedule: Schedule, name: str, place: Place) -> Schedule:
    return replace(schedule, places={**schedule.places, _tensor(schedule, name): place})


def _own_buffer(schedule: Schedule, name: str, offset: int, first: int, last: int) -> Schedule:
    """The tensor in a buffer of its own, at an offset, for some steps."""
    tensor = _tensor(schedule, name)
    buffer = replace(schedule.buffers[0], name=f"own:{name}", bytes=tensor.type.bytes, first_step=first, last_step=last)
    moved = _put(schedule, name, Place(buffer, 0))
    return replace(moved, buffers=(*moved.buffers, buffer), offsets={**moved.offsets, buffer: offset})


def _without_scratch(schedule: Schedule) -> Schedule:
    return replace(schedule, steps=(replace(schedule.calls[0], scratch=None), *schedule.calls[1:]))


def _scratch_over(schedule: Schedule, name: str) -> Schedule:
    """Scratch of the second convolution where a tensor lies, in a schedule whose live buffers may share bytes."""
    moved = _move(schedule, "op1:scratch", schedule.offsets[_buffer(schedule, name)])
    return replace(moved, is_interleaved=True)


def _scratch_aligned(schedule: Schedule, align: int) -> Schedule:
    old = _buffer(schedule, "op0:scratch")
    return _replace_buffer(schedule, old, replace(old, align=align))


def _kernel_not_in_place(schedule: Schedule) -> Schedule:
    call = schedule.calls[2]
    kernel = replace(call.kernel, in_place=())
    return replace(schedule, steps=(*schedule.calls[:2], replace(call, kernel=kernel), *schedule.calls[3:]))


def _overlapping_lies(schedule: Schedule) -> Schedule:
    """The result of the second convolution over the first one's, whose lifetime is said to have ended."""
    stem = schedule.offsets[_buffer(schedule, "t0")]
    return _move(_live(schedule, "t0", 0, 0), "t1", stem)


def test_the_schedule_is_right_before_it_is_damaged() -> None:
    schedule = _schedule()
    check(schedule)
    check(schedule, limit_bytes=schedule.arena_bytes)
    names = {tensor.name: place.buffer.name for tensor, place in schedule.places.items()}
    assert names == {"in0": "in0", "t0": "t0", "t1": "t1", "t2": "t0", "t3": "t0", "t4": "t4", "t5": "t4"}
    assert [call.op.name for call in schedule.calls] == ["op0", "op1", "op2", "op4", "op5"]


_DEFECTS: list[tuple[str, Callable[[Schedule], Schedule], str]] = [
    (
        "two live buffers overlap",
        lambda s: _move(s, "t1", s.offsets[_buffer(s, "t0")]),
        r"buffers 't0' and 't1' share bytes \d+ to \d+ and are both live at step 1",
    ),
    (
        "scratch overlaps a live buffer",
        lambda s: _move(s, "op1:scratch", s.offsets[_buffer(s, "t1")]),
        r"buffers 't1' and 'op1:scratch' share bytes \d+ to \d+ and are both live at step 1",
    ),
    (
        "a result over the operand whose last reader writes it",
        lambda s: _move(s, "t0", s.offsets[_buffer(s, "in0")]),
        r"buffers 'in0' and 't0' share bytes \d+ to \d+ and are both live at step 0",
    ),
    (
        "scratch over an operand",
        lambda s: _scratch_over(s, "t0"),
        r"step 1 \(op1\): has its scratch in the bytes of its operand 't0'",
    ),
    (
        "scratch over a result",
        lambda s: _scratch_over(s, "t1"),
        r"step 1 \(op1\): writes 't1' and 'op1:scratch' to the same bytes",
    ),
    (
        "scratch that is not aligned",
        lambda s: _scratch_aligned(s, 2),
        r"step 0 \(op0\): has 80 bytes of scratch aligned to 2, 80 aligned to 4 were expected",
    ),
    (
        "an unaligned offset",
        lambda s: _move(s, "t4", 1001),
        r"buffer 't4' lies at 1001, a multiple of 4 was expected",
    ),
    (
        "a negative offset",
        lambda s: _move(s, "t4", -4),
        r"buffer 't4' lies at -4, a multiple of 4 was expected",
    ),
    (
        "a buffer without offset",
        lambda s: replace(s, offsets={b: o for b, o in s.offsets.items() if b.name != "t4"}),
        r"buffer 't4' has no offset",
    ),
    (
        "a place behind the end of its buffer",
        lambda s: _put(s, "t4", Place(_buffer(s, "t4"), 4)),
        r"tensor 't4' takes bytes 4 to 13 of buffer 't4', which has 10",
    ),
    (
        "a tensor without place",
        lambda s: replace(s, places={t: p for t, p in s.places.items() if t.name != "t4"}),
        r"tensor 't4' has no place",
    ),
    (
        "a place in an unknown buffer",
        lambda s: _put(s, "t4", Place(replace(_buffer(s, "t4")), 0)),
        r"tensor 't4' lies in buffer 't4', which is not in the schedule",
    ),
    (
        "a lifetime that ends early",
        lambda s: _live(s, "t0", 0, 2),
        r"buffer 't0' is used in step 3, it is live from 0 to 2",
    ),
    (
        "an output that dies before the application reads it",
        lambda s: _live(s, "t4", 3, 3),
        r"buffer 't4' is used in step 4, it is live from 3 to 3",
    ),
    (
        "an input that is not there from the start",
        lambda s: _move(_live(s, "in0", 1, 1), "in0", 512),
        r"buffer 'in0' is used in step 0, it is live from 1 to 1",
    ),
    (
        "a result over an operand that is needed later",
        lambda s: _own_buffer(replace(s, places=dict(s.places)), "t1", s.offsets[_buffer(s, "t0")], 1, 2),
        r"buffers 't0' and 'own:t1' share bytes \d+ to \d+ and are both live at step 1",
    ),
    (
        "a lifetime that lies, and memory given away in it",
        _overlapping_lies,
        r"buffer 't0' is used in step 1, it is live from 0 to 0",
    ),
    (
        "calls in the wrong order",
        lambda s: replace(_live(s, "t0", 0, 4), steps=(*s.calls[:3], s.calls[4], s.calls[3])),
        r"step 3 \(op5\): reads 't4' before it is written",
    ),
    (
        "in place where the kernel cannot",
        _kernel_not_in_place,
        r"step 2 \(op2\): writes 't2' over its operand 't0'",
    ),
    (
        "a view that lies elsewhere",
        lambda s: _put(s, "t3", Place(_buffer(s, "t4"), 0)),
        r"tensor 't3' takes bytes 0 to 143 of buffer 't4', which has 10",
    ),
    (
        "a view of other bytes",
        lambda s: _own_buffer(s, "t3", 512, 2, 3),
        r"step 3 \(op4\): reads 't3', but byte 0 of it was overwritten by nothing",
    ),
    (
        "scratch that is missing",
        _without_scratch,
        r"step 0 \(op0\): has 0 bytes of scratch aligned to 4, 80 aligned to 4 were expected",
    ),
    (
        "a call that is missing",
        lambda s: replace(_live(s, "t4", 3, 3), steps=s.calls[:3] + s.calls[4:]),
        r"operator 'op4' is neither called nor a view of other tensors",
    ),
]


@pytest.mark.parametrize(("damage", "message"), [pytest.param(d, m, id=name) for name, d, m in _DEFECTS])
def test_a_planted_defect_is_found(damage: Callable[[Schedule], Schedule], message: str) -> None:
    with pytest.raises(VerifyError, match=rf"^net, after planning: {message}.*This is a defect in tinygen") as caught:
        check(damage(_schedule()))
    assert not re.search(r"0x[0-9a-f]+", str(caught.value))


def test_a_result_in_a_buffer_of_its_own_may_take_over_its_operand() -> None:
    """Where the operand ends with the call that writes it in place, and only there."""
    schedule = _live(_schedule(), "t0", 0, 2)
    offset = schedule.offsets[_buffer(schedule, "t0")]
    moved = _own_buffer(schedule, "t2", offset, 2, 3)
    place = moved.places[_tensor(moved, "t2")]
    check(_put(moved, "t3", place))
    with pytest.raises(VerifyError, match=r"buffers 't0' and 'own:t2' share bytes \d+ to \d+ and are both live at"):
        check(_put(_live(moved, "t0", 0, 3), "t3", place))


def test_a_view_of_what_was_read_before_the_rest_of_it_is_written() -> None:
    """Rows of one tensor are computed one after the other; the last call to read the first ones comes in between."""
    build = GraphBuilder()
    first = build.conv(build.input(1, 4, 4, 2), 2)
    second = build.conv(build.conv(first, 2), 2)
    both = build.concat((first, second), 1)
    schedule = plan(build.graph(build.conv(both, 2)), _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa))
    assert schedule.places[first].buffer is schedule.places[both].buffer is schedule.places[second].buffer
    check(schedule)
    swapped = {**schedule.places, first: schedule.places[second], second: schedule.places[first]}
    message = r"step 3 \(op4\): reads 't3', but byte 0 of it was overwritten by 't2' when step 2"
    with pytest.raises(VerifyError, match=message):
        check(replace(schedule, places=swapped))


def test_bytes_of_a_view_that_no_operand_covers_are_no_bytes_of_the_arena(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those either that lie there, which are right: the third of all that is ever written."""
    build = GraphBuilder()
    both = build.concat((build.input(1, 2), build.input(1, 1)), 1)
    schedule = plan(build.graph(build.fully_connected(both, 4)), _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa))
    check(schedule)
    aliases = Concat.aliases
    monkeypatch.setattr(Concat, "aliases", lambda op: aliases(op)[:1])
    with pytest.raises(VerifyError, match=r"reads 't0', but byte 2 of it was overwritten by 'in1'"):
        check(schedule)


@pytest.mark.parametrize(("most", "bits"), [((1 << 31) - 1, 32), (1 << 31, 64)])
def test_marks_have_as_many_bits_as_bytes_are_written(most: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygen.planner.schedule.check._most_marks", lambda _: most)
    assert _Execution(_schedule())._dtype.itemsize * 8 == bits


def test_an_arena_over_the_limit() -> None:
    schedule = _schedule()
    for limit in (schedule.arena_bytes - 1, 100):
        message = rf"the arena has {schedule.arena_bytes} bytes, at most {limit} were allowed"
        with pytest.raises(VerifyError, match=message):
            check(schedule, limit_bytes=limit)


def test_scratch_aligned_to_more_than_its_kernel_asks_for() -> None:
    check(_scratch_aligned(_schedule(), 8))


def test_an_output_overwritten_after_it_was_computed() -> None:
    build = GraphBuilder()
    image = build.input(1, 4, 4, 2)
    first, second = build.conv(image, 2), build.conv(image, 2)
    schedule = plan(build.graph(first, second), _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa))
    places = {**schedule.places, second: schedule.places[first]}
    message = r"after the last step, the application: reads 't0', but byte 0 of it was overwritten by 't1' when step 1"
    with pytest.raises(VerifyError, match=message):
        check(replace(schedule, places=places))


def test_scratch_over_what_a_later_step_reads() -> None:
    build = GraphBuilder()
    image = build.input(1, 8, 8, 2)
    first, second = build.conv(image, 2, HW(3, 3)), build.conv(image, 2, HW(3, 3))
    schedule = plan(build.graph(build.add(first, second)), _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa))
    moved = _move(schedule, "op1:scratch", schedule.address(first))
    with pytest.raises(
        VerifyError, match=r"step 2 \(op2\): reads 't0', but byte 0 of it was overwritten by scratch of"
    ):
        check(replace(moved, is_interleaved=True))


def test_bytes_overwritten_although_lifetimes_agree() -> None:
    """Lifetimes only look right: the second convolution gets the first one's bytes, in one buffer with it."""
    schedule = _schedule()
    both = _buffer(schedule, "t0")
    with pytest.raises(VerifyError, match=r"step 1 \(op1\): writes 't1' over its operand 't0'"):
        check(_put(schedule, "t1", Place(both, 0)))


def test_an_operand_overwritten_between_its_writer_and_its_reader() -> None:
    build = GraphBuilder()
    image = build.input(1, 4, 4, 2)
    first = build.conv(image, 2)
    second = build.conv(image, 2)
    output = build.add(first, second)
    schedule = plan(build.graph(output), _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa))
    shared = schedule.places[first].buffer
    with pytest.raises(
        VerifyError, match=r"step 2 \(op2\): reads 't0', but byte 0 of it was overwritten by 't1' when step 1 \(op1\)"
    ):
        check(replace(schedule, places={**schedule.places, second: Place(shared, 0)}))


def _over_its_operand() -> Schedule:
    """A depthwise layer on 6 x 6 pixels of 16 channels, whose result lies over its operand."""
    build = GraphBuilder()
    graph = build.graph(build.depthwise(build.input(1, 6, 6, 16)))
    toolbox = Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM)
    return plan(graph, _BOARD, toolbox, PlanRequest(slack=0))


def test_a_result_over_its_operand_is_found_where_it_is_too_near() -> None:
    """Its lead is a row and a pixel: one byte less is too little."""
    schedule = _over_its_operand()
    check(schedule)
    (call,) = schedule.calls
    assert call.lead_bytes == (6 + 1) * 16
    assert schedule.arena_bytes == 6 * 6 * 16 + call.lead_bytes
    result = call.kernel.writes[0]
    place = schedule.places[result]
    larger = replace(place.buffer, bytes=place.buffer.bytes + 1)
    moved = _replace_buffer(schedule, place.buffer, larger)
    with pytest.raises(VerifyError, match=f"writes '{re.escape(result.name)}' over its operand"):
        check(replace(moved, places={**moved.places, result: Place(larger, place.offset + 1)}))
