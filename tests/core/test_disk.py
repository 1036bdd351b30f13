"""Files that are put in the place of others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from foldaway._core.disk import replace_file, swap_files


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    """Nothing was replaced, so nothing is kept."""
    target, old, new = (tmp_path / name for name in ("MEMORY.md", "before", "new"))
    new.write_text("a")
    old.write_text("older")
    replace_file(new, target, old, must_keep=True)
    assert target.read_text() == "a"
    assert not old.exists()
    assert not new.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that can be exchanged")
def test_two_files_change_their_names(tmp_path: Path) -> None:
    """At once, and not if one of them is missing."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("1")
    two.write_text("2")
    assert swap_files(one, two)
    assert (one.read_text(), two.read_text()) == ("2", "1")
    with pytest.raises(FileNotFoundError):
        swap_files(one, tmp_path / "three")
