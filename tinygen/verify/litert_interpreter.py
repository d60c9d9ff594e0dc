"""LiteRT's interpreter, ready for inputs; who only tries whether it lives (`survival`) imports this alone."""

from collections.abc import Sequence

try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError:
    Interpreter = OpResolverType = None


def is_installed() -> bool:
    """Whether the optional package is there."""
    return Interpreter is not None


def prepared(model: str, sizes: Sequence[tuple[int, Sequence[int]]], has_references: bool) -> "Interpreter":
    """Of a model's file, with the inputs of some numbers in other shapes than the file's; keeps all tensors.

    RuntimeError or ValueError where LiteRT refuses it; some models end the process.
    """
    interpreter = Interpreter(
        model_path=model,
        experimental_op_resolver_type=(
            OpResolverType.BUILTIN_REF if has_references else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        ),
        experimental_preserve_all_tensors=True,
    )
    for index, shape in sizes:
        interpreter.resize_tensor_input(index, shape)
    interpreter.allocate_tensors()
    return interpreter
