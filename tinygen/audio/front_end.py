"""What all front ends have in common: frames of samples, features of each, and their place before a network."""

import json
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph, Op, Port, Source, Values
from tinygen.ir.names import unused
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, TensorType
from tinygen.ir.verify import verify
from tinygen.ops.concat import Concat
from tinygen.ops.framing import MOST_CHANNELS, Framing

Int16Array = npt.NDArray[np.int16]

_LARGEST_FRAME = 1 << 15  # samples


@dataclass(frozen=True, eq=False)
class Site:
    """Where operators of a front end stand: their names, and what says in the generated C where they come from."""

    kind: str
    taken: Container[str]  # names of the network

    def name(self, role: str) -> str:
        """The name of a tensor or an operator; each role once."""
        return unused(f"front_end:{role}", self.taken)

    def tensor(self, role: str, type: TensorType, data: Array | None = None) -> Tensor:
        """A tensor of the front end."""
        return Tensor(self.name(role), type, data)

    def source(self, role: str) -> Source:
        """Of an operator."""
        return Source(f"front end {self.kind}", 0, role)


@dataclass(frozen=True, eq=False)
class Made:
    """Operators of a front end in execution order, and what they keep from call to call beside samples."""

    ops: tuple[Op, ...]
    states: tuple[State, ...] = field(default=())


@dataclass(frozen=True, kw_only=True)
class FrontEnd(Framing, ABC):
    """Frames of samples, one every `step_ms`, each `window_ms` long, become rows of `channels` features.

    Subclasses say by which operators; numpy runs just these, so that features for training are those of the firmware.
    Fields are the JSON that `described` gives and `read_front_end` reads. UsageError where they do not go together.
    """

    kind: ClassVar[str]

    window_ms: int = 30
    channels: int = 40

    def __post_init__(self) -> None:
        for name in ("sample_rate", "window_ms", "step_ms", "channels"):
            if getattr(self, name) < 1:
                raise self._refusal(name, "a number above 0")
        if self.channels > MOST_CHANNELS:
            raise self._refusal("channels", f"at most {MOST_CHANNELS}")
        if not 0 < self.step <= self.window <= _LARGEST_FRAME:
            raise self._refusal("step_ms", f"a step of 1 sample or more within a window of at most {_LARGEST_FRAME}")

    @property
    def kept(self) -> int:
        """Samples of the calls before that the first frame of a call needs; silence before the first one."""
        return self.window - self.step

    @abstractmethod
    def operators(self, samples: Tensor, features: Tensor, place: Site) -> Made:
        """What computes `features` from `samples`.

        `samples` are int16 of shape [kept + rows * step], `features` has rows * channels elements in any shape: int8
        or int16 with one scale and zero point, or float32. UsageError for any other type.
        """

    def described(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"kind": self.kind, **{here.name: getattr(self, here.name) for here in fields(self)}}

    def __str__(self) -> str:
        return json.dumps(self.described())

    @classmethod
    def made_of(cls, values: dict[str, Any]) -> Self:
        """Of the fields that are given; UsageError for others, and for values of other types."""
        known = {here.name: here for here in fields(cls)}
        for name, value in values.items():
            if name not in known:
                raise UsageError(
                    f"front end {cls.kind}: has '{name}', one of {', '.join(sorted(known))} was expected. Correct the "
                    "name."
                )
            wanted = type(known[name].default)
            if not (type(value) is wanted or (wanted is float and type(value) is int)):
                raise UsageError(
                    f"front end {cls.kind}: {name} is {value!r}, a value of type {wanted.__name__} was expected. "
                    "Correct it."
                )
        return cls(**values)

    def features(self, samples: npt.ArrayLike, after_silence: bool = False) -> Float32Array:
        """Features [rows, channels] as real numbers, of int16 samples of one signal.

        Of all whole windows of the signal; `after_silence` of all whole steps, as the generated C has them, whose first
        call comes after silence.
        """
        return self.stored(samples, TensorType(DType.FLOAT32, ()), after_silence).astype(np.float32)

    def stored(self, samples: npt.ArrayLike, type: TensorType, after_silence: bool = False) -> Array:
        """The same as a network whose input has that element type and quantization gets them, to the bit."""
        signal = self._checked(samples)
        if after_silence:
            signal = np.concatenate([np.zeros(self.kept, np.int16), signal])
        rows = max(0, (len(signal) - self.kept) // self.step)
        if not rows:
            return np.zeros((0, self.channels), type.dtype.numpy)
        window = Tensor("samples", TensorType(DType.INT16, (self.kept + rows * self.step,)))
        features = Tensor("features", replace(type, shape=(rows, self.channels)))
        made = self.operators(window, features, Site(self.kind, ()))
        arrays = {state.tensor: state.initial for state in made.states}
        arrays[window] = signal[: window.shape[0]]
        self._check(made)
        for op in made.ops:
            arrays.update(zip(op.results, op.evaluate(Values(arrays.__getitem__)), strict=True))
        return arrays[features]

    def rows_of(self, port: Port) -> int:
        """Rows of features that an input of a network takes in a call; UsageError where that is no whole number."""
        elements = port.tensor.type.elements
        if not elements or elements % self.channels:
            raise UsageError(
                f"front end {self.kind}: gives {self.channels} features per row, input '{port.name}' has shape "
                f"{list(port.external.shape)}, a multiple of them was expected. Change channels, or the network."
            )
        return elements // self.channels

    def before(self, graph: Graph) -> Graph:
        """The network with this front end: its input becomes the next samples, int16, one call's worth of them.

        UsageError where the network has several inputs, or one that takes no such features.
        """
        if len(graph.inputs) != 1:
            raise UsageError(
                f"front end {self.kind}: {graph.name} has {len(graph.inputs)} inputs, 1 was expected. Leave the front "
                "end out."
            )
        (port,) = graph.inputs
        rows = self.rows_of(port)
        place = Site(self.kind, {*(tensor.name for tensor in graph.tensors), *(op.name for op in graph.ops)})
        samples = place.tensor("samples", TensorType(DType.INT16, (rows * self.step,)))
        ops, window, states = self._window(samples, place)
        made = self.operators(window, port.tensor, place)
        self._check(made)
        joined = replace(
            graph,
            inputs=(Port(place.name("samples"), samples, samples.type),),
            ops=(*ops, *made.ops, *graph.ops),
            stream=None,  # what a call takes are samples now: it is a network with states
            states=(*states, *made.states, *graph.states),
        )
        verify(joined, f"front end {self.kind}")
        return joined

    def _window(self, samples: Tensor, place: Site) -> tuple[Sequence[Op], Tensor, Iterable[State]]:
        """Samples that are kept, then those of the call."""
        if not self.kept:
            return (), samples, ()
        kept = place.tensor("kept", TensorType(DType.INT16, (self.kept,)))
        window = place.tensor("window", TensorType(DType.INT16, (self.kept + samples.shape[0],)))
        joint = Concat(name=window.name, source=place.source("WINDOW"), inputs=(kept, samples), output=window, axis=0)
        return (joint,), window, (State(kept, window),)

    def _checked(self, samples: npt.ArrayLike) -> Int16Array:
        signal = np.asarray(samples)
        if signal.ndim != 1 or signal.dtype != np.int16:
            raise UsageError(
                f"front end {self.kind}: samples are {signal.dtype}{list(signal.shape)}, int16 of one signal in one "
                "dimension were expected. Convert them."
            )
        return signal

    def _check(self, made: Made) -> None:
        for op in made.ops:
            try:
                op.verify()
            except ValueError as error:
                raise UsageError(
                    f"front end {self.kind}: {error}. Change the front end, or the network's input."
                ) from error

    def _refusal(self, name: str, expected: str) -> UsageError:
        return self._error(f"{name} is {getattr(self, name)}, {expected} was expected")

    def _error(self, what: str) -> UsageError:
        return UsageError(f"front end {self.kind}: {what}. Correct it.")
