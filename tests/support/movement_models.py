"""One model with many random operators that only move elements, for one run of everything that can execute it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import tflite

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array

Rng = np.random.Generator
SCALE, ZERO_POINT = 0.05, 3
TYPES = ("int8", "int8", "int32")


@dataclass
class MovementModel:
    """Operators side by side, each with inputs and outputs of its own."""

    rng: Rng
    writer: ModelWriter = field(default_factory=ModelWriter)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)

    def input(self, shape: Sequence[int], type: str) -> int:
        """A model input with random values."""
        index = self._tensor(f"in{len(self.inputs)}", shape, type)
        self.inputs.append(index)
        self.values.append(self.rng.integers(-128, 128, shape).astype(type))
        return index

    def indices(self, shape: Sequence[int], below: int) -> int:
        """A model input with random indices."""
        index = self.input(shape, "int32")
        self.values[-1] = self.rng.integers(0, below, shape, np.int32)
        return index

    def output(self, shape: Sequence[int], type: str) -> int:
        """A model output."""
        index = self._tensor(f"out{len(self.outputs)}", shape, type)
        self.outputs.append(index)
        return index

    def constant(self, data: Sequence[int] | Sequence[Sequence[int]] | int, type: str = "int32") -> int:
        """A constant."""
        array = np.asarray(data)
        return self._tensor(f"constant{self.rng.integers(1 << 40)}", array.shape, type, array)

    def finish(self) -> bytes:
        """The model file."""
        return self.writer.finish(self.inputs, self.outputs)

    def _tensor(self, name: str, shape: Sequence[int], type: str, data: Array | None = None) -> int:
        quantization = {"scale": SCALE, "zero_point": ZERO_POINT} if type == "int8" else {}
        return self.writer.tensor(name, shape, type, data=data, **quantization)  # type: ignore[arg-type]


def _shape(model: MovementModel, ranks: tuple[int, int] = (1, 5), sizes: tuple[int, int] = (1, 5)) -> tuple[int, ...]:
    rank = int(model.rng.integers(ranks[0], ranks[1] + 1))
    return tuple(int(size) for size in model.rng.integers(*sizes, rank))


def _type(model: MovementModel) -> str:
    return str(model.rng.choice(TYPES))


def _axis(model: MovementModel, rank: int) -> tuple[int, int]:
    """An axis, and how it is written: from the start or from the end."""
    axis = int(model.rng.integers(rank))
    return axis, axis - rank if model.rng.random() < 0.5 else axis


def reshape(model: MovementModel) -> None:
    """RESHAPE with one size left open, SQUEEZE or EXPAND_DIMS."""
    shape, kind = _shape(model), _type(model)
    match int(model.rng.integers(3)):
        case 0:
            flat, wide = (int(np.prod(shape)), 1), [-1, 1]
            model.writer.operator(
                "RESHAPE", [model.input(shape, kind), model.constant(wide)], [model.output(flat, kind)]
            )
        case 1:
            x = model.input((1, *shape), kind)
            model.writer.operator("SQUEEZE", [x], [model.output(shape, kind)], squeeze_dims=[0])
        case _:
            x = model.input(shape, kind)
            model.writer.operator("EXPAND_DIMS", [x, model.constant(-1)], [model.output((*shape, 1), kind)])


def transpose(model: MovementModel) -> None:
    """TRANSPOSE."""
    shape, kind = _shape(model), _type(model)
    permutation = model.rng.permutation(len(shape)).tolist()
    x, y = model.input(shape, kind), model.output([shape[axis] for axis in permutation], kind)
    model.writer.operator("TRANSPOSE", [x, model.constant(permutation)], [y])


def pad(model: MovementModel) -> None:
    """PAD, or PADV2 with a value."""
    shape, kind = _shape(model, (1, 4)), _type(model)
    widths = model.rng.integers(0, 3, (len(shape), 2)) * model.rng.integers(0, 2, (len(shape), 1))
    x = model.input(shape, kind)
    y = model.output([size + int(sum(width)) for size, width in zip(shape, widths, strict=True)], kind)
    if kind == "int8" and model.rng.random() < 0.5:
        value = model.constant([int(model.rng.integers(-128, 128))], "int8")
        model.writer.operator("PADV2", [x, model.constant(widths.tolist()), value], [y])
    else:
        model.writer.operator("PAD", [x, model.constant(widths.tolist())], [y])


def mirror_pad(model: MovementModel) -> None:
    """MIRROR_PAD, up to the whole input."""
    shape, kind = _shape(model, (1, 4)), _type(model)
    mode = int(model.rng.choice([tflite.MirrorPadMode.REFLECT, tflite.MirrorPadMode.SYMMETRIC]))
    edge = 1 if mode == tflite.MirrorPadMode.REFLECT else 0
    widths = [[int(model.rng.integers(0, size - edge + 1)) for _ in range(2)] for size in shape]
    x = model.input(shape, kind)
    y = model.output([size + sum(width) for size, width in zip(shape, widths, strict=True)], kind)
    model.writer.operator("MIRROR_PAD", [x, model.constant(widths)], [y], mode=mode)


def concatenation(model: MovementModel) -> None:
    """CONCATENATION of inputs and a constant, one of them perhaps twice."""
    shape, kind = list(_shape(model)), _type(model)
    axis, written = _axis(model, len(shape))
    parts, total = [], 0
    for _ in range(int(model.rng.integers(1, 4))):
        shape[axis] = int(model.rng.integers(1, 4))
        parts.append(model.input(shape, kind))
        total += shape[axis]
    if model.rng.random() < 0.4:
        parts.append(parts[-1])
        total += shape[axis]
    if model.rng.random() < 0.4:
        parts.insert(0, model.constant(model.rng.integers(-128, 128, shape).tolist(), kind))
        total += shape[axis]
    shape[axis] = total
    model.writer.operator("CONCATENATION", parts, [model.output(shape, kind)], axis=written)


def pack(model: MovementModel) -> None:
    """PACK."""
    shape, kind, count = _shape(model, (0, 4)), _type(model), int(model.rng.integers(1, 4))
    axis, written = _axis(model, len(shape) + 1)
    parts = [model.input(shape, kind) for _ in range(count)]
    y = model.output((*shape[:axis], count, *shape[axis:]), kind)
    model.writer.operator("PACK", parts, [y], values_count=count, axis=written)


def unpack(model: MovementModel) -> None:
    """UNPACK."""
    shape, kind = _shape(model), _type(model)
    axis, written = _axis(model, len(shape))
    parts = [model.output((*shape[:axis], *shape[axis + 1 :]), kind) for _ in range(shape[axis])]
    model.writer.operator("UNPACK", [model.input(shape, kind)], parts, num=shape[axis], axis=written)


def split(model: MovementModel) -> None:
    """SPLIT into equal parts."""
    shape, kind, count = list(_shape(model)), _type(model), int(model.rng.integers(1, 4))
    axis, written = _axis(model, len(shape))
    parts = [model.output(shape, kind) for _ in range(count)]
    shape[axis] *= count
    model.writer.operator("SPLIT", [model.constant(written), model.input(shape, kind)], parts, num_splits=count)


def split_v(model: MovementModel) -> None:
    """SPLIT_V into parts of any size."""
    shape, kind = list(_shape(model)), _type(model)
    axis, written = _axis(model, len(shape))
    sizes = model.rng.integers(1, 4, 3).tolist()
    parts = [model.output([*shape[:axis], size, *shape[axis + 1 :]], kind) for size in sizes]
    shape[axis] = sum(sizes)
    operands = [model.input(shape, kind), model.constant(sizes), model.constant(written)]
    model.writer.operator("SPLIT_V", operands, parts, num_splits=3)


def slice_(model: MovementModel) -> None:
    """SLICE, -1 standing for the rest now and then."""
    shape, kind = _shape(model), _type(model)
    begin = [int(model.rng.integers(size)) for size in shape]
    sizes = [int(model.rng.integers(1, size - at + 1)) for size, at in zip(shape, begin, strict=True)]
    asked = [-1 if size == whole - at else size for size, whole, at in zip(sizes, shape, begin, strict=True)]
    operands = [model.input(shape, kind), model.constant(begin), model.constant(asked)]
    model.writer.operator("SLICE", operands, [model.output(sizes, kind)])


def strided_slice(model: MovementModel) -> None:
    """STRIDED_SLICE with any masks; numpy knows the output's shape."""
    shape, kind = _shape(model, (1, 4)), _type(model)
    while True:
        positions, masks, index = _positions(model.rng, shape)
        taken = np.zeros(shape)[index]
        if taken.size:
            break
    operands = [model.input(shape, kind), *(model.constant([at[n] for at in positions]) for n in range(3))]
    model.writer.operator(
        "STRIDED_SLICE",
        operands,
        [model.output(taken.shape, kind)],
        begin_mask=masks["begin_mask"],
        end_mask=masks["end_mask"],
        ellipsis_mask=masks["ellipsis_mask"],
        new_axis_mask=masks["new_axis_mask"],
        shrink_axis_mask=masks["shrink_axis_mask"],
    )


Index = tuple[slice | int | None, ...]


def _positions(rng: Rng, shape: tuple[int, ...]) -> tuple[list[tuple[int, int, int]], dict[str, int], Index]:
    """Begin, end and stride of each position with the masks, and the same as an index of numpy's."""
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
    used = int(rng.integers(1, len(shape) + 1))
    ellipsis = int(rng.integers(used)) if rng.random() < 0.3 else None
    positions: list[tuple[int, int, int]] = []
    index: list[slice | int | None] = []

    def mark(mask: str, number: tuple[int, int, int], *picked: slice | int | None) -> None:
        masks[mask] |= 1 << len(positions)
        positions.append(number)
        index.extend(picked)

    for at in range(used):
        axis = at if ellipsis is None or at <= ellipsis else len(shape) - used + at
        size = shape[axis]
        if at == ellipsis:
            mark("ellipsis_mask", (0, 0, 1), *[slice(None)] * (len(shape) - used + 1))
        elif rng.random() < 0.2:
            picked = int(rng.integers(-size, size))
            mark("shrink_axis_mask", (picked, picked + 1, 1), picked)
        else:
            index.append(_cut(rng, size, masks, positions))
        if rng.random() < 0.1 and len(positions) < 5:
            mark("new_axis_mask", (0, 0, 1), None)
    return positions, masks, tuple(index)


def _cut(rng: Rng, size: int, masks: dict[str, int], positions: list[tuple[int, int, int]]) -> slice:
    begin, end = (int(number) for number in rng.integers(-size - 1, size + 2, 2))
    stride = int(rng.choice([1, 1, 2, -1, -2]))
    bit = 1 << len(positions)
    positions.append((begin, end, stride))
    begins, ends = rng.random(2) < 0.3
    masks["begin_mask"] |= bit if begins else 0
    masks["end_mask"] |= bit if ends else 0
    return slice(None if begins else begin, None if ends else end, stride)


def gather(model: MovementModel) -> None:
    """GATHER with constant or run-time indices, in batches or not."""
    shape, kind = _shape(model, (1, 4)), _type(model)
    axis, written = _axis(model, len(shape))
    batch_dims = int(model.rng.integers(0, axis + 1))
    chosen = (*shape[:batch_dims], *_shape(model, (0, 2)))
    x = model.input(shape, kind)
    if model.rng.random() < 0.5:
        indices = model.constant(model.rng.integers(0, shape[axis], chosen).tolist())
    else:
        indices = model.indices(chosen, shape[axis])
    y = model.output((*shape[:axis], *chosen[batch_dims:], *shape[axis + 1 :]), kind)
    model.writer.operator("GATHER", [x, indices], [y], axis=written, batch_dims=batch_dims)


def depth_to_space(model: MovementModel) -> None:
    """DEPTH_TO_SPACE."""
    (n, h, w, c), block = _shape(model, (4, 4)), int(model.rng.integers(1, 4))
    x = model.input((n, h, w, c * block * block), "int8")
    y = model.output((n, h * block, w * block, c), "int8")
    model.writer.operator("DEPTH_TO_SPACE", [x], [y], block_size=block)


def space_to_depth(model: MovementModel) -> None:
    """SPACE_TO_DEPTH."""
    (n, h, w, c), block = _shape(model, (4, 4)), int(model.rng.integers(1, 4))
    x = model.input((n, h * block, w * block, c), "int8")
    y = model.output((n, h, w, c * block * block), "int8")
    model.writer.operator("SPACE_TO_DEPTH", [x], [y], block_size=block)


def tile(model: MovementModel) -> None:
    """TILE along any axes."""
    shape = _shape(model, (1, 4))
    multiples = model.rng.integers(1, 4, len(shape)).tolist()
    x = model.input(shape, "int8")
    y = model.output(np.multiply(shape, multiples).tolist(), "int8")
    model.writer.operator("TILE", [x, model.constant(multiples)], [y])


def broadcast_to(model: MovementModel) -> None:
    """BROADCAST_TO of axes of size 1, and of new ones."""
    shape = _shape(model, (1, 4))
    own = [1 if model.rng.random() < 0.5 else size for size in shape][int(model.rng.integers(0, 2)) :] or [1]
    x = model.input(own, "int8")
    y = model.output(shape, "int8")
    model.writer.operator("BROADCAST_TO", [x, model.constant(list(shape))], [y])


def reverse(model: MovementModel) -> None:
    """REVERSE_V2 along one axis."""
    shape, kind = _shape(model, (1, 4)), _type(model)
    axis, _ = _axis(model, len(shape))
    x, y = model.input(shape, kind), model.output(shape, kind)
    model.writer.operator("REVERSE_V2", [x, model.constant([axis])], [y])


def gather_nd(model: MovementModel) -> None:
    """GATHER_ND with constant indices."""
    shape, kind = _shape(model, (2, 4)), _type(model)
    depth, chosen = int(model.rng.integers(1, len(shape) + 1)), _shape(model, (1, 2))
    indices = np.stack([model.rng.integers(0, size, chosen) for size in shape[:depth]], axis=-1)
    x = model.input(shape, kind)
    y = model.output((*chosen, *shape[depth:]), kind)
    model.writer.operator("GATHER_ND", [x, model.constant(indices.tolist())], [y])


def embedding_lookup(model: MovementModel) -> None:
    """EMBEDDING_LOOKUP of int8."""
    rows, width = int(model.rng.integers(1, 9)), int(model.rng.integers(1, 9))
    table = model.constant(model.rng.integers(-128, 128, (rows, width)).tolist(), "int8")
    chosen = int(model.rng.integers(1, 5))
    indices = model.indices((chosen,), rows)
    y = model.output((chosen, width), "int8")
    model.writer.operator("EMBEDDING_LOOKUP", [indices, table], [y])


def space_to_batch(model: MovementModel) -> None:
    """SPACE_TO_BATCH_ND of images and of rows."""
    shape, block, edges = _blocks(model)
    padded = [size * step for size, step in zip(shape[1:], block, strict=False)]
    own = [size - sum(edge) for size, edge in zip(padded, edges, strict=True)]
    x = model.input((shape[0], *own, shape[-1]), "int8")
    y = model.output((shape[0] * int(np.prod(block)), *shape[1:]), "int8")
    model.writer.operator("SPACE_TO_BATCH_ND", [x, model.constant(block), model.constant(edges)], [y])


def batch_to_space(model: MovementModel) -> None:
    """BATCH_TO_SPACE_ND of images and of rows."""
    shape, block, edges = _blocks(model)
    whole = [size * step for size, step in zip(shape[1:], block, strict=False)]
    own = [size - sum(edge) for size, edge in zip(whole, edges, strict=True)]
    x = model.input((shape[0] * int(np.prod(block)), *shape[1:]), "int8")
    y = model.output((shape[0], *own, shape[-1]), "int8")
    model.writer.operator("BATCH_TO_SPACE_ND", [x, model.constant(block), model.constant(edges)], [y])


def _blocks(model: MovementModel) -> tuple[tuple[int, ...], list[int], list[list[int]]]:
    """A shape in blocks, the block, and edges that leave something of each axis."""
    shape = _shape(model, (3, 4), (2, 5))
    block = model.rng.integers(1, 4, len(shape) - 2).tolist()
    return (
        shape,
        block,
        [
            model.rng.integers(0, 2, 2).tolist() if size * step > 2 else [0, 0]
            for size, step in zip(shape[1:], block, strict=False)
        ],
    )


OPERATORS: dict[str, Callable[[MovementModel], None]] = {
    "batch to space": batch_to_space,
    "broadcast to": broadcast_to,
    "concatenation": concatenation,
    "depth to space": depth_to_space,
    "embedding lookup": embedding_lookup,
    "gather": gather,
    "gather nd": gather_nd,
    "mirror pad": mirror_pad,
    "pack": pack,
    "pad": pad,
    "reshape": reshape,
    "reverse": reverse,
    "slice": slice_,
    "space to batch": space_to_batch,
    "space to depth": space_to_depth,
    "split": split,
    "split v": split_v,
    "strided slice": strided_slice,
    "tile": tile,
    "transpose": transpose,
    "unpack": unpack,
}


def random_model(names: Sequence[str], seed: int, each: int) -> MovementModel:
    """`each` random operators of every kind."""
    model = MovementModel(np.random.default_rng(seed))
    for name in names:
        for _ in range(each):
            OPERATORS[name](model)
    return model
