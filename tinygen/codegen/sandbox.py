"""A sandbox of jinja that counts work: templates of strangers end in an error, not without time or memory.

A step is an operation, a node in the body of a loop, a macro or a template each time that this runs, an element of a
list or 16 letters that are made, four elements that are looked at; a call is eight. What multiplies sizes is looked at
before it is made. Filters and methods are those listed here; nothing is computed while a template is compiled, where
nobody counts.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import chain
from math import prod
from typing import Any, Final

from jinja2 import StrictUndefined, TemplateRuntimeError, Undefined, nodes, pass_context
from jinja2.compiler import CodeGenerator
from jinja2.exceptions import SecurityError
from jinja2.runtime import BlockReference, Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Cycler, Joiner
from jinja2.visitor import NodeTransformer

from tinygen.budget import TEMPLATE_STEPS, TEMPLATE_VALUE

_CALL = 8  # steps, beside those of what is called
_TEMPLATE = 256  # steps, to include or import one
_LETTERS = 16  # that are made in a step
_LOOKED_AT = 4  # elements in a step
_MOST_BITS = 4096  # of a whole number
_MOST_DEPTH = 100  # of lists in lists
_MOST_DIGITS = 4  # of a width in a format

_LINEAR: Final = (  # filters whose result is no larger than what they take
    "abs attr capitalize count d default first float int items last length list lower map reject rejectattr reverse "
    "round select selectattr title trim truncate upper"
)
_DEEP: Final = "dictsort groupby max min sort string sum unique"  # which compare, hash or print elements
_SUMS: Final = "batch center slice"  # whose numbers add to the result
_PRODUCTS: Final = "indent join replace wordwrap"  # whose sizes multiply
_METHODS: Final[Mapping[type, str]] = {
    str: "capitalize casefold count endswith find format format_map index isalnum isalpha isascii isdecimal isdigit "
    "isidentifier islower isnumeric isspace istitle isupper lower lstrip partition removeprefix removesuffix rfind "
    "rindex rpartition rsplit rstrip split splitlines startswith strip swapcase title upper center ljust rjust zfill "
    "join replace",
    int: "bit_count bit_length",
    float: "hex is_integer",
    list: "copy count index",
    tuple: "count index",
    range: "count index",
    dict: "copy get items keys values",
    LoopContext: "cycle changed",
    Cycler: "next reset",
}
_WIDENING: Final = ("center", "ljust", "rjust", "zfill")
_CALLED: Final = (Macro, LoopContext, BlockReference, Joiner, Undefined)
_PERCENT = re.compile(r"%(?:\([^()%]*\)|(?P<odd>\())?[-#0 +]*(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+))?")


class SpentError(TemplateRuntimeError):
    """A template asks for more than its budget."""


class MeteredEnvironment(ImmutableSandboxedEnvironment):
    """Templates that share one budget of steps."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(self, loader: Any) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=_printed,
            optimized=False,
        )
        self.code_generator_class = _Generator
        self._spent = 0
        named = {name: self.globals[name] for name in ("cycler", "dict", "joiner", "namespace", "range")}
        self.globals = named
        own = (self.charge, self.counted, self.joined, self.weighed)
        self._functions = frozenset(map(id, named.values())), frozenset(function.__name__ for function in own)
        filters: dict[str, Any] = dict(self.filters)
        names = " ".join((_LINEAR, _DEEP, _SUMS, _PRODUCTS)).split()
        self.filters = {name: self.metered(name, filters[name]) for name in names}
        self.filters["format"] = _formatted
        tests: dict[str, Any] = dict(self.tests)
        self.tests = {name: self.metered("sort", test) for name, test in tests.items()}

    def charge(self, steps: int) -> None:
        """Count steps; SpentError once there are too many."""
        self._spent += steps
        if self._spent > TEMPLATE_STEPS.most:
            raise SpentError(f"takes over {TEMPLATE_STEPS.most:,} {TEMPLATE_STEPS.of}")

    def made(self, value: object) -> Any:
        """A new value, paid for."""
        if isinstance(value, int):
            self._check_bits(value.bit_length())
        self.charge(1 + (len(value) // _LETTERS if isinstance(value, str) else _elements(value)))
        return value

    def counted(self, values: Iterable[object]) -> Iterator[object]:
        """What a loop runs over, one by one."""
        for value in values:
            self.charge(1)
            yield value

    def joined(self, *values: object) -> str:
        """The operator `~`."""
        return self.concat(map(self.text, values))

    def concat(self, texts: Iterable[str]) -> str:
        """What a template, a macro or a block prints."""
        found, letters = [], 0
        for text in texts:
            letters += len(text)
            self.charge(1 + len(text) // _LETTERS)
            _check_size(letters)
            found.append(text)
        return "".join(found)

    def weighed(self, value: object) -> object:
        """A value that is compared or hashed: all that is in it is paid for."""
        self._walk(value)
        return value

    def text(self, value: object) -> str:
        """How a value is printed; TypeError for what has no text that is the same every time."""
        if isinstance(value, str):
            return value
        if not isinstance(value, (int, float, list, tuple, dict, range, Undefined, type(None))):
            raise TypeError(f"a {type(value).__name__} cannot be printed")
        _check_size(self._walk(value, is_printed=True))
        return str(value)

    def metered(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter or a test that pays for what it takes and makes."""

        @wraps(function)
        def paid(*arguments: Any, **named: Any) -> Any:
            values = (*arguments, *named.values())
            self.charge(_CALL + sum(map(_looked_at, values)))
            if name in _DEEP.split() or name == "join":
                for value in values:
                    self._walk(value)
            if name == "sum" and isinstance(named.get("start", (*values, 0, 0)[3]), (str, list, tuple)):
                raise TypeError("sum adds numbers")
            if name in _SUMS.split():
                _check_size(sum(map(_size, values)))
            if name in _PRODUCTS.split():
                _check_size(prod(max(1, _size(value)) for value in values))
            return self.made(function(*arguments, **named))

        return paid

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """An operation, its result looked at before it is made."""
        if isinstance(left, str) and operator == "%":
            return _formatted(context, left, *(right if isinstance(right, tuple) else (right,)))
        sizes = _size(left), _size(right)
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length(), right.bit_length()
            self._check_bits({"*": sum(bits), "**": bits[0] * right}.get(operator, max(bits)))
        elif operator == "*":
            _check_size(prod(sizes))
        elif operator == "+" and not isinstance(left, float) and not isinstance(right, float):
            _check_size(sum(sizes))
        return self.made(super().call_binop(context, operator, left, right))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """A call of what is listed; jinja's own signature, whose names leave all others to arguments."""
        name = getattr(__obj, "__name__", "")
        owner = getattr(__obj, "__self__", None)
        if owner is __self and name in __self._functions[1]:
            return __obj(*args)  # without the variables of loops and blocks that jinja may add
        if not __self.is_safe_callable(__obj):
            raise SecurityError(f"{name or type(__obj).__name__} is nothing that templates may call")
        values = (*args, *kwargs.values())
        __self.charge(_CALL + sum(map(_looked_at, (owner, *values))))
        if isinstance(owner, (dict, LoopContext, list, tuple)):
            for value in (*values, *(owner if name in ("count", "index") else ())):
                __self._walk(value)
        if isinstance(owner, str) and name in _WIDENING:
            _check_size(sum(map(_size, values)))
        if isinstance(owner, str) and name in ("join", "replace"):
            _check_size(prod(max(1, _size(value)) for value in (owner, *values)))
        return __self.made(super().call(__context, __obj, *args, **kwargs))

    def is_safe_callable(self, obj: Any) -> bool:
        """Macros, functions and methods that are listed."""
        if isinstance(obj, _CALLED) or id(obj) in self._functions[0]:
            return True
        return getattr(obj, "__name__", "") in _METHODS.get(type(getattr(obj, "__self__", None)), "").split()

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """str.format and str.format_map, with widths that are looked at."""
        if not isinstance(getattr(value, "__self__", None), str) or value.__name__ not in ("format", "format_map"):
            return None
        return _Format(self, value.__self__, value.__name__ == "format_map")

    def getitem(self, obj: Any, argument: Any) -> Any:
        """An element."""
        self._walk(argument)
        return super().getitem(obj, argument)

    def _check_bits(self, bits: int) -> None:
        if bits > _MOST_BITS:
            raise SpentError(f"makes a number of over {_MOST_BITS} bits")

    def _walk(self, value: object, is_printed: bool = False) -> int:
        """Pay for all that is in a value; about how many letters it takes when printed."""
        letters, pending = 0, [(value, 0)]
        while pending:
            one, depth = pending.pop()
            if depth > _MOST_DEPTH:
                raise SpentError(f"has lists in lists, over {_MOST_DEPTH} deep")
            if isinstance(one, str):
                self.charge(len(one) // _LETTERS)
                letters += 2 * len(one)
            elif isinstance(one, int):
                letters += one.bit_length() // 3 + 3
            elif isinstance(one, (list, tuple, dict)):
                self.charge(_CALL + len(one))
                inner = chain.from_iterable(one.items()) if isinstance(one, dict) else one
                pending += [(value, depth + 1) for value in inner]
            elif is_printed and not isinstance(one, (float, range, Undefined, type(None))):
                raise TypeError(f"a {type(one).__name__} cannot be printed")
            else:
                letters += 30
        return letters


class _Format:
    """The method format of a text."""

    def __init__(self, environment: MeteredEnvironment, text: str, takes_mapping: bool) -> None:
        self._formatter, self._text, self._takes_mapping = _Formatter(environment), text, takes_mapping
        self.__self__ = text
        self.__name__ = "format"

    def __call__(self, *arguments: Any, **named: Any) -> str:
        if self._takes_mapping:
            (mapping,) = arguments
            return self._formatter.vformat(self._text, (), mapping)
        return self._formatter.vformat(self._text, arguments, named)


class _Formatter(SandboxedFormatter):
    """Formats plain values, in widths of up to four digits."""

    _env: MeteredEnvironment

    def format_field(self, value: Any, format_spec: str) -> str:
        if any(len(digits) > _MOST_DIGITS for digits in re.findall(r"\d+", format_spec)):
            raise SpentError(f"has a format with a width of over {_MOST_DIGITS} digits")
        plain = value if isinstance(value, (int, float)) else self._env.text(value)
        found: str = self._env.made(super().format_field(plain, format_spec))
        return found

    def convert_field(self, value: Any, conversion: Any) -> Any:
        if conversion is not None:
            self._env.text(value)
        return super().convert_field(value, conversion)


@pass_context
def _printed(context: Context, value: object) -> str:
    environment = context.environment
    assert isinstance(environment, MeteredEnvironment)
    return environment.text(value)


@pass_context
def _formatted(context: Context, text: str, *values: object, **named: object) -> str:
    """The filter format, and the operator % on texts."""
    environment = context.environment
    assert isinstance(environment, MeteredEnvironment)
    letters = len(text) + sum(map(environment._walk, (*values, *named.values())))
    for found in _PERCENT.finditer(text):
        widths = [found[name] for name in ("width", "precision") if found[name]]
        if found["odd"] or any(width == "*" or len(width) > _MOST_DIGITS for width in widths):
            raise SpentError(f"has a format with a width that is no number of up to {_MOST_DIGITS} digits")
        letters += sum(map(int, widths))
    _check_size(letters)
    if len(values) == 1 and isinstance(values[0], dict):
        named, values = values[0], ()
    printed: str = environment.made(text % (named or tuple(values)))
    return printed


class _Generator(CodeGenerator):
    """Compiles templates that count."""

    def visit_Template(self, node: nodes.Template, frame: Any = None) -> None:  # noqa: N802 - jinja's names
        _Counting().visit(node)
        super().visit_Template(node, frame)


class _Counting(NodeTransformer):
    """Lets bodies, loops, comparisons and `~` count."""

    def visit_Template(self, node: nodes.Template) -> nodes.Node:  # noqa: N802
        return self._counted(node, _TEMPLATE)

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:  # noqa: N802
        return self._counted(node)

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:  # noqa: N802
        return self._counted(node)

    def visit_Block(self, node: nodes.Block) -> nodes.Node:  # noqa: N802
        return self._counted(node)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        self._counted(node)
        node.iter = _call("counted", [node.iter])
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _call("joined", node.nodes)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.expr = _call("weighed", [node.expr])
        for operand in node.ops:
            operand.expr = _call("weighed", [operand.expr])
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        node.key = _call("weighed", [node.key])
        return node

    def _counted(self, node: Any, more: int = 0) -> nodes.Node:
        steps = more + sum(map(_weight, node.find_all(nodes.Node)))
        self.generic_visit(node)
        node.body.insert(0, nodes.ExprStmt(_call("charge", [nodes.Const(steps)]), lineno=node.lineno))
        found: nodes.Node = node
        return found


def _call(method: str, arguments: list[Any]) -> nodes.Call:
    line = arguments[0].lineno if arguments else 1
    return nodes.Call(nodes.EnvironmentAttribute(method), arguments, [], None, None, lineno=line)


def _weight(node: nodes.Node) -> int:
    text = node.data if isinstance(node, nodes.TemplateData) else getattr(node, "value", None)
    return 1 + (len(text) // _LETTERS if isinstance(text, str) else 0)


def _elements(value: object) -> int:
    return len(value) if isinstance(value, (list, tuple, dict, range)) else 0


def _looked_at(value: object) -> int:
    return len(value) // _LETTERS if isinstance(value, str) else _elements(value) // _LOOKED_AT


def _size(value: object) -> int:
    """Letters, elements, or a number itself."""
    if isinstance(value, int):
        return max(value, 0)
    return len(value) if isinstance(value, (str, Sequence, dict)) else 0


def _check_size(size: int) -> None:
    if size > TEMPLATE_VALUE.most:
        raise SpentError(f"makes over {TEMPLATE_VALUE.most:,} {TEMPLATE_VALUE.of}")
