"""Bytes of an image by what they are for: code, the model's constants, data; harness left out."""

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePath

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from tinygen.build import link_map
from tinygen.build.link_map import LinkMap, Placement
from tinygen.build.toolchain import map_file
from tinygen.codegen.linker import HOT_CODE

_CODE_OUTPUTS = (".text", ".rodata", ".data", HOT_CODE)
_STORED = (".vectors", *_CODE_OUTPUTS)
_HOT = ".tg_hot."  # constants in memories of their own
_STATIC_OUTPUTS = (".data", ".bss")
_OWN_SECTION = re.compile(r"\.(?:text|rodata|data|bss)(?:\.(?:unlikely|hot|startup|exit))?\.(.+)")
_STRING_LITERALS = re.compile(r"\.rodata(\.\w+)?\.str\d+\.\d+$")  # where GCC puts them: code, not model


class ObjectRole(Enum):
    """What an object file or archive given to the linker is for."""

    MODEL = "model"  # generated code; its constants (.rodata) are the model's
    KERNELS = "kernels"
    HARNESS = "harness"  # start-up, input and output, the measuring program


@dataclass(frozen=True)
class SymbolBytes:
    """A function or an object by the section that the compiler gives each; equal names (static ones) are added up.

    What has no section of its own has the name of its file, string literals are together.
    """

    name: str
    flash_bytes: int
    ram_bytes: int  # in .data and .bss
    const_bytes: int = 0  # of those in flash: the model's constants


@dataclass(frozen=True)
class Sizes:
    """Bytes of an image, by the definitions of `tinygen bench`.

    code and const are sums of sections without the padding between them. data, bss and flash are those of
    the whole image, harness included; stack and arenas are not in bss.
    """

    code_bytes: int  # .text, .rodata and .data image of model, kernels and the C library members they need
    const_bytes: int  # the model's constants
    static_bytes: int  # the same in RAM: .data, .bss, and what start-up code copies there
    data_bytes: int
    bss_bytes: int
    flash_bytes: int
    hot_code_bytes: int  # of code: what lies in a memory of its own
    arena_bytes: int  # sections .tg_arena*
    symbols: tuple[SymbolBytes, ...]  # what code, const and static are made of, by name


def measure(elf: Path, roles: Mapping[Path, ObjectRole]) -> Sizes:
    """Sizes of `elf` from `Toolchain.link`; files without a role are libraries, counted where needed."""
    image = link_map.parse(map_file(elf).read_text(encoding="utf-8"))
    by_name = {str(file): role for file, role in roles.items()}
    needed = _needed(image, by_name)
    constants = [placed for placed in image.placements if _is_constant(placed, by_name)]
    counted = [placed for placed in image.placements if placed.file in needed]
    in_ram = {*_STATIC_OUTPUTS, *_copied(elf)}
    code = [placed for placed in counted if _is_stored(placed)]
    static = [placed for placed in counted if placed.output in in_ram]
    named = [placed for placed in counted if _is_stored(placed) or placed.output in in_ram]
    sections = _section_sizes(elf)
    return Sizes(
        code_bytes=_total(code) - _total(constants),
        const_bytes=_total(constants),
        static_bytes=_total(static),
        data_bytes=sections.get(".data", 0),
        bss_bytes=sections.get(".bss", 0),
        flash_bytes=sum(size for name, size in sections.items() if name in _STORED or name.startswith(_HOT)),
        hot_code_bytes=_total([placed for placed in counted if placed.output == HOT_CODE]),
        arena_bytes=sum(size for name, size in sections.items() if name.startswith(".tg_arena")),
        symbols=tuple(_symbols(named, in_ram, by_name)),
    )


def _is_stored(placed: Placement) -> bool:
    """Whether it is code or constants, or the image of data."""
    return placed.output in _CODE_OUTPUTS or placed.output.startswith(_HOT)


def _copied(elf: Path) -> Iterator[str]:
    """Sections that start-up code copies to where they are used."""
    with elf.open("rb") as file:
        image = ELFFile(file)
        moved = [part for part in image.iter_segments("PT_LOAD") if part["p_paddr"] != part["p_vaddr"]]
        for section in image.iter_sections():
            if section["sh_type"] != "SHT_NOBITS" and any(part.section_in_segment(section) for part in moved):
                yield section.name


def _symbols(
    placements: list[Placement], in_ram: Container[str], roles: Mapping[str, ObjectRole]
) -> Iterator[SymbolBytes]:
    """By name, in the order of names."""
    flash, ram, constant = Counter[str](), Counter[str](), Counter[str]()
    for placed in placements:
        name = _symbol(placed)
        flash[name] += placed.size if _is_stored(placed) else 0
        ram[name] += placed.size if placed.output in in_ram else 0
        constant[name] += placed.size if _is_constant(placed, roles) else 0
    for name in sorted(flash):
        yield SymbolBytes(name, flash[name], ram[name], constant[name])


def _symbol(placed: Placement) -> str:
    if _STRING_LITERALS.search(placed.section):
        return "(string literals)"
    own = _OWN_SECTION.match(placed.section)
    return own[1] if own else PurePath(placed.file.rpartition("(")[2].rstrip(")")).name


def symbol_sizes(elf: Path) -> dict[str, int]:
    """Bytes of each named function and object in `elf`; equal names (static ones) are added up."""
    totals: dict[str, int] = {}
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if table else ():
            if symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT"):
                totals[symbol.name] = totals.get(symbol.name, 0) + int(symbol["st_size"])
    return totals


def _role(file: str, roles: Mapping[str, ObjectRole]) -> ObjectRole | None:
    """Role of an object, or of the archive that an `archive(member)` stands in."""
    return roles.get(file) or roles.get(file.partition("(")[0])


def _needed(image: LinkMap, roles: Mapping[str, ObjectRole]) -> frozenset[str]:
    """Files of model and kernels, and the library members reached from them, not through the harness."""
    files = {placed.file for placed in image.placements}
    waiting = [file for file in files if _role(file, roles) in (ObjectRole.MODEL, ObjectRole.KERNELS)]
    needed: set[str] = set()
    while waiting:
        file = waiting.pop()
        if file not in needed and _role(file, roles) is not ObjectRole.HARNESS:
            needed.add(file)
            waiting.extend(image.uses.get(file, ()))
    return frozenset(needed)


def _is_constant(placed: Placement, roles: Mapping[str, ObjectRole]) -> bool:
    literal = _STRING_LITERALS.search(placed.section) is not None
    is_stored = placed.output == ".rodata" or placed.output.startswith(_HOT)
    return is_stored and not literal and _role(placed.file, roles) is ObjectRole.MODEL


def _total(placements: list[Placement]) -> int:
    return sum(placed.size for placed in placements)


def _section_sizes(elf: Path) -> dict[str, int]:
    with elf.open("rb") as file:
        return dict(_allocated(ELFFile(file)))


def _allocated(image: ELFFile) -> Iterator[tuple[str, int]]:
    for section in image.iter_sections():
        if section["sh_flags"] & SH_FLAGS.SHF_ALLOC:
            yield section.name, int(section["sh_size"])
