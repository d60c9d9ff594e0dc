"""Calibration: from a float network and samples to a CTable."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.crossing import Crossing
from tinygen.ops.lstm import CELL_SCALES
from tinygen.ops.weighted import Weighted
from tinygen.option import FLAG, either, nested, one_of, option, parsed, several
from tinygen.quant.agreement import quant_of
from tinygen.quant.analog import with_analog
from tinygen.quant.coded_weights import POLICY as CODED
from tinygen.quant.coded_weights import CodedWeights, coded_weights
from tinygen.quant.constraints import Group, groups, real_operands
from tinygen.quant.control import control_of
from tinygen.quant.ctable import (
    CalibrationRecord,
    CTable,
    ModelIdentity,
    OpEntry,
    Storage,
    TargetIdentity,
    TensorEntry,
    TensorKind,
    TensorStats,
)
from tinygen.quant.engines.concat_casts import concat_casts
from tinygen.quant.engines.datapaths import CPU_ALONE, Assignment, casts, scheme_of, schemes, storages, with_crossings
from tinygen.quant.engines.widths import assignment_of_widths
from tinygen.quant.errors import SampleError
from tinygen.quant.forward import Forward, passed_name
from tinygen.quant.policy import Policy, PolicyKind, choose
from tinygen.quant.quantize import quantize_graph
from tinygen.quant.rounding import Moments, flips_of_layers
from tinygen.quant.scheme import RealRange, Scheme, affine, qm_n
from tinygen.quant.sign_levels import sign_quant
from tinygen.quant.statistics import NotFiniteError, Statistics, constant_statistics, merged
from tinygen.quant.stored_weights import along_axis, stored_weights
from tinygen.quant.weight_scales import weight_quant
from tinygen.quant.widths import ALL_INT8, Widths, check_overrides, weight_types
from tinygen.targets.engine import INT8, Datapath, Engine, Number

Progress = Callable[[int, int], None]

_WIDE_POLICY = Policy(PolicyKind.MAX)
DEFAULT_POLICY = Policy(PolicyKind.MSE)

NO_MOMENTS: Mapping[str, Moments] = MappingProxyType({})
NO_SAMPLES: Mapping[str, Array] = MappingProxyType({})
NO_STATISTICS: Mapping[str, Statistics] = MappingProxyType({})

_ACCUMULATORS = {
    DType.SIGNS: Storage.INT32,
    DType.INT8: Storage.INT32,
    DType.INT16: Storage.INT64,
    DType.FLOAT32: Storage.FLOAT32,
}
_REAL = TensorEntry(
    kind=TensorKind.ACTIVATION, dtype=Storage.FLOAT32, scheme=Scheme.SYMMETRIC, scale=(1.0,), zero_point=(0,)
)
_BIAS_BITS = {DType.SIGNS: 30, DType.INT8: 30, DType.INT16: 45}  # that a stored bias may take, by the activations


def _policies(texts: Sequence[str]) -> Mapping[str, Policy]:
    """NAME=POLICY as people write them; UsageError."""
    policies = {}
    for text in texts:
        name, separator, policy = text.rpartition("=")
        if not separator:
            raise UsageError(f"--tensor-policy {text}: has no '=', NAME=POLICY was expected. Write conv1=kld.")
        policies[name] = Policy.parse(policy)
    return policies


@dataclass(frozen=True)
class Settings:
    """How ranges are chosen."""

    policy: Policy = option(
        DEFAULT_POLICY,
        parsed(Policy.parse),
        "--policy",
        metavar="POLICY",
        help="How ranges are chosen: max, l1, l2, mse, kld, kld:ort, kld:sophon or percentile:99.99.",
    )
    of_tensors: Mapping[str, Policy] = option(
        MappingProxyType({}),
        several(_policies, lambda policies: [f"{name}={policy}" for name, policy in policies.items()]),
        "--tensor-policy",
        metavar="NAME=POLICY",
        help="Another policy for one tensor; may be given several times.",
    )
    scheme: Scheme = option(
        Scheme.ASYMMETRIC,
        one_of(Scheme),
        "--scheme",
        metavar="SCHEME",
        help="asymmetric, symmetric or pow2 (scales are powers of two).",
    )
    per_channel: bool = option(  # weights may have a scale for each output channel
        True,
        FLAG,
        "--control/--no-control",
        help="Keep a scale of its own for each output channel in the multipliers and shifts that kernels are given.",
    )
    corrects_bias: bool = option(
        True, FLAG, "--bias-correction/--no-bias-correction", help="Give biases what rounding of weights takes away."
    )
    equalizes: bool = option(
        False, FLAG, "--equalize", help="Scale channels between convolutions first (cross-layer equalization)."
    )
    rounds_adaptively: bool = option(
        False,
        either("adaptive", "nearest"),
        "--rounding",
        metavar="ROUNDING",
        help="How weights are rounded: nearest, or adaptive (by the samples).",
    )
    widths: Widths = nested(ALL_INT8)
    engines: Assignment = CPU_ALONE  # of operators, on boards that say what their engines compute with

    def policy_for(self, group: Group) -> Policy:
        """The policy of a group: that of its first tensor which has one of its own."""
        return next((self.of_tensors[t.name] for t in group.tensors if t.name in self.of_tensors), self.policy)

    def __str__(self) -> str:
        others = sorted({str(policy) for policy in self.of_tensors.values()} - {str(self.policy)})
        return "mixed: " + ", ".join([str(self.policy), *others]) if others else str(self.policy)


@dataclass(frozen=True)
class Identity:
    """What a table belongs to."""

    model: ModelIdentity
    target: TargetIdentity | None = None
    record: CalibrationRecord | None = None


def collect(
    forward: Forward,
    batches: Iterable[list[Array]],
    samples: int,
    progress: Progress | None = None,
    before: Mapping[str, Statistics] = NO_STATISTICS,
) -> dict[str, Statistics]:
    """Statistics of all tensors that `forward` computes, by name; `before` are those of earlier samples, which stay as
    they are. SampleError where a value is infinite or no number.
    """
    found = {name: deepcopy(statistics) for name, statistics in before.items()}
    done = 0
    for batch in batches:
        for name, values in forward.run(batch).items():
            try:
                found.setdefault(name, Statistics()).add(np.asarray(values, np.float32))
            except NotFiniteError as error:
                raise SampleError(
                    f"tensor '{name}': a value of samples {done} to {done + len(batch[0]) - 1} {error}, finite numbers "
                    "were expected. Look at these samples, or limit what comes before that tensor."
                ) from None
        done += len(batch[0])
        if progress is not None:
            progress(done, samples)
    return found


def measured_tensors(graph: Graph) -> tuple[str, ...]:
    """Names of the tensors whose values calibration needs."""
    inputs_of_filters = [op.operands[0] for op in graph.ops if op.filters is not None]
    wanted = {t for group in groups(graph) for t in group.measured} | set(inputs_of_filters)
    return tuple(t.name for t in real_operands(graph) if t in wanted and not t.is_constant)


def make_ctable(
    graph: Graph,
    statistics: Mapping[str, Statistics],
    settings: Settings,
    identity: Identity,
    moment: Mapping[str, Moments] = NO_MOMENTS,
    seen: Mapping[str, Array] = NO_SAMPLES,
) -> CTable:
    """The table of a float network; weights of layers whose input moments are given are rounded adaptively.

    `seen` are values of the tensors that layers read, by which the ADCs of analog engines are set.
    """
    _check_names(graph, settings)
    if settings.engines == CPU_ALONE:
        settings = replace(settings, engines=assignment_of_widths(graph, settings.widths))
    whole, crossing = graph, casts(graph, settings.engines)
    crossing += concat_casts(with_crossings(graph, crossing), statistics, settings.engines)
    graph = with_crossings(graph, crossing)
    for cast in crossing:
        statistics = {**statistics, cast.result: _statistics_of_group(cast.tensor, whole, statistics)}
    statistics = {**_statistics_of_parts(whole, graph, statistics), **statistics}
    types_of = storages(graph, settings.engines, settings.widths.activations)
    activations = _activations(graph, statistics, settings, types_of)
    weights = _weights(graph, activations, settings)
    rounded = {name: entry for name, entry in weights.items() if entry.policy != CODED}
    types = {name: TensorType(entry.element, (), quant_of(entry)) for name, entry in rounded.items()}
    flips = flips_of_layers(graph, types, moment)
    ops = {
        op.name: _op_entry(op, weights, statistics, settings, flips, types_of)
        for op in graph.ops
        if (_computes(op) or settings.engines.engine_of(op)) and not isinstance(op, Crossing)
    }
    entries = activations | weights
    ordered = {t.name: entries[t.name] for t in graph.tensors if t.name in entries}
    table = CTable(
        model=identity.model,
        target=identity.target,
        calibration=identity.record,
        engines=settings.engines.board,
        preparation=("equalize",) if settings.equalizes else (),
        tensors=ordered,
        ops=ops,
        casts=crossing,
    )
    return with_controls(whole, with_analog(whole, table, seen))


def with_controls(graph: Graph, table: CTable) -> CTable:
    """The table with the control constants that follow from its scales and clamps."""
    bare = {name: entry.model_copy(update={"control": None}) for name, entry in table.ops.items()}
    quantized = quantize_graph(graph, table.model_copy(update={"ops": bare}))
    controls = {op.name: control_of(op) for op in quantized.ops}
    ops = {name: entry.model_copy(update={"control": controls.get(name)}) for name, entry in bare.items()}
    return table.model_copy(update={"ops": ops})


def _check_names(graph: Graph, settings: Settings) -> None:
    check_overrides(graph, settings.widths.overrides)
    known = {tensor.name for tensor in real_operands(graph)}
    for name in settings.of_tensors:
        if name not in known:
            raise UsageError(
                f"--tensor-policy {name}: {graph.name} has no such tensor, one of its {len(known)} was expected. "
                "`tinygen ctable show` lists their names."
            )


def _computes(op: Op) -> bool:
    return any(tensor.type.dtype.is_real for tensor in op.results)


def _activations(
    graph: Graph, statistics: Mapping[str, Statistics], settings: Settings, types: Mapping[Tensor, Storage]
) -> dict[str, TensorEntry]:
    found: dict[str, TensorEntry] = {}
    for group, scheme in schemes(graph, settings.engines, groups(graph), settings.scheme).items():
        parts = [_statistics_of(tensor, statistics) for tensor in group.measured]
        parts += [statistics[name] for name in map(passed_name, group.measured) if name in statistics]
        whole = merged(parts)
        entry = _entry(group, whole, settings, types[group.tensors[0]], scheme)
        for tensor in group.tensors:
            kind = TensorKind.CONSTANT if tensor.is_constant else TensorKind.ACTIVATION
            found[tensor.name] = entry.model_copy(update={"kind": kind, "stats": _stats(tensor, statistics)})
    return found


def _entry(group: Group, whole: Statistics, settings: Settings, storage: Storage, scheme: Scheme) -> TensorEntry:
    dtype = storage.dtype
    if dtype.is_real:
        return _REAL
    if group.is_of_cells:
        return _entry_of_cells(whole)
    if dtype is DType.SIGNS:
        return _entry_of_signs(whole, scheme)
    is_wide = dtype is DType.INT16
    chooses = _WIDE_POLICY if is_wide else settings.policy_for(group)
    if is_wide and scheme is Scheme.ASYMMETRIC:
        scheme = Scheme.SYMMETRIC
    fixed, bits = group.fixed_as(dtype), storage.bits_in(dtype)
    if fixed is not None:
        quant, policy = fixed, "fixed"
        low, high = (quant.scale * (bound - quant.zero_point) for bound in (dtype.min, dtype.max))
        threshold = max(-low, high)
    else:
        chosen = choose(chooses, whole, dtype, scheme, bits)
        quant, policy = affine(chosen.range, dtype, scheme, bits), str(chooses)
        low, high, threshold = chosen.range.low, chosen.range.high, chosen.threshold
    return TensorEntry(
        kind=TensorKind.ACTIVATION,
        dtype=storage,
        scheme=scheme if fixed is None or is_wide else Scheme.ASYMMETRIC,
        scale=quant.scales,
        zero_point=quant.zero_points,
        threshold=threshold,
        range=(low, high),
        policy=policy,
        qm_n=qm_n(quant, dtype),
    )


def _entry_of_cells(whole: Statistics) -> TensorEntry:
    """int16, whose scale is the least power of two that all cells fit in, of those that tanh takes."""
    magnitude = min(max(whole.absmax if whole.count else 0.0, CELL_SCALES[0] * 2**15), CELL_SCALES[1] * 2**15)
    quant = affine(RealRange(-magnitude, magnitude), DType.INT16, Scheme.POW2)
    return TensorEntry(
        kind=TensorKind.ACTIVATION,
        dtype=Storage.INT16,
        scheme=Scheme.POW2,
        scale=quant.scales,
        zero_point=quant.zero_points,
        threshold=magnitude,
        range=(-magnitude, magnitude),
        policy=str(_WIDE_POLICY),
        qm_n=qm_n(quant, DType.INT16),
    )


def _entry_of_signs(whole: Statistics, scheme: Scheme) -> TensorEntry:
    quant = sign_quant(whole, scheme)
    low, high = (quant.scale * (sign - quant.zero_point) for sign in (-1, 1))
    return TensorEntry(
        kind=TensorKind.ACTIVATION,
        dtype=Storage.INT1,
        scheme=scheme,
        scale=quant.scales,
        zero_point=quant.zero_points,
        threshold=high,
        range=(low, high),
        policy="levels",
        qm_n=qm_n(quant, DType.INT8),
    )


def _statistics_of_group(name: str, graph: Graph, statistics: Mapping[str, Statistics]) -> Statistics:
    """Of a tensor; of what decides its range where it was not measured itself."""
    if name in statistics:
        return statistics[name]
    group = next(group for group in groups(graph) if any(tensor.name == name for tensor in group.tensors))
    return merged([_statistics_of(tensor, statistics) for tensor in group.measured])


def _statistics_of_parts(whole: Graph, graph: Graph, statistics: Mapping[str, Statistics]) -> dict[str, Statistics]:
    """Of tensors that were not measured, since others decided their range, until a cast parted them from those."""
    known = {tensor.name for tensor in whole.tensors}
    measured = {tensor.name for group in groups(graph) for tensor in group.measured if tensor.data is None}
    return {name: _statistics_of_group(name, whole, statistics) for name in measured & known - statistics.keys()}


def _statistics_of(tensor: Tensor, statistics: Mapping[str, Statistics]) -> Statistics:
    return statistics[tensor.name] if tensor.data is None else constant_statistics(tensor)


def _stats(tensor: Tensor, statistics: Mapping[str, Statistics]) -> TensorStats | None:
    found = statistics.get(tensor.name)
    return (
        None
        if found is None
        else TensorStats(
            min=found.min, max=found.max, mean=found.mean, second_moment=found.second_moment, count=found.count
        )
    )


def _weights(graph: Graph, activations: Mapping[str, TensorEntry], settings: Settings) -> dict[str, TensorEntry]:
    found: dict[str, TensorEntry] = {}
    types = _weight_types(graph, settings)
    for op in graph.ops:
        found |= _weights_of_products(op, activations, settings)
        if op.filters is None or (weights := op.filters.weights).data is None:
            continue
        if types[weights] is Storage.FLOAT32:
            continue
        if (coded := _coded(op, types[weights], settings)) is not None:
            found[weights.name] = coded.entry()
            continue
        path, input = _path(op, settings), activations[op.operands[0].name]
        dtype = types[weights].weight_dtype
        bits = types[weights].bits_in(dtype)
        scheme = Scheme.POW2 if scheme_of(path, settings.scheme) is Scheme.POW2 else Scheme.SYMMETRIC
        if path.per_channel and settings.per_channel:
            quant = weight_quant(weights.data, dtype, op.filters.channel_axis, scheme, bits)
            quant = _with_room_for_bias(quant, op.filters.bias, input, scheme)
        else:
            quant = weight_quant(weights.data, dtype, None, scheme, bits)
        found[weights.name] = TensorEntry(
            kind=TensorKind.WEIGHTS,
            dtype=types[weights],
            scheme=scheme,
            axis=quant.axis if not quant.is_per_tensor else None,
            scale=quant.scales,
            zero_point=quant.zero_points,
            policy=_weight_policy(types[weights], quant, scheme),
        )
    return found


def _weights_of_products(
    op: Op, activations: Mapping[str, TensorEntry], settings: Settings
) -> Mapping[str, TensorEntry]:
    """int8 with one scale for each of several sums, large enough for the bias."""
    found: dict[str, TensorEntry] = {}
    scheme = Scheme.POW2 if scheme_of(_path(op, settings), settings.scheme) is Scheme.POW2 else Scheme.SYMMETRIC
    for sums in op.products:
        input = activations[sums.input.name]
        if sums.weights.data is None or input.element.is_real:
            continue
        quant = weight_quant(sums.weights.data, DType.INT8, None, scheme)
        if sums.bias is not None and sums.bias.data is not None:
            least = float(np.abs(sums.bias.data.astype(np.float64)).max()) / _unit_of_bias(input)
            if least > quant.scale:
                quant = affine(RealRange(0.0, least * (DType.INT8.max + (scheme is Scheme.POW2))), DType.INT8, scheme)
        found[sums.weights.name] = TensorEntry(
            kind=TensorKind.WEIGHTS,
            dtype=Storage.INT8,
            scheme=scheme,
            scale=quant.scales,
            zero_point=(0,),
            policy=_weight_policy(Storage.INT8, quant, scheme),
        )
    return found


def _unit_of_bias(input: TensorEntry) -> float:
    """The largest bias that may be stored beside weights of scale 1."""
    return input.scale[0] * 2.0 ** _BIAS_BITS[input.element]


def _coded(op: Op, storage: Storage, settings: Settings) -> CodedWeights | None:
    """The weights as the model codes them, where nothing else is asked for."""
    is_plain = settings.engines.engine_of(op) is None and settings.per_channel and settings.scheme is not Scheme.POW2
    is_int8 = settings.widths.activations_of(op) is storage is Storage.INT8
    return coded_weights(op) if is_plain and is_int8 else None


def _weight_policy(storage: Storage, quant: Quant, scheme: Scheme) -> str:
    if storage is Storage.INT1:
        return "mean"
    is_least = storage.bits < Storage.INT8.bits or (scheme is Scheme.POW2 and not quant.is_per_tensor)
    return "mse" if is_least else "max"


def _path(op: Op, settings: Settings) -> Datapath:
    engine = settings.engines.engine_of(op)
    return INT8 if engine is None else engine.path


def _weight_types(graph: Graph, settings: Settings) -> Mapping[Tensor, Storage]:
    """Element types of constant weights: those of the engines' datapaths, on the CPU those that are asked for."""
    found = dict(weight_types(graph, settings.widths))
    for op in graph.ops:
        engine, weights = settings.engines.engine_of(op), op.filters and op.filters.weights
        if weights in found and engine is not None and not _leaves_weights_open(engine):
            found[weights] = Storage(engine.path.weights.value)
    return found


def _leaves_weights_open(engine: Engine) -> bool:
    """Whether kernels of several widths are there, so that what is asked for counts."""
    return engine.kind.is_cpu and engine.path.weights is Number.INT8


def _with_room_for_bias(quant: Quant, bias: Tensor | None, input: TensorEntry, scheme: Scheme) -> Quant:
    """Larger scales for channels of tiny weights, whose bias would not fit int32."""
    if bias is None or bias.data is None:
        return quant
    least = np.abs(bias.data.astype(np.float64)) / _unit_of_bias(input)
    if quant.is_per_tensor or (least <= quant.scales).all():
        return quant
    steps = DType.INT8.max + (scheme is Scheme.POW2)
    raised = [affine(RealRange(0.0, float(scale) * steps), DType.INT8, scheme).scale for scale in least]
    return replace(quant, scales=tuple(map(max, quant.scales, raised)))


def _op_entry(
    op: Op,
    weights: Mapping[str, TensorEntry],
    statistics: Mapping[str, Statistics],
    settings: Settings,
    flips: Mapping[str, tuple[int, ...]],
    types: Mapping[Tensor, Storage],
) -> OpEntry:
    activations, engine = settings.engines.storage_of(op) or types[op.results[0]], settings.engines.engine_of(op)
    bare = OpEntry(activations=activations, accumulator=_ACCUMULATORS[activations.dtype])
    if engine is not None:
        bare = bare.model_copy(update={"engine": engine.label})
    if op.products and activations is not Storage.FLOAT32:
        return bare.model_copy(update={"weights": Storage.INT8})
    if op.filters is None or activations is Storage.FLOAT32:
        return bare
    constant = op.filters.weights
    correction = None
    is_rounded = constant.data is not None and weights[constant.name].policy != CODED
    if settings.corrects_bias and is_rounded and isinstance(op, Weighted) and op.bias is not None:
        correction = bias_correction(op, weights[constant.name], statistics, flips.get(op.name, ()))
    stored = Storage.INT8 if constant.data is None else weights[constant.name].dtype
    chosen = {"weights": stored, "bias_correction": correction, "rounded_otherwise": flips.get(op.name, ())}
    return bare.model_copy(update=chosen)


def bias_correction(
    op: Weighted,
    entry: TensorEntry,
    statistics: Mapping[str, Statistics],
    flips: tuple[int, ...] = (),
) -> tuple[float, ...] | None:
    """What the rounding of weights takes from the mean of each output channel: (W - stored W) * E[input]."""
    found, weights = statistics.get(op.input.name), op.weights
    means = None if found is None else found.channel_means
    if means is None or weights.data is None:
        return None
    quant = quant_of(entry)
    integers = stored_weights(weights.data, quant, flips, entry.element).astype(np.float64)
    lost = weights.data.astype(np.float64) - integers * along_axis(quant, weights.data.ndim)
    result = op.sums_of_means(lost, means)
    return None if result is None else tuple(float(np.float32(value)) for value in result)
