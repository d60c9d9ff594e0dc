"""What proofs and measurements need of a compiled model; the pipeline's `Compiled` is one."""

from pathlib import Path
from typing import Protocol

from tinygen.build.firmware import Image
from tinygen.codegen.harness import Measure
from tinygen.frontends.spelling import Spelling
from tinygen.ir.graph import Graph
from tinygen.ops.port_states import PortState
from tinygen.planner.schedule.schedule import Schedule


class Program(Protocol):
    """A planned model that can be built into a measuring program."""

    @property
    def source(self) -> Path:
        """The model file."""

    @property
    def imported(self) -> Graph:
        """The graph before any pass."""

    @property
    def spelling(self) -> Spelling:
        """What the user says about the model's inputs."""

    @property
    def port_states(self) -> tuple[PortState, ...]:
        """Pairs of its file's inputs and outputs that are states."""

    @property
    def schedule(self) -> Schedule:
        """The plan, with the graph after all passes."""

    @property
    def is_calibrated(self) -> bool:
        """Whether its file holds a float model, which no oracle can run as the int8 one that it became."""

    @property
    def has_front_end(self) -> bool:
        """Whether a front end stands before the network, of which the model's file knows nothing."""

    @property
    def kernels(self) -> str:
        """What its kernels are, as reports name it."""

    def build(self, folder: Path, measure: Measure) -> Image:
        """A program in `folder` that runs the model on samples."""
