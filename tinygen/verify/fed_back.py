"""An oracle whose outputs are fed back to its inputs: what pairs of ports that are states mean."""

from collections.abc import Sequence
from dataclasses import replace

from tinygen.build.execute import Sample
from tinygen.ops.port_states import PortState, without
from tinygen.verify.litert import InferenceEngine, LiteRTRun


class FedBack:
    """The model's file, called again and again: `states` get what the call before gave there, zeros in the first."""

    def __init__(self, engine: InferenceEngine, states: Sequence[PortState]) -> None:
        self._engine, self._states = engine, states
        self._held = {state.input: state.initial for state in states}

    def run(self, inputs: Sample) -> LiteRTRun:
        """The next call, of the inputs and outputs that are no states."""
        others = iter(inputs)
        count = len(inputs) + len(self._held)
        run = self._engine.run([self._held[at] if at in self._held else next(others) for at in range(count)])
        self._held = {state.input: run.outputs[state.output] for state in self._states}
        return replace(run, outputs=list(without(run.outputs, [state.output for state in self._states])))
