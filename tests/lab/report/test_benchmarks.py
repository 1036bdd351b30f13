"""docs/make_benchmarks.py: a page of the run's own figures, the same however often it is made."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from foldaway.lab.output import write_tables
from foldaway.lab.report.plots import PLOTS
from foldaway.lab.report.tables import format_cell
from foldaway.lab.report.verdict import format_difference
from foldaway.lab.run_folder import MANIFEST
from foldaway.lab.runs import ROWS

SCRIPT = Path(__file__).parents[3] / "docs" / "make_benchmarks.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """Return the names of the script, which is read once."""
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def make(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return what runs the script in this process."""

    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
        return script["main"]()

    return run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, make_run: Callable[..., Any]) -> Path:
    """Return the folder of a run."""
    found, run = tmp_path_factory.mktemp("run"), make_run(families=("coding",))
    (found / MANIFEST).write_bytes(msgspec.json.encode(run.summary.manifest))
    (found / ROWS).write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in run.rows))
    write_tables(found, run.summary)
    (found / "plots").mkdir()
    for name in PLOTS:  # drawn in test_page.py; here they are made smaller
        Image.effect_noise((600, 600), 90).save(found / "plots" / f"{name}.png")
    return found


@pytest.mark.slow
def test_the_page_is_made_of_the_run_and_the_same_again(
    folder: Path, tmp_path: Path, script: dict[str, Any], make: Callable[..., int]
) -> None:
    """Twice gives the same bytes; every link leads somewhere; the figures are the summary's."""
    arguments = (str(folder), "--full", str(folder), "--notes", str(tmp_path))
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert make(*arguments) == 0
    again = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert first == again
    page = first["benchmarks.md"].decode()
    for target in re.findall(r"\]\((pictures/[^)]+)\)", page):
        assert 0 < (tmp_path / target).stat().st_size <= 100_000
    assert page.count("pictures/benchmarks-") == 7
    run = script["read"](folder)
    for line in run.main:
        assert all(
            format_cell(line.figures[name]) in page for name in line.figures if name in ("bound",)
        )
    for one in run.found:
        if (one.part, one.budget, one.figure, one.other) == ("cut", 0.2, "bound", "peer"):
            assert f"| peer | **{format_difference(one.by)}** |" in page
    assert "- absent failed: could not be installed (coding, at 20 % of the tokens)" in page


@pytest.mark.slow
def test_plots_of_an_earlier_run_do_not_stay(
    folder: Path, tmp_path: Path, make: Callable[..., int]
) -> None:
    """Pictures that the run has not are taken away; those of other pages are left."""
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "benchmarks-old.svg").write_text("old")
    (pictures / "benchmarks-gone.png").write_text("old")
    (pictures / "check.svg").write_text("other")
    assert make(str(folder), "--notes", str(tmp_path)) == 0
    assert not (pictures / "benchmarks-old.svg").exists()
    assert not (pictures / "benchmarks-gone.png").exists()
    assert (pictures / "check.svg").read_text() == "other"


def test_a_folder_without_a_run_is_told_and_nothing_is_written(
    tmp_path: Path, make: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence, exit code 2, no page."""
    assert make(str(tmp_path), "--notes", str(tmp_path)) == 2
    said = capsys.readouterr().err
    assert "summary.json: does not exist" in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
