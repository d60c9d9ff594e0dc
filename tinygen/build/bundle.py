"""The output folder: the model's C, all sources it needs, and a build file, so that it builds without tinygen."""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from tinygen.build.kernel_sources import VERSION, SourceTree
from tinygen.codegen.project import ProjectKind, render_project
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets.isa import Isa


def bundle(
    schedule: Schedule,
    name: str,
    model_files: Mapping[str, str],
    trees: Sequence[SourceTree],
    kind: ProjectKind,
    opt: str,
    wanted: Sequence[str] = (),
) -> dict[str, str]:
    """All files of the output folder by relative path; `wanted`: functions of `trees` for the application's own use."""
    kernels = [call.kernel for call in schedule.all_calls]
    functions = [*wanted, *(name for kernel in kernels for name in (kernel.function, *kernel.callees))]
    files = dict(model_files)
    includes: list[str] = []
    for tree in trees:
        copied = _copied(tree, functions, model_files, schedule.board.isa)
        files |= copied
        includes += sorted({str(PurePosixPath(path).parent) for path in copied if path.endswith(".h")})
    sources = [path for path in files if path.endswith(".c")]
    return files | render_project(schedule.board, name, kind, opt, sources, _roots(includes))


def _copied(tree: SourceTree, functions: Sequence[str], model_files: Mapping[str, str], isa: Isa) -> dict[str, str]:
    called = [*functions, *_called_helpers(tree, model_files)]
    sources = tree.needed(called, isa)
    if not sources:
        return {}
    copied = {_place(tree, source.file.with_name(source.name)): source.text for source in sources}
    for header in tree.included((*model_files.values(), *copied.values())):
        copied[_place(tree, header)] = _text(header)
    if tree.licence:
        copied[f"{tree.name}/LICENSE"] = _text(tree.licence)
    return copied


def _place(tree: SourceTree, file: Path) -> str:
    """Where a file of `tree` goes: by the folder of the tree that it stands in."""
    root = next(folder for folder in (*tree.source_folders, *tree.include) if folder in file.parents)
    place = root.name if root == VERSION else f"{tree.name}/{root.name.lower()}"
    return f"{place}/{file.relative_to(root).as_posix()}"


def _called_helpers(tree: SourceTree, model_files: Mapping[str, str]) -> list[str]:
    """Functions that the generated text calls besides kernels, such as the conversions of inputs and outputs."""
    text = "\n".join(content for file, content in model_files.items() if file.endswith(".c"))
    return [source.stem for source in tree.sources if f"{source.stem}(" in text]


def _roots(folders: Sequence[str]) -> list[str]:
    """Include folders without those that headers name by a path of their own (`Internal/...`)."""
    return [folder for folder in dict.fromkeys(folders) if not folder.endswith("/Internal")]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
