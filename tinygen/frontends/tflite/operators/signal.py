"""Custom operators on signals: TFLite Micro's, whose codes begin with Signal, and the older microfrontend."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tinygen.frontends.tflite.flexbuffer import CustomOptions, read_options
from tinygen.frontends.tflite.node import Node, Reader, Readers, UnsupportedError
from tinygen.frontends.tflite.raw import CUSTOM
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.cast import Cast
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
from tinygen.ops.gather import Gather
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.kept import Kept
from tinygen.ops.microfrontend import Microfrontend, MicrofrontendSettings
from tinygen.ops.overlap_add import OverlapAdd
from tinygen.ops.quotient import Div
from tinygen.ops.reshape import Reshape
from tinygen.ops.select import Select
from tinygen.ops.signal_arithmetic import Logarithm, NoiseReduction
from tinygen.ops.signal_window import AutoScale, SignalWindow
from tinygen.ops.slice import Slice

_MOST_CALLS = 1 << 24  # before a first result
_MOST_FRAMES = 1 << 10  # of a call, each of which is an operator


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
    """SignalRfft: int16, int32 or float32, of an even length without prime factors above 5."""
    length = _options(node).integer("fft_length")
    return RealFourier(name=node.name, source=node.source, input=node.input(0), output=node.output(), length=length)


def read_irfft(node: Node) -> InverseRealFourier:
    """SignalIrfft: int16, int32 or float32, of an even length without prime factors above 5."""
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
    """SignalFramer: frames of the samples that are kept and those of the call.

    Those that are not valid yet are of what there is; TFLite Micro leaves them as they were.
    """
    options, input, output, valid = _options(node), node.input(0), node.output(), node.output(1)
    size, step = options.integer("frame_size"), options.integer("frame_step")
    if not input.shape or not 0 < step <= size <= DType.INT16.max or input.shape[-1] % step or not input.shape[-1]:
        raise UnsupportedError(f"cuts rows of {list(input.shape)} into frames of {size} every {step} samples")
    frames, axis = input.shape[-1] // step, len(input.shape) - 1
    if frames > _MOST_FRAMES:
        raise UnsupportedError(f"cuts {frames} frames a call, at most {_MOST_FRAMES} were expected")
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
    """SignalStacker: rows of the frames before and behind one, the first of which stands for those before it.

    Those that are not valid yet are of what there is; TFLite Micro leaves them as they were.
    """
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


def read_microfrontend(node: Node) -> tuple[Op, ...]:
    """AudioMicrofrontend, AUDIO_MICROFRONTEND: a whole signal a call, each begins without noise; frames are stacked."""
    options, input, output = _options(node), node.input(0), node.output()
    settings = MicrofrontendSettings(
        sample_rate=options.integer("sample_rate"),
        window_ms=options.integer("window_size"),
        step_ms=options.integer("window_step"),
        channels=options.integer("num_channels"),
        lower_band_limit=options.real("lower_band_limit"),
        upper_band_limit=options.real("upper_band_limit"),
        smoothing_bits=options.integer("smoothing_bits"),
        even_smoothing=options.real("even_smoothing"),
        odd_smoothing=options.real("odd_smoothing"),
        min_signal_remaining=options.real("min_signal_remaining"),
        enable_pcan=options.truth("enable_pcan"),
        pcan_strength=options.real("pcan_strength"),
        pcan_offset=options.real("pcan_offset"),
        gain_bits=options.integer("gain_bits"),
        enable_log=options.truth("enable_log"),
        scale_shift=options.integer("scale_shift"),
    )
    settings.verify()
    frames = (input.type.elements - settings.window) // settings.step + 1
    if frames < 1:
        raise UnsupportedError(
            f"{input.type.elements} samples, at least those of a frame, {settings.window}, were expected"
        )
    rows = node.typed_intermediate("rows", TensorType(DType.INT32, (frames, settings.channels)))
    features = Microfrontend(
        name=rows.name, source=node.source, input=input, noise=None, outputs=(rows,), settings=settings
    )
    beside, placed = _with_context(node, options, rows, output.shape)
    return (features, *placed, *_scaled(node, options.integer("out_scale"), beside))


def _with_context(
    node: Node, options: CustomOptions, rows: Tensor, shape: tuple[int, ...]
) -> tuple[Tensor, tuple[Op, ...]]:
    """Every n-th row with those to its left and right; beyond the ends stand zeros, or the first and last row."""
    left, right, stride = (options.integer(name) for name in ("left_context", "right_context", "frame_stride"))
    frames, channels = rows.shape
    if min(left, right) < 0 or stride < 1 or left + right >= DType.INT16.max:
        raise UnsupportedError(
            f"rows with {left} and {right} beside them every {stride}, 0, 0 and 1 or more were expected"
        )
    anchors, span = -(-frames // stride), left + 1 + right
    if shape != (anchors, channels * span):
        raise UnsupportedError(f"output {list(shape)}, {[anchors, channels * span]} was expected")
    if (span, stride) == (1, 1):
        return rows, ()
    wanted = np.arange(anchors)[:, np.newaxis] * stride + np.arange(-left, right + 1)
    ops: list[Op] = []
    source = rows
    indices = np.clip(wanted, 0, frames - 1)
    if options.truth("zero_padding"):
        indices = np.where((wanted < 0) | (wanted >= frames), frames, wanted)
        source = _new(node, rows, "padded", (frames + 1, channels))
        zeros = Tensor(
            f"{source.name}:zeros", replace(rows.type, shape=(1, channels)), np.zeros((1, channels), np.int32)
        )
        ops.append(Concat(name=source.name, source=node.source, inputs=(rows, zeros), output=source, axis=0))
    chosen, placed = _new(node, rows, "chosen", (anchors, span, channels)), _new(node, rows, "placed", shape)
    table = Tensor(f"{chosen.name}:rows", TensorType(DType.INT32, indices.shape), indices.astype(np.int32))
    gather = Gather(
        name=chosen.name, source=node.source, input=source, indices=table, output=chosen, axis=0, batch_dims=0
    )
    return placed, (*ops, gather, Reshape(name=placed.name, source=node.source, input=chosen, output=placed))


def _scaled(node: Node, divisor: int, rows: Tensor) -> tuple[Op, ...]:
    """Divided by `out_scale`: as int32 cut off, or as float32."""
    output = node.output()
    if divisor < 1:
        raise UnsupportedError(f"option out_scale is {divisor}, 1 or more was expected")
    if not output.type.dtype.is_real:
        return (_calculated(node, rows, divisor, output, Clamp.none(output.type), IntegerFunction.DIV),)
    numbers = _new(node, output, "numbers", output.shape)
    data = np.array(divisor, np.float32)
    return (
        Cast(name=numbers.name, source=node.source, input=rows, output=numbers),
        Div(
            name=node.name,
            source=node.source,
            first=numbers,
            second=Tensor(f"{numbers.name}:divisor", TensorType(DType.FLOAT32, ()), data),
            output=output,
            clamp=Clamp.none(output.type),
        ),
    )


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
    return ready, _calculated(node, count, frames, after, Clamp(0, calls), IntegerFunction.ADD)


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
    return due, _calculated(node, missing, -1, after, Clamp(-1, _MOST_CALLS), IntegerFunction.ADD), chosen


def _calculated(
    node: Node, first: Tensor, number: int, output: Tensor, limits: Clamp, function: IntegerFunction
) -> IntegerArithmetic:
    """A function of each element and one number."""
    return IntegerArithmetic(
        name=output.name,
        source=node.source,
        first=first,
        second=Tensor(f"{output.name}:{number}", TensorType(DType.INT32, ()), np.array(number, np.int32)),
        output=output,
        function=function,
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

READERS: Readers = {
    **{f"{CUSTOM}Signal{name}": reader for name, reader in _NAMES.items()},
    f"{CUSTOM}AudioMicrofrontend": read_microfrontend,  # as the converter calls it
    f"{CUSTOM}AUDIO_MICROFRONTEND": read_microfrontend,
}
