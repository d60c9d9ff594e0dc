"""CTables as files: canonical JSON, the published schema, hashes."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from tinygen.quant.ctable import CTable
from tinygen.quant.errors import Code, CTableError

_BLOCK = 1 << 20

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def read_ctable(file: Path) -> CTable:
    """The table in a file; CTableError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is no text"
        raise CTableError(
            Code.SCHEMA, f"{file}: cannot be read ({reason}), a CTable was expected. Write it with `tinygen calibrate`."
        ) from None
    try:
        return CTable.model_validate_json(text)
    except ValidationError as error:
        raise CTableError(Code.SCHEMA, _violation(file.name, error)) from None


def _violation(file: str, error: ValidationError) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "the document"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return (
        f"{file}, {where}: {first['msg']}{more}, a value by the schema was expected. "
        "Correct it, or write the table anew with `tinygen calibrate`."
    )


def ctable_text(table: CTable) -> str:
    """The table as canonical JSON: keys in the schema's order, tensors and operators in execution order."""
    plain: Json = table.model_dump(mode="json")
    return _json(plain, "") + "\n"


def schema_text() -> str:
    """The JSON schema of CTables."""
    return json.dumps(CTable.model_json_schema(), indent=2, sort_keys=True) + "\n"


def file_sha256(*files: Path) -> str:
    """Hash of the content of files, one behind the other, read piece by piece."""
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _json(value: Json, indent: str) -> str:
    """Objects line by line, lists on one line."""
    if isinstance(value, Mapping) and value:
        inner = indent + "  "
        lines = (f"{inner}{json.dumps(key)}: {_json(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    return json.dumps(value, allow_nan=False)
