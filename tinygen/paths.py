"""Where tinygen's own data files lie: at the top of a checkout, or inside an installed wheel."""

import os
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent
_INSTALLED = _PACKAGE / "data"


def _data(name: str) -> Path:
    installed = _INSTALLED / name
    return installed if installed.is_dir() else _CHECKOUT / name


BOARDS = _data("boards")
TEMPLATES = _data("templates")
RUNTIME_C = _data("runtime_c")
EXAMPLE = _INSTALLED / "example" if (_INSTALLED / "example").is_dir() else _CHECKOUT / "examples" / "digits"
LICENCE = (_INSTALLED if _INSTALLED.is_dir() else _CHECKOUT) / "LICENSE"


WITHOUT_CMSIS_NN = Path("off")  # instead of a folder: as if the library were nowhere


def how_to_get_cmsis_nn() -> str:
    """What makes the library's sources known; an installed wheel has no submodule."""
    named = "set TINYGEN_CMSIS_NN"
    return named if _INSTALLED.is_dir() else f"git submodule update --init, or {named}"


def cmsis_nn(explicit: Path | None = None) -> Path | None:
    """Folder of the CMSIS-NN sources: `explicit`, `$TINYGEN_CMSIS_NN` or the submodule; None where there is none."""
    if explicit == WITHOUT_CMSIS_NN:
        return None
    named = explicit or os.environ.get("TINYGEN_CMSIS_NN")
    folder = Path(named) if named else _CHECKOUT / "third_party" / "cmsis-nn"
    return folder if (folder / "Include" / "arm_nnfunctions.h").is_file() else None


def reference_models() -> tuple[Path, ...]:
    """Folders where the models of MLPerf Tiny may lie: of `make models`, or in `shared` beside the checkout."""
    return _CHECKOUT / "models" / "mlperf_tiny", _CHECKOUT.parent / "shared" / "models" / "mlperf_tiny"


def cache() -> Path:
    """Folder for libraries that are built once and used again (`$TINYGEN_CACHE`, else the user's cache folder)."""
    named = os.environ.get("TINYGEN_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "tinygen"
