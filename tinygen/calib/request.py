"""What calibration is asked for: the options of `tinygen calibrate`, and which way of making a table they mean."""

from dataclasses import dataclass, replace
from pathlib import Path

from tinygen.calib.engines import BY_DEFAULT, Assigning
from tinygen.calib.follow import check_widths
from tinygen.calib.mixed import Mixing
from tinygen.calib.tuning import Tuning
from tinygen.errors import UsageError
from tinygen.frontends.doors import trust_option
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.option import COUNT, FILE, FLAG, TEXT, HelpPanel, nested, one_of, option, parsed
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.dataset import samples_option
from tinygen.quant.metric import Metric
from tinygen.quant.search import Search
from tinygen.targets import Board
from tinygen.targets.size import parse_size

_BY_POLICY = Settings()


def _auto(text: str) -> str:
    if text != "auto":
        raise UsageError(f"--mixed {text}: auto was expected. Choose single operators with --op.")
    return text


@dataclass(frozen=True)
class CalibrationRequest:
    """Everything that decides what stands in a table."""

    data: Path | None = option(
        None,
        FILE,
        "--data",
        metavar="FILE",
        help="Samples, .npz or .npy with an array per input (named as in the model, or in0, in1, ...); the first axis "
        "counts samples.",
    )
    target: str | None = option(None, TEXT, "-t", "--target", help="Board that the table is for (default: any).")
    samples: int = samples_option()
    settings: Settings = nested(_BY_POLICY, HelpPanel.QUANTIZATION)
    search: Search | None = option(
        None,
        one_of(Search),
        "--search",
        metavar="SEARCH",
        help="Try combinations of policies, and with --flash of widths, by the simulator: grid, greedy, anneal or tpe.",
        panel=HelpPanel.SEARCHING,
    )
    metric: Metric | None = option(
        None,
        one_of(Metric),
        "--metric",
        metavar="METRIC",
        help="What --search maximizes and --mixed keeps: sqnr, cosine or accuracy (default: sqnr for --search; for "
        "--mixed accuracy where there are labels, else cosine).",
        panel=HelpPanel.SEARCHING,
    )
    budget: int = option(
        Tuning.budget,
        COUNT,
        "--budget",
        at_least=1,
        help="How many combinations --search may try.",
        panel=HelpPanel.SEARCHING,
    )
    mixed: str | None = option(
        None,
        parsed(_auto),
        "--mixed",
        metavar="auto",
        help="Give int4 weights to the layers that lose least by it, until constants fit --flash or nothing more "
        "keeps --max-drop.",
        panel=HelpPanel.SEARCHING,
    )
    flash_bytes: int | None = option(
        None,
        parsed(parse_size),
        "--flash",
        metavar="SIZE",
        help="Bytes that constants may take, for --mixed and --search (as 20k).",
        panel=HelpPanel.SEARCHING,
    )
    assigning: Assigning = nested(BY_DEFAULT, HelpPanel.SEARCHING)
    refine: bool = option(
        False,
        FLAG,
        "--refine",
        help="Repair --ctable-in where kernels cannot do what it says; needs no samples.",
        panel=HelpPanel.REPAIRING,
    )
    ctable_in: Path | None = option(
        None,
        FILE,
        "--ctable-in",
        metavar="FILE",
        help="A table to refine, as of `tinygen ctable import`.",
        panel=HelpPanel.REPAIRING,
    )
    spelling: Spelling = nested(AS_IN_FILE, HelpPanel.READING)
    trust: bool = trust_option()

    def check(self) -> None:
        """Raise UsageError where --refine lacks its table, or has samples."""
        asks = self.refine or self.ctable_in is not None
        if asks and (not self.refine or self.ctable_in is None or self.data is not None):
            raise UsageError("--refine: takes --ctable-in and no --data, both were expected so. Correct the options.")

    def check_for(self, board: Board | None) -> None:
        """Raise UsageError where options ask for a choice that a board's engines leave no room for, or for none."""
        has_engines = board is not None and board.assigns_engines
        options = {"--search": self.search, "--mixed": self.mixed, "--flash": self.flash_bytes}
        given = ", ".join(option for option, value in options.items() if value is not None)
        if board is not None and has_engines and given:
            raise UsageError(
                f"{given}: {board.name} has engines, which operators are assigned to instead, nothing else was "
                f"expected to be chosen. Leave {given} out."
            )
        if self.metric is not None and not has_engines and self.search is None and self.mixed is None:
            raise UsageError(
                f"--metric {self.metric.value}: nothing is chosen by it, --search, --mixed or a board with engines was "
                "expected. Add one of them, or leave --metric out."
            )

    def assigning_to(self, board: Board | None) -> Assigning | None:
        """How operators are assigned to the board's engines; None where the CPU computes everything. UsageError."""
        if board is None or not board.assigns_engines:
            if self.assigning.forced:
                raise UsageError(
                    "--engine: the board says nothing of its engines' datapaths, -t with one that does was expected. "
                    "Name one, or leave --engine out."
                )
            return None
        check_widths(self.settings.widths, board)
        return replace(self.assigning, metric=self.metric)

    @property
    def mixing(self) -> Mixing | None:
        """What --mixed asks for; UsageError."""
        if self.mixed is None:
            if self.flash_bytes is not None and self.search is None:
                raise UsageError("--flash: is for --mixed auto and --search, neither is given. Add one of them.")
            return None
        widths = self.settings.widths
        options = {
            "--search": self.search is not None,
            "--weights": widths.default is not Storage.INT8,
            "--activations": widths.activations is not Storage.INT8,
        }
        others = ", ".join(option for option, is_given in options.items() if is_given)
        if others:
            raise UsageError(f"{others}: --mixed chooses by itself, it alone was expected. Leave {others} out.")
        return Mixing(self.assigning.max_drop, self.flash_bytes, self.metric)

    @property
    def tuning(self) -> Tuning | None:
        """What --search asks for; UsageError."""
        if self.search is None:
            return None
        if self.flash_bytes is not None and self.settings.widths.default is not Storage.INT8:
            raise UsageError("--weights: --search chooses them by --flash, int8 was expected. Leave one of them out.")
        return Tuning(self.search, self.metric or Tuning.metric, self.budget, self.flash_bytes)
