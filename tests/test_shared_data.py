"""Tests that use data outside this repository are found by their mark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.testing.rows import each_row

TESTS = Path(__file__).parent
NAMED = [path for path in sorted(TESTS.rglob("test_*.py"))
         if "FOLDAWAY_DATA" in path.read_text() and path != Path(__file__)
         and "browser" not in path.parts]  # fmt: skip


@each_row("path", NAMED, ids=lambda path: str(path.relative_to(TESTS)))
def test_a_file_that_names_the_data_has_marked_tests(path: Path) -> None:
    """Also if it does not skip without the data but only does less."""
    assert "pytest.mark.shared" in path.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "options", "failed"),
    [
        ("def test_it(): pytest.skip('set FOLDAWAY_DATA')", (), True),
        ("@pytest.mark.shared\ndef test_it(): pytest.skip('set FOLDAWAY_DATA')", (), False),
        ("@pytest.mark.shared\ndef test_it(): pytest.skip('set FOLDAWAY_DATA')",
         ("--need-shared",), True),
        ("def test_it(): pytest.skip('not on this system')", ("--need-shared",), False),
        ("pytest.skip('set FOLDAWAY_DATA', allow_module_level=True)", (), True),
        ("pytest.skip('set FOLDAWAY_DATA', allow_module_level=True)\n# pytest.mark.shared", (),
         False),
    ],
)  # fmt: skip
def test_a_skip_without_the_mark_fails(
    tmp_path: Path, line: str, options: tuple[str, ...], failed: bool
) -> None:
    """So `make test` without the data shows what `make test-shared` would leave out; and there
    nothing skips for want of the data.
    """
    (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(f"import pytest\n\n\n{line}\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir",
               str(tmp_path), str(tmp_path), *options]  # fmt: skip
    env = {**os.environ, "PYTHONPATH": str(TESTS.parent)}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert ("FOLDAWAY_DATA" in done.stdout and done.returncode in (1, 2)) == failed, done.stdout
