"""Several networks of one folder in the words of the templates: what they share."""

from dataclasses import dataclass

from tinygen.codegen.arenas import ArenaText
from tinygen.codegen.banner import folder_banner
from tinygen.codegen.environment import environment
from tinygen.codegen.line_breaks import break_lines
from tinygen.codegen.model import Home, ModelText
from tinygen.planner.joint import Joint

MEMORY_FILE = "{}_memory.c"  # linked only where the folder's own memory is used


@dataclass(frozen=True, eq=False)
class JointMemberText:
    """A network in the folder."""

    model: ModelText
    arenas: str  # places of its memory, as arguments of its function `init`
    others: str  # networks that may interrupt it, for a comment; empty where none may
    taken: str  # where its input comes from, for a comment; empty where the application writes it


@dataclass(frozen=True, eq=False)
class JointText:
    """What the header and the C file of the folder print."""

    name: str
    joint: Joint

    @property
    def upper(self) -> str:
        """Prefix of macros."""
        return self.name.upper()

    @property
    def arenas(self) -> list[ArenaText]:
        """All memory, the fastest first."""
        main = next(iter(self.joint.schedules.values())).board.main_ram
        return [
            ArenaText(
                "arena" if index == 0 else f"arena_{arena.memory.name}",
                arena.memory.name,
                arena.bytes,
                None if arena.memory == main else f".tg_arena.{arena.memory.name}",
            )
            for index, arena in enumerate(self.joint.arenas)
        ]

    @property
    def init_parameters(self) -> str:
        """All memory, as parameters."""
        return ", ".join(f"void *{arena.symbol}" for arena in self.arenas)

    @property
    def members(self) -> list[JointMemberText]:
        """The networks, in the order in which they were named."""
        return [self._member(name) for name in self.joint.schedules]

    def home(self, network: str) -> Home:
        """Where one network has its memory."""
        symbols = {arena.memory: arena.symbol for arena in self.arenas}
        places = ((memory, self._place(network, memory)) for name, memory in self.joint.offsets if name == network)
        return Home(self.name, {memory: f"{self.name}_{symbols[memory]} + {place}" for memory, place in places})

    def _place(self, network: str, memory: str) -> str:
        """The macro that says where its arena begins."""
        [symbol] = [arena.symbol for arena in self.arenas if arena.memory == memory]
        return f"{self.upper}_{network.upper()}_{symbol.upper()}"

    def places(self, network: str) -> list[tuple[str, int]]:
        """Those macros, with their values."""
        offsets = self.joint.offsets.items()
        return [(self._place(name, memory), offset) for (name, memory), offset in offsets if name == network]

    def _member(self, name: str) -> JointMemberText:
        model = ModelText(name, self.joint.schedules[name])
        symbols = {arena.memory: arena.symbol for arena in self.arenas}
        arenas = (f"bytes_of_{symbols[a.memory]} + {self._place(name, a.memory)}" for a in model.arenas)
        others = sorted(other for pair in self.joint.together if name in pair for other in pair - {name})
        taken = [handover for handover in self.joint.handovers if handover.taker == name]
        return JointMemberText(
            model,
            ", ".join(arenas),
            " and ".join(others),
            f"output {taken[0].output} of {taken[0].giver}, in its input {taken[0].input}" if taken else "",
        )


def render_joint(text: JointText) -> dict[str, str]:
    """The files that belong to no network alone, by file name."""
    board = next(iter(text.joint.schedules.values())).board
    context = {"joint": text, "banner": folder_banner(text.name, board)}
    names = {f"{text.name}.h": "joint.h.j2", f"{text.name}.c": "joint.c.j2"}
    names[MEMORY_FILE.format(text.name)] = "joint_memory.c.j2"
    found = {file: environment().get_template(template).render(context) for file, template in names.items()}
    return {file: break_lines(content) for file, content in found.items()}
