"""Single files that commands write: complete or as they were, whatever ends the command."""

from pathlib import Path

from tests.support.kills import killed_at_every_step
from tinygen.cli.output_file import write_bytes

OLD, NEW = b"old results", b"new and longer results"


def test_a_file_whose_writing_is_killed_at_any_step_is_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_bytes(OLD)
    for _ in killed_at_every_step(tmp_path, lambda: write_bytes(file, NEW)):
        assert file.read_bytes() in (OLD, NEW)
        write_bytes(file, OLD)
        assert [path.name for path in tmp_path.iterdir()] == [file.name]
    assert file.read_bytes() == NEW
