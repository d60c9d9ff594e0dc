"""Several networks in one folder and one memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

from tinygen.build.bundle import Contents, bundle
from tinygen.build.kernel_sources import SourceTree
from tinygen.codegen.c_text import checked_identifier
from tinygen.codegen.joint import JointText, render_joint
from tinygen.codegen.project import ProjectKind
from tinygen.errors import DoesNotFitError, UsageError
from tinygen.kernels.base import Library
from tinygen.options import Joining, Kernels
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import Compiled, compile_model, flash_limit_bytes, hot_code_of
from tinygen.planner.joint import Handover, Joint, join, matching
from tinygen.planner.memory.spill import rooms
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import HotCode


@dataclass(frozen=True, eq=False)
class JointModels:
    """Networks for one board, each as it is compiled alone, but for where its memory lies."""

    name: str  # of the folder, in C
    members: Sequence[Compiled]
    joint: Joint

    @cached_property
    def trees(self) -> tuple[SourceTree, ...]:
        """Sources of kernels, each once."""
        return tuple({tree.name: tree for member in self.members for tree in member.trees}.values())

    @property
    def arena_limit_bytes(self) -> int:
        """What all arenas together may take."""
        return min(member.arena_limit_bytes for member in self.members)

    @cached_property
    def hot_code(self) -> HotCode | None:
        """Kernels of all networks that lie in a memory of their own, where the options name one."""
        return hot_code_of(self.members, self.trees, self.joint.arenas)

    @property
    def const_bytes(self) -> int:
        """Constants of all networks."""
        return sum(const_bytes(member.schedule) for member in self.members)

    def check_fits(self) -> None:
        """Raise DoesNotFitError where a network alone does not fit, or all of them together."""
        for member in self.members:
            member.check_fits()
        board = self.members[0].board
        room = {memory.name: bytes for memory, bytes in rooms(board).items()}
        limits = [member.options.ram_bytes for member in self.members if member.options.ram_bytes is not None]
        if limits:
            room[board.main_ram.name] = min(room[board.main_ram.name], *limits)
        for arena in self.joint.arenas:
            if arena.bytes > room[arena.memory.name]:
                raise DoesNotFitError(
                    f"{self.name}: its networks need {arena.bytes:,} bytes of {arena.memory.name}, at most "
                    f"{room[arena.memory.name]:,} were expected. Let fewer of them interrupt each other (--together), "
                    "or add -O ram."
                )
        flash = min(flash_limit_bytes(board, member.options) for member in self.members)
        if self.const_bytes > flash:
            raise DoesNotFitError(
                f"{self.name}: the constants of its networks take {self.const_bytes:,} bytes, at most {flash:,} were "
                "expected. Add -O size, or leave a network out."
            )

    def folder_files(self, kind: ProjectKind) -> dict[str, str]:
        """All files of a self-contained output folder, by relative path."""
        text = JointText(self.name, self.joint)
        networks = [member.network(text.home(member.name)) for member in self.members]
        opt = self.members[0].opt
        contents = Contents(
            self.name,
            networks,
            self.trees,
            opt,
            self.joint.arena_bytes,
            render_joint(text),
            hot_code=self.hot_code,
        )
        return bundle(contents, kind)


def product(name: str, members: Sequence[Compiled], joining: Joining) -> JointModels:
    """The networks in one memory; UsageError where they do not go together."""
    members = _with_one_library(members)
    name = checked_identifier(name)
    names = [member.name for member in members]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice}: is the name of two networks, different ones were expected. Write NAME=MODEL.")
    if name in names:
        raise UsageError(
            f"--name {name}: is the name of a network too, another one was expected for the folder. Choose one with -n."
        )
    for what, found in {
        "boards": {member.board.name for member in members},
        "kernel libraries": {member.library.value for member in members},
        "memories of hot code": {member.options.hot_code or "none" for member in members},
    }.items():
        if len(found) > 1:
            raise UsageError(f"{name}: has networks for the {what} {', '.join(sorted(found))}, one was expected.")
    by_name = {member.name: member for member in members}
    together = frozenset(
        frozenset(pair) for group in joining.together for pair in combinations(_known(group, by_name, "together"), 2)
    )
    handovers = [
        _handover(by_name[giver], by_name[taker])
        for cascade in joining.cascade
        for giver, taker in pairwise(_known(cascade, by_name, "cascade"))
    ]
    _check_order(handovers)
    schedules = {member.name: member.schedule for member in members}
    return JointModels(name, members, join(schedules, together, handovers))


def _with_one_library(members: Sequence[Compiled]) -> Sequence[Compiled]:
    """The members; where memory as the goal chose portable kernels for some of them, all without CMSIS-NN's."""
    if len({member.library for member in members}) == 1:
        return members
    others = (m.library is Library.CMSIS_NN and m.options.kernels is Kernels.AUTO for m in members)
    return [_without_cmsis_nn(member) if other else member for member, other in zip(members, others, strict=True)]


def _without_cmsis_nn(member: Compiled) -> Compiled:
    return compile_model(member.source, replace(member.options, name=member.name, cmsis_nn=WITHOUT_CMSIS_NN))


def _known(names: Sequence[str], members: Mapping[str, Compiled], option: str) -> Sequence[str]:
    """The names; UsageError where they are not those of two networks or more, each once."""
    unknown = [name for name in names if name not in members]
    if unknown:
        raise UsageError(
            f"--{option}: names '{unknown[0]}', networks of {', '.join(members)} were expected. Correct the name."
        )
    if len(names) < 2 or len(set(names)) < len(names):
        raise UsageError(
            f"--{option}: is '{','.join(names)}', two or more different networks were expected. Name them all, once."
        )
    return names


def _handover(giver: Compiled, taker: Compiled) -> Handover:
    """The output that the second network takes."""
    pair = matching(giver.schedule, taker.schedule)
    if pair is None:
        outputs = "; ".join(str(port.tensor.type) for port in giver.graph.outputs)
        inputs = "; ".join(str(port.tensor.type) for port in taker.graph.inputs)
        raise UsageError(
            f"--cascade {giver.name},{taker.name}: no output of the first ({outputs}) is like an input of the second "
            f"({inputs}), the same type, shape and scale were expected. Copy and convert it in the application."
        )
    return Handover(giver.name, pair[0], taker.name, pair[1])


def _check_order(handovers: Sequence[Handover]) -> None:
    """Raise UsageError unless each network gives to one and takes from one, and there is a first one."""
    givers, takers = [h.giver for h in handovers], [h.taker for h in handovers]
    for names, what in ((givers, "gives to"), (takers, "takes from")):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise UsageError(f"--cascade: {twice} {what} two networks, one was expected. Copy what the other needs.")
    next_one = dict(zip(givers, takers, strict=True))
    for first in givers:
        name: str | None = next_one[first]
        while name is not None and name != first:
            name = next_one.get(name)
        if name == first:
            raise UsageError(f"--cascade: {first} comes before itself, an order was expected. Leave one pair out.")
