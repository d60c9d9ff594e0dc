"""Writing the output folder: all of it or nothing, and nothing over the user's own files."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from tinygen import __version__
from tinygen.errors import UsageError

MANIFEST = ".tinygen.json"  # marks a folder that tinygen made: its files and their SHA-256


def write_folder(folder: Path, files: Mapping[str, str], force: bool = False) -> None:
    """Write `files`, texts by relative path, into `folder`, which appears complete or not at all.

    Files from an earlier time that are no longer made are removed. UsageError, before anything is written, where that
    would change something that tinygen did not write; with `force` such files are replaced if they stand in the way,
    and otherwise stay.
    """
    try:
        contents = {file: text.encode() for file, text in files.items()}
        contents[MANIFEST] = _manifest(contents)
        target = folder.resolve()
        if target.exists():
            _update(target, folder, contents, force)
        else:
            _create(target, contents)
    except (OSError, RuntimeError) as error:
        raise _unwritable(folder, error) from error


def check_folder(folder: Path, force: bool = False, files: Iterable[str] = ()) -> None:
    """Raise, before the work that makes files for it, the UsageErrors of `write_folder` that hold for any files, or for
    new texts in `files`.
    """
    try:
        target = folder.resolve()
        if target.exists():
            _check_is_folder(target, folder)
            before = _written_before(target, folder, force)
            for file in files:
                _check_free(target, folder, file, {before.get(file)}, force)
        else:
            _folder_above(target)
    except (OSError, RuntimeError) as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError | RuntimeError) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) else str(error)  # RuntimeError: a loop of symbolic links
    return UsageError(f"{folder}: cannot be written ({reason}). Choose another output folder.")


def _manifest(contents: Mapping[str, bytes]) -> bytes:
    hashes = {file: _hash(data) for file, data in sorted(contents.items())}
    return (json.dumps({"tinygen": __version__, "files": hashes}, indent=2) + "\n").encode()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _create(target: Path, contents: Mapping[str, bytes]) -> None:
    """The new folder, filled under another name first."""
    _folder_above(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as staging:
        fresh = Path(staging) / "out"  # its mode follows the umask, unlike that of the temporary folder
        _stage(fresh, contents)
        fresh.rename(target)


def _folder_above(target: Path) -> None:
    """UsageError where a new folder cannot be made because a file is in its path."""
    above = next(parent for parent in target.parents if parent.exists())
    if not above.is_dir():
        raise UsageError(f"{above}: is a file, a folder was expected. Choose another output folder.")


def _check_is_folder(target: Path, shown: Path) -> None:
    if not target.is_dir():
        raise UsageError(f"{shown}: is a file, a folder was expected. Choose another output folder.")


def _update(target: Path, shown: Path, contents: Mapping[str, bytes], force: bool) -> None:
    """Files exchanged in a folder that is there: it may be someone's working directory, so it keeps its identity."""
    _check_is_folder(target, shown)
    before = _written_before(target, shown, force)
    for file, data in contents.items():
        _check_free(target, shown, file, {before.get(file), _hash(data)}, force)
    with tempfile.TemporaryDirectory(prefix=".tinygen-", dir=target) as staging:
        fresh = Path(staging) / "out"
        _stage(fresh, contents)
        for file in contents:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            (fresh / file).replace(target / file)
    for file in before.keys() - contents.keys():
        _remove_unchanged(target, file, before[file])


def _stage(folder: Path, contents: Mapping[str, bytes]) -> None:
    for file, data in contents.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)


def _written_before(target: Path, shown: Path, force: bool) -> Mapping[str, str]:
    """Hashes of the files that tinygen wrote into `target` earlier; empty where there are none."""
    manifest = target / MANIFEST
    if manifest.is_file():
        try:
            return _parsed(manifest.read_text(encoding="utf-8"))
        except ValueError:
            if not force:
                raise UsageError(
                    f"{shown}: its {MANIFEST} is damaged, the list of tinygen's files was expected. "
                    "Choose another output folder, or overwrite files there with --force."
                ) from None
            return {}
    if any(target.iterdir()) and not force:
        raise UsageError(
            f"{shown}: is not empty and was not made by tinygen, an empty or new folder was expected. "
            "Choose another output folder, or overwrite files there with --force."
        )
    return {}


def _parsed(text: str) -> Mapping[str, str]:
    """Hashes by file; ValueError where the text is no manifest or names files outside of the folder."""
    document = json.loads(text)
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, dict):
        raise ValueError("no files")
    for file, digest in files.items():
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or not isinstance(digest, str):
            raise ValueError(f"no file of an output folder: {file}")
    return files


def _check_free(target: Path, shown: Path, file: str, known: set[str | None], force: bool) -> None:
    """UsageError where `file` cannot be written, or would replace a file whose hash is not in `known`."""
    path = target / file
    for parent in path.relative_to(target).parents:
        folder = target / parent
        if folder != target and (folder.is_symlink() or (folder.exists() and not folder.is_dir())):
            raise UsageError(f"{shown / parent}: is in the way, a folder was expected. Remove it.")
    if path.is_dir() and not path.is_symlink():
        raise UsageError(f"{shown / file}: is a folder, a file was expected. Remove it.")
    is_changed = path.is_symlink() or (path.exists() and _hash(path.read_bytes()) not in known)
    if is_changed and file != MANIFEST and not force:
        raise UsageError(
            f"{shown / file}: was changed after tinygen wrote it, or is not tinygen's. "
            "Keep a copy of it elsewhere, or overwrite it with --force."
        )


def _remove_unchanged(target: Path, file: str, digest: str) -> None:
    """Remove a file that is as tinygen wrote it, and the folders that it leaves empty."""
    path = target / file
    if path.is_symlink() or not path.is_file() or _hash(path.read_bytes()) != digest:
        return
    path.unlink()
    for parent in path.relative_to(target).parents:
        if parent == Path() or any((target / parent).iterdir()):
            return
        (target / parent).rmdir()
