"""Microcontrollers that people ask for whose architecture tinygen has no code for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Architecture:
    """What the names of such parts begin with."""

    core: str
    runs_plain_c: bool  # whether portable C with 32-bit integers is of use there
    begins: tuple[str, ...]  # letters and digits, in lower case
    but: tuple[str, ...] = ()  # beginnings of others


_ARCHITECTURES = (
    Architecture("an Xtensa LX7 core", True, ("esp32s2", "esp32s3")),
    Architecture("a 64-bit RISC-V core", True, ("k210", "kendryte", "bl808", "cv1800", "jh7110")),
    Architecture("an RV32E core, which has no multiplication", False, ("ch32v003", "ch32v00")),
    Architecture("an Xtensa LX6 core", True, ("esp32",), ("esp32c", "esp32h", "esp32p")),
    Architecture("an Xtensa LX106 core", True, ("esp8266", "esp8285")),
    Architecture("an AVR core of 8 bits", False, ("atmega", "attiny", "avr", "arduinouno", "arduinonano")),
    Architecture("an 8051 core of 8 bits", False, ("stc8", "stc15", "at89", "c8051", "cc2530", "cc2540", "efm8")),
    Architecture("an STM8 core of 8 bits", False, ("stm8",)),
    Architecture("an MSP430 core of 16 bits", False, ("msp430",)),
    Architecture("a PIC core of 8 or 16 bits", False, ("pic10", "pic12", "pic16", "pic18", "pic24", "dspic")),
    Architecture("a MIPS core", True, ("pic32mx", "pic32mz", "pic32mk")),
    Architecture("an RL78 core of 16 bits", False, ("rl78", "r5f10", "r7f10")),
    Architecture("an RX core", True, ("rx6", "rx7", "rx2", "rx1", "r5f5")),
    Architecture("a C28x core", False, ("tms320", "f28")),
    Architecture("a TriCore core", True, ("tc2", "tc3", "aurix")),
    Architecture("an xCORE core", True, ("xcore", "xu3", "xu2")),
    Architecture("Cortex-A cores", True, ("bcm2", "stm32mp", "imx6", "imx7", "imx8", "imx9", "rk3", "am335", "zynq")),
    Architecture("Cortex-R cores", True, ("tms570", "rm48", "rm57", "am243", "r7f701")),
)


def architecture_of(name: str) -> Architecture | None:
    """That of the part with this name, letters and digits in lower case; None where nothing is known of it."""
    return next(
        (
            found
            for found in _ARCHITECTURES
            if name.startswith(found.begins) and not name.startswith(found.but or ("?",))
        ),
        None,
    )
