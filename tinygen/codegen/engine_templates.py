"""What the templates of a board print: C of an engine's layers, from values that are safe to give to strangers.

The templates run in jinja2's sandbox, see plain numbers, texts and tuples alone, and include only each other.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from types import TracebackType

import numpy as np
from jinja2 import FunctionLoader, TemplateError, TemplateNotFound, TemplateSyntaxError

from tinygen.codegen.c_text import initializer
from tinygen.codegen.sandbox import MeteredEnvironment
from tinygen.errors import UsageError
from tinygen.targets.engine_templates import HEADER, PROLOGUE, SUFFIX, EngineTemplates

_FAULTS = (
    TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,  # of Python, for over 20 nested blocks
    TypeError,
    ValueError,
)


@dataclass(frozen=True)
class CrossbarStruct:
    """Of an analog engine, as struct tg_crossbar."""

    rows: int
    adc_bits: int
    adc_shift: int
    seed: int
    noise_gain: int


@dataclass(frozen=True)
class LayerStruct:
    """Sizes and arithmetic of a layer, named as the fields of struct tg_engine_layer and of its shape."""

    batches: int
    input_height: int
    input_width: int
    input_channels: int
    output_height: int
    output_width: int
    output_channels: int
    filter_height: int
    filter_width: int
    filter_depth: int
    filters_of_group: int
    stride_height: int
    stride_width: int
    pad_top: int
    pad_left: int
    dilation_height: int
    dilation_width: int
    input_offset: int
    output_zero_point: int
    min: int
    max: int
    weight_bits: int
    accumulator_bits: int
    saturates: bool
    rounding: str  # double, single or shift
    crossbar: CrossbarStruct | None


@dataclass(frozen=True)
class Numbers:
    """A constant array."""

    symbol: str  # of the table that the model's C has of it; what nothing names, the linker leaves out
    ctype: str  # of the table's elements
    numbers: tuple[int, ...]  # of weights one each, however many of them share a byte of the table


@dataclass(frozen=True)
class Variables:
    """What a template for a layer sees, by name."""

    model: str  # the model's name in C
    engine: str
    operator: str  # conv_2d, depthwise_conv_2d or fully_connected
    name: str  # the operator's in the user's file, safe inside of a comment
    function: str  # that the template defines, with the prefix of the model
    common: str  # the same without the number of the part
    part: int  # from 0: of an operator that is split by rows, whose parts have the same constants
    ctype: str  # int8_t or int16_t: of what the function reads and writes
    layer: LayerStruct
    weights: Numbers
    bias: Numbers | None
    multiplier: Numbers
    shift: Numbers
    description: str  # C of a constant struct tg_engine_layer that is called as the function, with _layer behind


@dataclass(frozen=True)
class Printed:
    """The C of a layer."""

    variables: Variables
    text: str | None  # None: the emulation stands in

    @property
    def emulation(self) -> str:
        """The function that does the same in C."""
        return f"tg_engine_layer_{'s16' if self.variables.ctype == 'int16_t' else 's8'}"


@dataclass(frozen=True)
class PrintedEngine:
    """What the templates of an engine print for a model."""

    engine: str
    header: str
    prologue: str
    layers: tuple[Printed, ...]


def print_engine(templates: EngineTemplates, engine: str, model: str, layers: tuple[Variables, ...]) -> PrintedEngine:
    """Header, prologue and layers; UsageError, with template and line, where one of them cannot be printed."""
    environment = _environment(templates)
    shared = {"model": model, "engine": engine, "layers": [asdict(layer) for layer in layers]}
    header, prologue = (
        _rendered(templates, environment, name, shared).strip("\n") if name in templates.texts else ""
        for name in (HEADER, PROLOGUE)
    )
    printed = tuple(_printed(templates, environment, variables) for variables in layers)
    return PrintedEngine(engine, header, prologue, printed)


def _printed(templates: EngineTemplates, environment: MeteredEnvironment, variables: Variables) -> Printed:
    name = f"{variables.operator}{SUFFIX}"
    text = _rendered(templates, environment, name, asdict(variables)).strip("\n")
    if not text.strip():
        return Printed(variables, None)
    if not re.search(rf"\b{variables.function}\s*\(", text):
        raise UsageError(
            f"{templates.folder}/{name}: prints no function '{variables.function}' for operator '{variables.name}', a "
            "definition of it was expected, or nothing. Begin it with int {{ function }}(...)."
        )
    return Printed(variables, text)


def _environment(templates: EngineTemplates) -> MeteredEnvironment:
    environment = MeteredEnvironment(FunctionLoader(_source(templates.texts)))
    environment.filters["c_array"] = environment.metered("c_array", _c_array)
    return environment


def _source(texts: Mapping[str, str]) -> Callable[[str], tuple[str, str, Callable[[], bool]] | None]:
    """Templates by name; as file names, so that tracebacks have them."""
    return lambda name: (texts[name], name, lambda: True) if name in texts else None


def _c_array(numbers: Iterable[int]) -> str:
    """Whole numbers, wrapped into lines of an initializer."""
    listed = list(numbers)
    if not all(isinstance(number, int) for number in listed):
        raise TypeError("c_array takes whole numbers")
    is_wide = any(abs(number) >= 1 << 31 for number in listed)
    return initializer(np.array(listed, np.int64 if is_wide else np.int32))


def _rendered(
    templates: EngineTemplates, environment: MeteredEnvironment, name: str, variables: Mapping[str, object]
) -> str:
    try:
        return environment.get_template(name).render(variables)
    except TemplateSyntaxError as error:
        raise _fault(templates, error.name or name, error.lineno, error.message or "is no template") from None
    except _FAULTS as error:
        where, line = _place(error.__traceback__, templates, name)
        said = f"there is no template '{error.name}'" if isinstance(error, TemplateNotFound) else str(error)
        raise _fault(templates, where, line, said or type(error).__name__) from None


def _place(traceback: TracebackType | None, templates: EngineTemplates, name: str) -> tuple[str, int | None]:
    """The innermost line of a template."""
    found: tuple[str, int | None] = (name, None)
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if file in templates.texts:
            found = (file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


def _fault(templates: EngineTemplates, name: str, line: int | None, said: str) -> UsageError:
    where = f"{templates.folder}/{name}" + ("" if line is None else f", line {line}")
    return UsageError(f"{where}: {said.rstrip('.')}, what docs/engines.md lists was expected. Correct the template.")
