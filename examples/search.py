"""Optuna drives a sweep: the keyword network with the most MACs that keeps within RAM and instructions of a board.

    pip install 'tinygen[sweep,tpe]'
    python -m examples.search --target mps2-an386 --ram 16000 --instructions 5000000 --trials 30

MACs stand for what a network may learn; who trains candidates puts their accuracy in that place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import optuna
import typer

import tinygen
from examples.families import Member, network

_SEED = 0


class Search:
    """The `suggest` of a sweep: one trial for each candidate."""

    def __init__(self, trials: int, ram: int, instructions: int) -> None:
        self.limits = {"arena_bytes": ram, "estimated_instructions": instructions}
        sampler = optuna.samplers.TPESampler(seed=_SEED, constant_liar=True)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        self._left = trials
        self._asked: dict[str, Any] = {}  # trials by the name of their candidate
        self._told = 0

    def __call__(self, history: Sequence[Mapping[str, Any]]) -> Iterator[tinygen.Suggestion]:
        """The next candidate, once Optuna knows what the others took."""
        for row in history[self._told :]:
            self._tell(row)
        self._told = len(history)
        if self._left > 0:
            self._left -= 1
            trial = self.study.ask()
            member = Member(
                "keyword",
                width=trial.suggest_int("width", 8, 96, step=4),
                depth=trial.suggest_int("depth", 1, 6),
                resolution=trial.suggest_int("resolution", 25, 98),
            )
            name = f"{trial.number}_{member.name}"
            self._asked[name] = trial
            yield tinygen.Suggestion(name, network(member))

    def _tell(self, row: Mapping[str, Any]) -> None:
        trial = self._asked.pop(row["model"])
        if row["error_code"]:
            self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
            return
        for name, most in self.limits.items():
            trial.set_constraint(name, row[name] / most - 1)  # above 0: exceeded
        self.study.tell(trial, row["macs"])


def main(
    target: Annotated[str, typer.Option(help="Board.")] = "mps2-an386",
    ram: Annotated[int, typer.Option(help="Bytes of arena.")] = 16_000,
    instructions: Annotated[int, typer.Option(help="Estimated instructions of a call.")] = 5_000_000,
    trials: Annotated[int, typer.Option(help="Networks to try.")] = 30,
    workers: Annotated[int | None, typer.Option(help="Processes (default: this machine's cores).")] = None,
) -> None:
    """Search, and show the best network."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    search = Search(trials, ram, instructions)
    rows = tinygen.sweep([], target, suggest=search, workers=workers, optimize="time")
    within = [
        row for row in rows if not row["error_code"] and all(row[name] <= most for name, most in search.limits.items())
    ]
    print(f"{len(rows)} networks, {len(within)} within the limits")
    if within:
        best = max(within, key=lambda row: row["macs"])
        print(f"best: {best['model']}: {best['macs']:,} MACs, {best['arena_bytes']:,} bytes")


if __name__ == "__main__":
    typer.run(main)
