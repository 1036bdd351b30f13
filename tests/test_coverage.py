"""The page of what was described and what is here says nothing that no test shows."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "tests" / "coverage.md"
ROW = re.compile(r"^\| ([A-Z]\d+) \|(.*)\|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
MOST_BYTES = 45 * 1024


class Row(Struct, frozen=True):
    """One thing that was described."""

    number: str
    described: str
    here: str
    state: str
    shown_by: str


def rows() -> list[Row]:
    return [Row(*map(str.strip, found)) for found in ROW.findall(PAGE.read_text())]


def functions_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def test_every_row_has_a_test_or_a_reason() -> None:
    """What works names the test that shows it; what is left out says why."""
    table = rows()
    numbers = [row.number for row in table]
    assert len(set(numbers)) == len(numbers)
    lines = PAGE.read_text().splitlines()
    assert len(table) == sum(bool(re.match(r"\| (?!no\.|---)", line)) for line in lines)
    for row in table:
        assert row.described, row
        assert row.here, row
        if row.state == "works":
            assert NAMED.fullmatch(row.shown_by), row
        else:
            assert re.match(r"left out: \w", row.state), row


def test_every_test_that_is_named_exists() -> None:
    """Under its name, in its file."""
    named = [found for row in rows() for found in NAMED.findall(row.shown_by)]
    known = {name: set(functions_of(ROOT / "tests" / name)) for name, _ in named
             if (ROOT / "tests" / name).exists()}  # fmt: skip
    missing = [f"{file}::{test}" for file, test in named if test not in known.get(file, ())]
    assert missing == []


def test_what_is_named_as_its_place_is_documented() -> None:
    """A command, setting or name of the table is explained on a page of the site."""
    with_help = runpy.run_path(str(ROOT / "docs" / "make_docs.py"))["with_help"]
    text = "\n".join(with_help(path.read_text()) for path in (ROOT / "docs").rglob("*.md"))
    places = {one for row in rows() for one in re.findall(r"`([^`]+)`", row.here)}
    assert sorted(one for one in places if one.removesuffix("()") not in text) == []


def test_the_sums_at_the_top_are_those_of_the_table() -> None:
    """All, and those that are left out."""
    states = [row.state.partition(":")[0] for row in rows()]
    said = re.search(r"(\d+) in all\. .* (\d+) that are left out", PAGE.read_text())
    assert said is not None
    assert tuple(map(int, said.groups())) == (len(states), states.count("left out"))
    assert len(PAGE.read_bytes()) <= MOST_BYTES
