"""What a search for a placement may take, in counted steps: the same on every machine and for every network.

None of it decides what is better. More of each finds arenas that are as small or smaller, later.
"""

from dataclasses import dataclass
from enum import Enum


class Effort(Enum):
    """How long to search for a placement that misses its bound."""

    QUICK = "quick"  # a short walk of local search
    FAIR = "fair"  # a long one
    THOROUGH = "thorough"  # several long ones
    EXHAUSTIVE = "exhaustive"  # many long ones, for what is wanted as small as it can be


@dataclass(frozen=True)
class PlacementBudget:
    """Of one search."""

    moves: int  # of a walk
    nodes: int  # of a look whether anything smaller is there
    other_orders: int = 0  # that walks start from, beside the best one
    repeats: int = 0  # walks from any of the orders, each with other random numbers


BUDGETS = {
    Effort.QUICK: PlacementBudget(moves=300, nodes=40),
    Effort.FAIR: PlacementBudget(moves=3000, nodes=600),
    Effort.THOROUGH: PlacementBudget(moves=3000, nodes=600, other_orders=4),
    Effort.EXHAUSTIVE: PlacementBudget(moves=3000, nodes=600, repeats=24),
}
TRIAL = 3  # one of so many moves of a walk tells whether it is worth the others, beside walks from other orders
FIRST_MOVES = 40  # before it is asked whether anything smaller is there
WALK_WORK = 3_000_000  # forbidden distances that all moves of a walk look at: fewer moves where there are many
LAYOUTS_WORK = 16_000_000  # of all walks for all layouts of whole tensors: the best so far does, then
NODE_WORK = 6_000_000  # numbers that all nodes of a look go through: fewer nodes where there are many
UNITS_OF_NODE = 32  # about as many moves of one block
EXACT_TIME = 0.25  # of the exact solver, in its own deterministic time
