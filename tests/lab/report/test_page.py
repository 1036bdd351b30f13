"""The page and the plots: the summary's figures, the same bytes, names that do no harm."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from foldaway.lab.output import write_report
from foldaway.lab.report.panels import shorten_name
from foldaway.lab.report.tables import command_of, groups
from foldaway.lab.report.verdict import format_number

Make = Callable[..., Any]
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "$\\frac{a}{b}$", "_private",
    "日本 \x00\x1b[31m\ud800", 'id="#ffffff" {{ 7*7 }}', "x" * 500,
)  # fmt: skip


class Read(HTMLParser):
    """A page as a browser takes it apart: tags, attributes, cells."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[tuple[str, str, str]] = []
        self._figure: dict[str, str | None] | None = None
        self._at_text = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._at_text = tag == "td" and "data-value" in dict(attrs)
        if self._at_text:
            self._figure = dict(attrs)

    def handle_data(self, data: str) -> None:
        if self._at_text and self._figure is not None:
            self.cells.append((self._figure["data-figure"] or "", self._figure["data-value"] or "",
                               data))  # fmt: skip
            self._at_text = False


def written(folder: Path, run: Any) -> dict[str, bytes]:
    """Return the files of a report."""
    folder.mkdir(exist_ok=True)
    write_report(folder, run.summary, run.rows)
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def run(make_run: Make) -> Any:
    """Return a made-up run."""
    return make_run(skipped=["a.json: is no session"])


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, run: Any) -> dict[str, bytes]:
    """Return the files of its report."""
    return written(tmp_path_factory.mktemp("report"), run)


@pytest.mark.soak
def test_the_same_run_gives_the_same_bytes(
    tmp_path: Path, make_run: Make, report: dict[str, bytes]
) -> None:
    """Page and plots hold no date, no random ids, nothing of the machine."""
    again = written(tmp_path, make_run(skipped=["a.json: is no session"]))
    assert again.keys() == report.keys()
    assert [name for name in again if again[name] != report[name]] == []


@pytest.mark.slow
def test_there_is_a_plot_of_each_kind(report: dict[str, bytes]) -> None:
    """As SVG that parses and as PNG."""
    names = {"scores", "budget", "signals", "reach", "drift", "cost", "speed"}
    assert set(report) == {"report.html"} | {
        f"plots/{n}.{e}" for n in names for e in ("svg", "png")
    }
    for name, data in report.items():
        if name.endswith(".svg"):
            assert ElementTree.fromstring(data).tag.endswith("svg")
        if name.endswith(".png"):
            assert data.startswith(b"\x89PNG")


@pytest.mark.slow
def test_every_figure_of_the_page_is_the_summary_s(run: Any, report: dict[str, bytes]) -> None:
    """Each cell holds a mean of the summary, exactly, and shows it rounded; none is missing."""
    cells = Read(report["report.html"].decode()).cells
    wanted = sorted(
        (name, str(found.mean))
        for lines in groups(run.summary.lines).values()
        for line in lines
        for name, found in line.figures.items()
    )
    assert sorted((figure, value) for figure, value, _ in cells) == wanted
    assert all(shown == format_number(float(value)) for _, value, shown in cells)


def test_the_page_opens_by_itself(report: dict[str, bytes]) -> None:
    """No address of another place, nothing that would be fetched."""
    page = report["report.html"].decode()
    assert not re.search(r"https?:|//[a-z]+\.|@import|\burl\((?!#)", page)
    for tag, attributes in Read(page).tags:
        assert tag not in ("link", "iframe", "object", "embed", "img", "base")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")


def test_ids_of_the_page_are_its_own(report: dict[str, bytes]) -> None:
    """Plots bring ids of their own; no two are the same, and every reference leads to one."""
    page = report["report.html"].decode()
    ids = [found["id"] for _, found in Read(page).tags if "id" in found]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", page)) <= set(ids)
    assert {found["href"][1:] for _, found in Read(page).tags if found.get("href")} <= set(ids)


def test_no_words_of_a_session_are_on_the_page(report: dict[str, bytes]) -> None:
    """What a run notes as missed stays in its rows."""
    assert b"the words of a session" not in report["report.html"]


def test_what_failed_and_what_was_skipped_is_told(report: dict[str, bytes]) -> None:
    """A peer that could not run is named with its reason, a file that was skipped as well."""
    page = report["report.html"].decode()
    assert "<b>absent</b>: could not be installed" in page
    assert "<li>a.json: is no session</li>" in page
    assert "56 for anthropic (28 views)" in page


@pytest.mark.parametrize(
    ("families", "strategies"), [(HOSTILE[:2], HOSTILE[2:]), (HOSTILE[4:6], HOSTILE[:4])]
)
@pytest.mark.soak
def test_hostile_names_do_no_harm(
    tmp_path: Path, make_run: Make, families: tuple[str, ...], strategies: tuple[str, ...]
) -> None:
    """Whatever families, strategies and files are called, it is text and nothing else."""
    run = make_run(families=families, strategies=("foldaway", *strategies), sessions=1,
                   skipped=HOSTILE)  # fmt: skip
    files = written(tmp_path, run)
    page = files["report.html"].decode()
    scripts = [found for tag, found in Read(page).tags if tag == "script"]
    assert len(scripts) == 1
    assert not any(key.startswith("on") for _, found in Read(page).tags for key in found)
    assert all(tag != "img" for tag, _ in Read(page).tags)
    assert "{{ 7*7 }}" in page
    assert re.search(r">\$\\frac\{a\}\{b\}\$(?: \(1\))?</text>", page)
    for name, data in files.items():
        if name.endswith(".svg"):
            ElementTree.fromstring(data)


@given(st.text(max_size=60))
def test_any_name_can_be_drawn(name: str) -> None:
    """Short, on one line, printable, not hidden by a low line; shortened twice is once."""
    shown = shorten_name(name)
    assert len(shown) <= 27
    assert shown.isprintable() or shown.startswith("\u200a_")
    assert not shown.startswith("_")
    assert shorten_name(shown) == shown


@pytest.mark.slow
def test_a_run_without_foldaway_has_no_verdict(tmp_path: Path, make_run: Make) -> None:
    """The tables and plots are there, and the page says why the rest is not."""
    files = written(tmp_path, make_run(families=("f",), strategies=("head+tail", "peer")))
    assert b"there is no verdict" in files["report.html"]
    assert "plots/scores.svg" in files


def test_a_run_of_failures_has_a_page(tmp_path: Path, make_run: Make) -> None:
    """Where nobody gave an answer, there is no plot and no traceback."""
    files = written(tmp_path, make_run(families=("f",), strategies=()))
    assert b"could not be installed" in files["report.html"]


def test_the_command_asks_for_the_same(run: Any) -> None:
    """Strategies, budgets and settings, quoted for a shell; peers are not run by this command."""
    asked = replace(
        run.summary.manifest,
        strategies=("foldaway", "langchain:trim", "a b"),
        peers={"langchain:trim": "the newest messages"},
        peer_budgets=(0.2,),
        asked={"model": "m; rm", "summarizer": ""},
        drifting=(),
    )
    assert command_of(asked) == (
        "foldaway lab run FILES… --strategies 'foldaway,a b' --budgets 10,20 "
        "--model 'm; rm' --no-drift"
    )
    assert command_of(run.summary.manifest) == (
        "foldaway lab run FILES… --strategies foldaway,head+tail,masking-3,bare-list,peer,absent "
        "--budgets 10,20"
    )


def test_without_the_extra_the_run_says_so() -> None:
    """Where matplotlib is missing, the import names the extra that brings it."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from foldaway.errors import MissingExtra\n"
        "try:\n    import foldaway.lab.report.page\n"
        "except MissingExtra as error:\n    print(error.extra)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "lab\n"
