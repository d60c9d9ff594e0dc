"""TFLite Micro's operators on signals, whose custom codes begin with Signal: front ends of networks that hear."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tinygen.frontends.tflite.flexbuffer import CustomOptions, read_options
from tinygen.frontends.tflite.node import Node, Reader, Readers, UnsupportedError
from tinygen.frontends.tflite.raw import CUSTOM
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.clamp import Clamp
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.concat import Concat
from tinygen.ops.filter_bank import (
    FilterBank,
    FilterBankLog,
    FilterBankRoot,
    GainControl,
    SpectralSubtraction,
    SpectrumEnergy,
)
from tinygen.ops.fourier import InverseRealFourier, RealFourier
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.kept import Kept
from tinygen.ops.overlap_add import OverlapAdd
from tinygen.ops.reshape import Reshape
from tinygen.ops.select import Select
from tinygen.ops.signal_arithmetic import Logarithm, NoiseReduction
from tinygen.ops.signal_window import AutoScale, SignalWindow
from tinygen.ops.slice import Slice

_MOST_CALLS = 1 << 24  # before a first result


def read_window(node: Node) -> SignalWindow:
    """SignalWindow."""
    return SignalWindow(
        name=node.name,
        source=node.source,
        input=node.input(0),
        factors=node.input(1),
        output=node.output(),
        shift=_options(node).integer("shift"),
    )


def read_auto_scale(node: Node) -> AutoScale:
    """SignalFftAutoScale."""
    return AutoScale(name=node.name, source=node.source, input=node.input(0), outputs=node.outputs)


def read_rfft(node: Node) -> RealFourier:
    """SignalRfft: int16, int32 or float32, of a power of two."""
    length = _options(node).integer("fft_length")
    return RealFourier(name=node.name, source=node.source, input=node.input(0), output=node.output(), length=length)


def read_irfft(node: Node) -> InverseRealFourier:
    """SignalIrfft: int16, int32 or float32, of a power of two."""
    length = _options(node).integer("fft_length")
    return InverseRealFourier(
        name=node.name, source=node.source, input=node.input(0), output=node.output(), length=length
    )


def read_energy(node: Node) -> SpectrumEnergy:
    """SignalEnergy: 0 outside of the range, which TFLite Micro leaves as it was."""
    options = _options(node)
    return SpectrumEnergy(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        start=options.integer("start_index"),
        end=options.integer("end_index"),
    )


def read_filter_bank(node: Node) -> FilterBank:
    """SignalFilterBank: weights are constants, and not negative."""
    bank = FilterBank(
        name=node.name,
        source=node.source,
        input=node.input(0),
        rising=node.input(1),
        falling=node.input(2),
        frequency_starts=node.input(3),
        weight_starts=node.input(4),
        widths=node.input(5),
        output=node.output(),
    )
    _check_channels(node, bank.output)
    return bank


def read_root(node: Node) -> FilterBankRoot:
    """SignalFilterBankSquareRoot."""
    return FilterBankRoot(
        name=node.name, source=node.source, input=node.input(0), bits=node.input(1), output=node.output()
    )


def read_subtraction(node: Node) -> SpectralSubtraction:
    """SignalFilterBankSpectralSubtraction: the noise is a state, and its second output."""
    options, noise = _options(node), node.output(1)
    _check_channels(node, noise)
    return SpectralSubtraction(
        name=node.name,
        source=node.source,
        input=node.input(0),
        noise=_new(node, noise, "before", noise.shape),
        outputs=(noise, node.output()),
        reduction=NoiseReduction(
            smoothing=options.integer("smoothing"),
            one_minus_smoothing=options.integer("one_minus_smoothing"),
            alternate_smoothing=options.integer("alternate_smoothing"),
            alternate_one_minus_smoothing=options.integer("alternate_one_minus_smoothing"),
            min_signal_remaining=options.integer("min_signal_remaining"),
            smoothing_bits=options.integer("smoothing_bits"),
            fraction_bits=options.integer("spectral_subtraction_bits"),
            clamping=options.truth("clamping"),
        ),
    )


def read_pcan(node: Node) -> GainControl:
    """SignalPCAN."""
    return GainControl(
        name=node.name,
        source=node.source,
        input=node.input(0),
        noise=node.input(1),
        gains=node.input(2),
        output=node.output(),
        shift=_options(node).integer("snr_shift"),
    )


def read_log(node: Node) -> FilterBankLog:
    """SignalFilterBankLog."""
    options = _options(node)
    logarithm = Logarithm(options.integer("output_scale"), options.integer("input_correction_bits"), DType.INT16.max)
    return FilterBankLog(
        name=node.name, source=node.source, input=node.input(0), output=node.output(), logarithm=logarithm
    )


def read_delay(node: Node) -> tuple[Op, ...]:
    """SignalDelay: the last numbers of each row are kept, zeros at first."""
    input, output, delay = node.input(0), node.output(), _options(node).integer("delay_length")
    if not input.shape or not 0 < delay <= DType.INT16.max:
        raise UnsupportedError(f"delays {list(input.shape)} by {delay}, rows by 1 to {DType.INT16.max} were expected")
    axis = len(input.shape) - 1
    kept, window, joint = _window(node, input, delay, axis)
    last = _new(node, input, "last", kept.shape)
    _keep(node, kept, last)
    return (
        joint,
        _slice(node, last, window, axis, input.shape[axis]),
        _slice(node, output, window, axis, 0),
    )


def read_framer(node: Node) -> tuple[Op, ...]:
    """SignalFramer: frames of the samples that are kept and those of the call; not valid ones are of what there is,
    which TFLite Micro leaves as it was."""
    options, input, output, valid = _options(node), node.input(0), node.output(), node.output(1)
    size, step = options.integer("frame_size"), options.integer("frame_step")
    if not input.shape or not 0 < step <= size <= DType.INT16.max or input.shape[-1] % step or not input.shape[-1]:
        raise UnsupportedError(f"cuts rows of {list(input.shape)} into frames of {size} every {step} samples")
    frames, axis = input.shape[-1] // step, len(input.shape) - 1
    if output.shape != (*input.shape[:-1], frames, size):
        raise UnsupportedError(f"output {list(output.shape)}, {[*input.shape[:-1], frames, size]} was expected")
    calls = 0 if options.truth("prefill") else -(-size // step)  # frames' worth of samples before the first valid one
    kept_size = (calls - 1) * step if calls else size - step
    checks = _valid_from(node, valid, calls, frames)
    ops: list[Op] = []
    window = input
    if kept_size:
        kept, window, joint = _window(node, input, kept_size, axis)
        last = _new(node, input, "last", kept.shape)
        _keep(node, kept, last)
        ops += [joint, _slice(node, last, window, axis, input.shape[axis])]
    parts = tuple(_new(node, output, f"frame {frame}", (*input.shape[:-1], 1, size)) for frame in range(frames))
    for frame, part in enumerate(parts):
        row = _new(node, output, f"samples {frame}", (*input.shape[:-1], size))
        ops.append(_slice(node, row, window, axis, frame * step))
        ops.append(Reshape(name=part.name, source=node.source, input=row, output=part))
    joined = Concat(name=node.name, source=node.source, inputs=parts, output=output, axis=axis)
    return (*ops, joined, *checks)


def read_stacker(node: Node) -> tuple[Op, ...]:
    """SignalStacker: rows of the frames before and behind one; not valid ones are of what there is, which TFLite Micro
    leaves as it was. The first frame stands for those before it."""
    options, input, output, valid = _options(node), node.input(0), node.output(), node.output(1)
    left, right = options.integer("stacker_left_context"), options.integer("stacker_right_context")
    channels, step = options.integer("num_channels"), options.integer("stacker_step")
    frames = left + 1 + right
    if min(left, right) < 0 or frames > DType.INT16.max or not 0 < step <= frames:
        raise UnsupportedError(f"stacks {left} + 1 + {right} frames every {step}, at most as many were expected")
    if (input.type.elements, output.type.elements) != (channels, channels * frames):
        raise UnsupportedError(f"stacks {channels} channels of {list(input.shape)} to {list(output.shape)}")
    checks = _valid_every(node, valid, right, step)
    if frames == 1:
        return (Reshape(name=node.name, source=node.source, input=input, output=output), *checks)
    row = _new(node, input, "row", (1, channels))
    shaped = Reshape(name=row.name, source=node.source, input=input, output=row)
    kept = _new(node, input, "kept", (frames - 1, channels))
    window, last = (_new(node, input, role, (n, channels)) for role, n in (("window", frames), ("last", frames - 1)))
    before, choice = _first_repeated(node, kept, row) if left else (kept, ())
    _keep(node, kept, last)
    return (
        shaped,
        *choice,
        Concat(name=window.name, source=node.source, inputs=(before, row), output=window, axis=0),
        _slice(node, last, window, 0, 1),
        Reshape(name=node.name, source=node.source, input=window, output=output),
        *checks,
    )


def read_overlap_add(node: Node) -> OverlapAdd:
    """SignalOverlapAdd: int16 or float32."""
    input, output = node.input(0), node.output()
    if len(input.shape) < 2 or not output.shape:
        raise UnsupportedError(
            f"adds up {list(input.shape)} to {list(output.shape)}, frames and a signal were expected"
        )
    shape = (*input.shape[:-2], input.shape[-1])
    adder = OverlapAdd(
        name=node.name,
        source=node.source,
        input=input,
        rest=_new(node, input, "rest", shape),
        outputs=(_new(node, input, "next rest", shape), output),
    )
    step = _options(node).integer("frame_step")
    if output.shape[-1] != step * input.shape[-2]:
        raise UnsupportedError(f"output {list(output.shape)} of {input.shape[-2]} frames, {step} numbers of each")
    return adder


def _new(node: Node, like: Tensor, role: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor of the operator's own, of the type of another one."""
    return node.typed_intermediate(role, replace(like.type, shape=shape))


def _options(node: Node) -> CustomOptions:
    return read_options(node.raw.custom_options)


def _check_channels(node: Node, result: Tensor) -> None:
    channels = _options(node).integer("num_channels")
    if result.shape != (channels,):
        raise UnsupportedError(f"'{result.name}' has shape {list(result.shape)}, {channels} channels were expected")


def _keep(node: Node, kept: Tensor, after: Tensor) -> None:
    node.memory.own.append(Kept(kept, after, None, node.source))


def _window(node: Node, input: Tensor, size: int, axis: int) -> tuple[Tensor, Tensor, Op]:
    """What is kept of each row, what it makes together with the input, and how."""
    kept = _new(node, input, "kept", (*input.shape[:axis], size))
    window = _new(node, input, "window", (*input.shape[:axis], size + input.shape[axis]))
    joint = Concat(name=window.name, source=node.source, inputs=(kept, input), output=window, axis=axis)
    return kept, window, joint


def _slice(node: Node, output: Tensor, input: Tensor, axis: int, first: int) -> Slice:
    begin = tuple(first if at == axis else 0 for at in range(len(input.shape)))
    return Slice(
        name=output.name, source=node.source, input=input, output=output, begin=begin, strides=(1,) * len(begin)
    )


def _first_repeated(node: Node, kept: Tensor, row: Tensor) -> tuple[Tensor, tuple[Op, ...]]:
    """The frames before this one: before the first call they are that call's own."""
    begun = node.typed_intermediate("begun", TensorType(DType.BOOL, (1, 1)))
    _keep(node, begun, Tensor(f"{begun.name}:now", begun.type, np.ones((1, 1), np.bool_)))
    before = _new(node, kept, "before", kept.shape)
    choice = Select(name=before.name, source=node.source, condition=begun, first=kept, second=row, output=before)
    return before, (choice,)


def _valid_from(node: Node, valid: Tensor, calls: int, frames: int) -> tuple[Op, ...]:
    """Whether there are samples for all `frames` of a call, of which the first is whole from number `calls` on."""
    if calls <= 1:
        node.same[valid] = Tensor(valid.name, valid.type, np.ones(valid.shape, np.bool_))
        return ()
    whole = TensorType(DType.INT32, valid.shape)
    count, after = node.typed_intermediate("frames", whole), node.typed_intermediate("frames after", whole)
    _keep(node, count, after)
    ready = Compare(
        name=valid.name,
        source=node.source,
        first=count,
        second=_number(count, calls - 1),
        output=valid,
        comparison=Comparison.GREATER_EQUAL,
    )
    return ready, _sum(node, count, frames, after, Clamp(0, calls))


def _valid_every(node: Node, valid: Tensor, right: int, step: int) -> tuple[Op, ...]:
    """Whether a call has a result: the one after the first `right`, and then every one of `step`."""
    if not right and step == 1:
        node.same[valid] = Tensor(valid.name, valid.type, np.ones(valid.shape, np.bool_))
        return ()
    whole = TensorType(DType.INT32, valid.shape)
    missing = node.typed_intermediate("missing", whole)
    after, again = node.typed_intermediate("missing after", whole), node.typed_intermediate("again", whole)
    node.memory.own.append(Kept(missing, again, np.full(whole.shape, right, np.int32), node.source))
    due = Compare(
        name=valid.name,
        source=node.source,
        first=missing,
        second=_number(missing, 0),
        output=valid,
        comparison=Comparison.EQUAL,
    )
    chosen = Select(
        name=again.name,
        source=node.source,
        condition=valid,
        first=_number(again, step - 1),
        second=after,
        output=again,
    )
    return due, _sum(node, missing, -1, after, Clamp(-1, _MOST_CALLS)), chosen


def _sum(node: Node, first: Tensor, number: int, output: Tensor, limits: Clamp) -> IntegerArithmetic:
    return IntegerArithmetic(
        name=output.name,
        source=node.source,
        first=first,
        second=_number(output, number),
        output=output,
        function=IntegerFunction.ADD,
        limits=limits,
    )


def _number(beside: Tensor, value: int) -> Tensor:
    return Tensor(f"{beside.name}:{value}", beside.type, np.full(beside.shape, value, np.int32))


_NAMES: Mapping[str, Reader] = {
    "Delay": read_delay,
    "Energy": read_energy,
    "FftAutoScale": read_auto_scale,
    "FilterBank": read_filter_bank,
    "FilterBankLog": read_log,
    "FilterBankSpectralSubtraction": read_subtraction,
    "FilterBankSquareRoot": read_root,
    "Framer": read_framer,
    "Irfft": read_irfft,
    "OverlapAdd": read_overlap_add,
    "PCAN": read_pcan,
    "Rfft": read_rfft,
    "Stacker": read_stacker,
    "Window": read_window,
}

READERS: Readers = {f"{CUSTOM}Signal{name}": reader for name, reader in _NAMES.items()}
