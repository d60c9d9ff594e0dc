"""The firmware's side of the protocol as a model in Python: what it answers to any bytes."""

from collections.abc import Callable
from dataclasses import dataclass, field

COMMAND_CHARACTERS = 80
INT32_MAX = 2**31 - 1
HEX = "0123456789abcdefABCDEF"


def decimal(word: str) -> int:
    """As atoi, saturated."""
    digits = word.removeprefix("-")
    length = next((i for i, character in enumerate(digits) if character not in "0123456789"), len(digits))
    value = min(int(digits[:length] or "0"), INT32_MAX)
    return -value if word.startswith("-") else value


@dataclass
class Firmware:
    """The firmware that feeder.c makes of the parser: a clock of 10 us a look, a model that counts inferences."""

    capacity: int
    announced: int = 0
    loaded: list[int] = field(default_factory=list)
    inferences: int = 0
    clock: int = 0

    def boot(self) -> list[str]:
        """What it says first."""
        return ["m-timestamp-mode-performance", self._lap(), "m-init-done", "m-ready"]

    def answers(self, stream: str) -> list[str]:
        """The lines it says to a stream of bytes; what follows the last `%` has no answer."""
        commands = stream.translate({13: None, 10: None, 0: None}).split("%")[:-1]
        return [line for command in commands for line in (*self._answer(command), "m-ready")]

    def _answer(self, command: str) -> list[str]:
        if len(command) > COMMAND_CHARACTERS:
            return [f"e-[Command longer than {COMMAND_CHARACTERS} characters]"]
        name, *words = [word for word in command.split(" ") if word] or [""]
        known: dict[str, Callable[[list[str]], list[str]]] = {
            "name": lambda _: ["m-name-dut-[tinygen]"],
            "profile": lambda _: ["m-profile-[ULPMark for tinyML Firmware V0.0.1]", "m-model-[kws01]"],
            "timestamp": lambda _: [self._lap()],
            "db": self._db,
            "infer": self._infer,
            "results": lambda _: [f"m-results-[{self.inferences}]"],
        }
        return known[name](words) if name in known else [f"e-[Unknown command: {name}]"]

    def _lap(self) -> str:
        self.clock += 10
        return f"m-lap-us-{self.clock}"

    def _db(self, words: list[str]) -> list[str]:
        match words:
            case []:
                return ["e-[Command 'db' requires a subcommand]"]
            case ["load", *rest]:
                return [self._load(rest)]
            case ["print", *_]:
                return self._print()
        return self._append(words[0])

    def _load(self, words: list[str]) -> str:
        count = decimal(words[0]) if words else 0
        self.announced, self.loaded = 0, []
        if not words:
            return "e-[Command 'db load' requires the # of bytes]"
        if count <= 0:
            return "e-[Command 'db load' must be >0 bytes]"
        if count > self.capacity:
            return f"Supplied buffer size {count} exceeds maximum of {self.capacity}"
        self.announced = count
        return f"m-[Expecting {count} bytes]"

    def _print(self) -> list[str]:
        lines = [self.loaded[start : start + 8] for start in range(0, len(self.loaded), 8)]
        return ["m-buffer-" + "-".join(f"{byte:02x}" for byte in line) for line in lines]

    def _append(self, digits: str) -> list[str]:
        if len(digits) % 2:
            return ["e-[Insufficient number of hex digits]"]
        if len(self.loaded) == self.announced:
            return [f"e-[{self.announced} of {self.announced} bytes are loaded]"]
        for start in range(0, len(digits), 2):
            pair = digits[start : start + 2]
            if any(digit not in HEX for digit in pair):
                return [f"e-[Invalid hex digit '{pair}']"]
            self.loaded.append(int(pair, 16))
            if len(self.loaded) == self.announced:
                return ["m-load-done"]
        return []

    def _infer(self, words: list[str]) -> list[str]:
        iterations = decimal(words[0]) if words else 1
        warmups = decimal(words[1]) if len(words) > 1 else 10
        if iterations <= 0:
            return ["e-[Inference iterations must be >0]"]
        if warmups < 0:
            return ["e-[Inference warmup must be >=0]"]
        self.inferences += iterations + warmups
        total = 0
        for byte in self.loaded:
            total = (total * 31 + byte) % 65521
        started = [f"m-input-{len(self.loaded)}-{total}", f"m-warmup-start-{warmups}", "m-warmup-done"]
        measured = [f"m-infer-start-{iterations}", self._lap(), self._lap(), "m-infer-done"]
        return [*started, *measured, f"m-results-[{self.inferences}]"]
