"""Networks that end before the file's own outputs do: at tensors that the user names."""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from tinygen.errors import UsageError

_Node = TypeVar("_Node")
_Tensor = TypeVar("_Tensor", bound=Hashable)
_MOST_NAMED = 5


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


def check_ends(file: str, ends: Iterable[str], computed: Collection[str]) -> None:
    """Raise UsageError unless operators of the file compute all these tensors."""
    for end in ends:
        if end not in computed:
            close = get_close_matches(end, computed, _MOST_NAMED) or sorted(computed)[-_MOST_NAMED:]
            named = ", ".join(f"'{name}'" for name in close)
            raise UsageError(f"--stop-at: no operator of {file} computes a tensor '{end}'. Name one, such as {named}.")
