"""The self-test of a network: one input, and the outputs that it must have on the board."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinygen.codegen.banner import code_banner
from tinygen.codegen.c_text import initializer
from tinygen.codegen.environment import environment
from tinygen.codegen.model import Home, ModelText
from tinygen.codegen.ports import PortText
from tinygen.ir.types import Array, DType
from tinygen.planner.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class SelftestValues:
    """What an input gets, or an output must have."""

    port: PortText
    initializer: str

    @property
    def is_real(self) -> bool:
        """Whether numbers were computed with float32, so that they are not the same to the bit on every machine."""
        return self.port.tensor.type.dtype is DType.FLOAT32


def render_selftest(
    schedule: Schedule,
    name: str,
    source: str,
    inputs: Sequence[Array],
    outputs: Sequence[Array],
    home: Home | None = None,
) -> dict[str, str]:
    """The C file of the self-test, where the network has one; `inputs` and `outputs` as the application has them."""
    model = ModelText(name, schedule, home=home)
    if not model.has_selftest:
        return {}
    context = {
        "banner": code_banner(schedule, name, source),
        "model": model,
        "inputs": _values(model.ports.inputs, inputs),
        "outputs": _values(model.ports.outputs, outputs),
    }
    return {f"{name}_selftest.c": environment().get_template("selftest.c.j2").render(context)}


def _values(ports: Sequence[PortText], arrays: Sequence[Array]) -> list[SelftestValues]:
    return [SelftestValues(port, initializer(array.reshape(-1))) for port, array in zip(ports, arrays, strict=True)]
