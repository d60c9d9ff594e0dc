"""Networks that end before the file's own outputs do: at tensors that the user names."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from tinygen.errors import UsageError

_Node = TypeVar("_Node")
_Tensor = TypeVar("_Tensor", bound=Hashable)
_MOST_NAMED = 5
_MOST_ENDS = 8
_LEAST_BEFORE = 4  # times as many nodes as a tail has are in a network


def needed(
    nodes: Sequence[_Node],
    ends: Iterable[_Tensor],
    reads: Callable[[_Node], Iterable[_Tensor]],
    writes: Callable[[_Node], Iterable[_Tensor]],
) -> tuple[tuple[_Node, ...], frozenset[_Tensor]]:
    """The nodes, in execution order, that `ends` are computed by, and all tensors that these read or `ends` are."""
    wanted = set(ends)
    kept: list[_Node] = []
    for node in reversed(nodes):
        if not wanted.isdisjoint(writes(node)):
            kept.append(node)
            wanted.update(reads(node))
    return tuple(reversed(kept)), frozenset(wanted)


def ends_before(
    nodes: Sequence[_Node],
    is_spoilt: Callable[[_Node], bool],
    inputs: Iterable[_Tensor],
    outputs: Collection[_Tensor],
    reads: Callable[[_Node], Iterable[_Tensor]],
    writes: Callable[[_Node], Iterable[_Tensor]],
) -> tuple[_Tensor, ...]:
    """What a network would end at without the nodes that are spoilt, and those that need them; () if that is no tail.

    It is one where most of the network stands before it, and few tensors lie between. Tensors that depend on no input
    are none of them.
    """
    lost: set[_Tensor] = set()
    found, read = set(inputs), set(outputs)
    computed: list[_Tensor] = []
    count = 0
    for node in nodes:
        if is_spoilt(node) or not lost.isdisjoint(reads(node)):
            count += 1
            lost.update(writes(node))
            read.update(reads(node))
        elif not found.isdisjoint(reads(node)):
            found.update(writes(node))
            computed.extend(writes(node))
    ends = tuple(tensor for tensor in computed if tensor in read)
    return ends if _LEAST_BEFORE * count <= len(nodes) and len(ends) <= _MOST_ENDS else ()


def check_ends(file: str, ends: Iterable[str], computed: Collection[str]) -> None:
    """Raise UsageError unless operators of the file compute all these tensors."""
    for end in ends:
        if end not in computed:
            close = get_close_matches(end, computed, _MOST_NAMED) or sorted(computed)[-_MOST_NAMED:]
            named = ", ".join(f"'{name}'" for name in close)
            raise UsageError(f"--stop-at: no operator of {file} computes a tensor '{end}'. Name one, such as {named}.")
