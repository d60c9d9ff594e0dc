"""The runner's side of the protocol: a command out, lines in until the device is ready again."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tinygen.errors import ToolError
from tinygen.mlperf.transport import Transport

CHUNK_BYTES = 31  # of a `db` command
LINE_TIMEOUT_S = 5.0
INFER_TIMEOUT_S = 30.0

_READY = "m-ready"
_RETRIES = 3
_BRACKETED = re.compile(r"^m-(name-dut|profile|model|results)-\[([^]]+)]$")
_LAP = re.compile(r"^m-lap-us-([0-9]+)$")
_CLOCK_RANGE = 1 << 32  # microseconds


@dataclass(frozen=True)
class DeviceIdentity:
    """What the firmware says of itself."""

    name: str
    profile: str
    model: str


@dataclass(frozen=True)
class Inference:
    """The answer to `infer`."""

    results: tuple[float, ...]
    elapsed_us: int  # by the device's clock, of all iterations

    @property
    def elapsed_s(self) -> float:
        """Seconds of all iterations."""
        return self.elapsed_us / 1e6


@dataclass
class Device:
    """Firmware at the other end of a transport."""

    transport: Transport
    _pending: bytearray = field(default_factory=bytearray)  # bytes of lines to come

    def command(self, text: str, timeout_s: float = LINE_TIMEOUT_S) -> list[str]:
        """The lines of the answer, without the final one; ToolError where none comes in time."""
        self.transport.write(f"{text}%".encode(), timeout_s)
        return self._answer(text, timeout_s)

    def identify(self) -> DeviceIdentity:
        """Name, profile and model; asked again where noise on the line has spoilt the question."""
        for _ in range(_RETRIES):
            found = _bracketed([*self.command("name"), *self.command("profile")])
            if {"name-dut", "profile", "model"} <= found.keys():
                return DeviceIdentity(found["name-dut"], found["profile"], found["model"])
        raise ToolError("firmware: does not answer `name` and `profile`, MLPerf Tiny firmware was expected.")

    def load(self, data: bytes) -> None:
        """Download an input."""
        pieces = (data[start : start + CHUNK_BYTES].hex() for start in range(0, len(data), CHUNK_BYTES))
        commands = [f"db load {len(data)}", *(f"db {piece}" for piece in pieces)]
        complaints = []
        for group in _groups(commands, self.transport.outstanding):
            self.transport.write("".join(f"{text}%" for text in group).encode(), LINE_TIMEOUT_S)
            for text in group:
                complaints += [line for line in self._answer(text, LINE_TIMEOUT_S) if line.startswith("e-")]
        if complaints:
            raise ToolError(f"firmware: the download of {len(data)} bytes failed: {complaints[0]}.")

    def infer(self, iterations: int, warmups: int) -> Inference:
        """Run inferences on the downloaded input."""
        lines = self.command(f"infer {iterations} {warmups}", INFER_TIMEOUT_S)
        laps = [int(match[1]) for match in map(_LAP.match, lines) if match]
        results = _bracketed(lines).get("results")
        if len(laps) < 2 or results is None:
            shown = " / ".join(lines[-3:])
            raise ToolError(f"firmware: `infer` gave no results, two timestamps and results were expected: {shown}")
        values = tuple(float(value) for value in results.split(",") if value.strip())
        return Inference(values, (laps[1] - laps[0]) % _CLOCK_RANGE)

    def _answer(self, text: str, timeout_s: float) -> list[str]:
        lines: list[str] = []
        while True:
            line = self._line(timeout_s)
            if line is None:
                raise ToolError(f"firmware: no answer to '{text}' within {timeout_s:g} s, '{_READY}' was expected.")
            if _READY in line:
                return lines
            if line:
                lines.append(line)

    def _line(self, timeout_s: float) -> str | None:
        """The next line; None where it does not come in time."""
        while b"\n" not in self._pending:
            received = self.transport.read(timeout_s)
            if not received:
                return None
            self._pending += received
        line, _, rest = self._pending.partition(b"\n")
        self._pending = rest
        return line.translate(None, b"\r\0").decode(errors="ignore")


def _bracketed(lines: Sequence[str]) -> dict[str, str]:
    return {match[1]: match[2] for match in map(_BRACKETED.match, lines) if match}


def _groups(commands: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(commands), size):
        yield commands[start : start + size]
