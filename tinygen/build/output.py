"""Writing the output folder: all of it or nothing, and nothing over the user's own files.

A new folder is renamed into place as a whole. In one that is there, files are replaced one by one, between two
manifests: the first lists the new files and what may still be there instead, the second the new files alone. So
whenever the process is killed, the next one knows each file as tinygen's, old or new, and brings the update to its end.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from pathlib import Path, PurePosixPath

from tinygen import __version__
from tinygen.errors import UsageError
from tinygen.system.lock import locked
from tinygen.system.work import is_work, sweep, work_folder

MANIFEST = ".tinygen.json"  # marks a folder that tinygen made: its files and their SHA-256
_LOCK = ".tinygen.lock"  # held while a folder is updated
_FILES, _BEFORE = "files", "before"  # keys of the manifest: what is to be there, and what may be instead while updating

Known = Mapping[str, frozenset[str]]  # by file: the SHA-256 of contents that tinygen wrote


def write_folder(folder: Path, files: Mapping[str, str], force: bool = False) -> None:
    """Write `files`, texts by relative path, into `folder`, which appears complete or not at all.

    Files from an earlier time that are no longer made are removed. UsageError, before anything is written, where that
    would change something that tinygen did not write; with `force` such files are replaced if they stand in the way,
    and otherwise stay.
    """
    try:
        contents = {file: text.encode() for file, text in files.items()}
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
                _check_free(target, folder, file, before.get(file, frozenset()), force)
        else:
            _folder_above(target)
    except (OSError, RuntimeError) as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError | RuntimeError) -> UsageError:
    reason = error.strerror if isinstance(error, OSError) else str(error)  # RuntimeError: a loop of symbolic links
    return UsageError(f"{folder}: cannot be written ({reason}). Choose another output folder.")


def _manifest(contents: Mapping[str, bytes], before: Known | None = None) -> bytes:
    """The list of the files; of an update that is under way also of what it finds `before`."""
    document: dict[str, object] = {
        "tinygen": __version__,
        _FILES: {file: _hash(data) for file, data in sorted(contents.items())},
    }
    if before is not None:
        document[_BEFORE] = {file: sorted(hashes) for file, hashes in sorted(before.items())}
    return (json.dumps(document, indent=2) + "\n").encode()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _create(target: Path, contents: Mapping[str, bytes]) -> None:
    """The new folder, filled under another name first."""
    _folder_above(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(target.parent) as staging:
        fresh = staging / "out"  # its mode follows the umask, unlike that of the work folder
        _stage(fresh, {**contents, MANIFEST: _manifest(contents)})
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
    _written_before(target, shown, force)  # raises before anything is written
    sweep(target.parent)  # a killed process may have left there what it made this folder from
    with locked(target / _LOCK), work_folder(target) as staging:
        before = _written_before(target, shown, force)
        for file, data in contents.items():
            _check_free(target, shown, file, before.get(file, frozenset()) | {_hash(data)}, force)
        fresh = staging / "out"
        _stage(fresh, contents)
        _replace_manifest(target, fresh, _manifest(contents, before))
        for file in contents:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            (fresh / file).replace(target / file)
        for file in before.keys() - contents.keys():
            _remove_unchanged(target, file, before[file])
        _replace_manifest(target, fresh, _manifest(contents))


def _replace_manifest(target: Path, staging: Path, manifest: bytes) -> None:
    _stage(staging, {MANIFEST: manifest})
    (staging / MANIFEST).replace(target / MANIFEST)


def _stage(folder: Path, contents: Mapping[str, bytes]) -> None:
    for file, data in contents.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)


def _written_before(target: Path, shown: Path, force: bool) -> Known:
    """What the files that tinygen wrote into `target` earlier may be; empty where there are none."""
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
    is_empty = all(path.name == _LOCK or is_work(path.name) for path in target.iterdir())
    if not is_empty and not force:
        raise UsageError(
            f"{shown}: is not empty and was not made by tinygen, an empty or new folder was expected. "
            "Choose another output folder, or overwrite files there with --force."
        )
    return {}


def _parsed(text: str) -> Known:
    """Hashes by file; ValueError where the text is no manifest or names files outside of the folder."""
    document = json.loads(text)
    files = document.get(_FILES) if isinstance(document, dict) else None
    before = document.get(_BEFORE, {}) if isinstance(document, dict) else None
    if not isinstance(files, dict) or not isinstance(before, dict):
        raise ValueError("no files")
    known: dict[str, set[object]] = defaultdict(set)
    for file, hashes in (*((file, [digest]) for file, digest in files.items()), *before.items()):
        path = PurePosixPath(file)
        is_listed = isinstance(hashes, list) and all(isinstance(digest, str) for digest in hashes)
        if path.is_absolute() or ".." in path.parts or not is_listed:
            raise ValueError(f"no file of an output folder: {file}")
        known[file].update(hashes)
    return {file: frozenset(map(str, hashes)) for file, hashes in known.items()}


def _check_free(target: Path, shown: Path, file: str, known: Set[str], force: bool) -> None:
    """UsageError where `file` cannot be written, or would replace a file whose hash is not in `known`."""
    path = target / file
    for parent in path.relative_to(target).parents:
        folder = target / parent
        if folder != target and (folder.is_symlink() or (folder.exists() and not folder.is_dir())):
            raise UsageError(f"{shown / parent}: is in the way, a folder was expected. Remove it.")
    if path.is_dir() and not path.is_symlink():
        raise UsageError(f"{shown / file}: is a folder, a file was expected. Remove it.")
    is_changed = path.is_symlink() or (path.exists() and _hash(path.read_bytes()) not in known)
    if is_changed and not force:
        raise UsageError(
            f"{shown / file}: was changed after tinygen wrote it, or is not tinygen's. "
            "Keep a copy of it elsewhere, or overwrite it with --force."
        )


def _remove_unchanged(target: Path, file: str, known: Set[str]) -> None:
    """Remove a file that is as tinygen wrote it, or has been removed, and the folders that are empty without it."""
    path = target / file
    if path.is_symlink() or path.exists():
        if path.is_symlink() or not path.is_file() or _hash(path.read_bytes()) not in known:
            return
        path.unlink()
    for parent in path.relative_to(target).parents:
        folder = target / parent
        if parent == Path() or folder.is_symlink() or (folder.exists() and any(folder.iterdir())):
            return
        if folder.exists():
            folder.rmdir()
