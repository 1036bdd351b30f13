"""The releases of frameworks that are stated: in the extras, and in what is played."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.testing.rows import each_row

ROOT = Path(__file__).resolve().parents[2]
PLAYED = tomllib.loads((ROOT / "tests" / "frameworks" / "frameworks.toml").read_text())
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_SUMMARIES = {"openai", "anthropic"}
"""Extras whose bounds are those of the models that write summaries; `wrap` takes older clients."""


def numbers(release: str) -> list[int]:
    """Return the numbers of a release without the zeros at its end."""
    found = [int(one) for one in release.split(".")]
    while found and not found[-1]:
        found.pop()
    return found


@each_row("name", sorted((set(PLAYED) & set(EXTRAS)) - FOR_SUMMARIES))
def test_an_extra_begins_with_the_oldest_release_that_is_played(name: str) -> None:
    """Whoever installs an extra gets no release that nobody tried."""
    oldest = PLAYED[name]["oldest"][0].partition("==")[2]
    (bound,) = (re.search(r">=([\d.]+)", one) for one in EXTRAS[name][:1])
    assert bound
    assert numbers(bound[1]) == numbers(oldest)


@each_row("name", sorted(PLAYED))
def test_the_page_names_the_oldest_release(name: str) -> None:
    """Readers see what is tested."""
    page = (ROOT / "docs" / "integrations.md").read_text()
    oldest = PLAYED[name]["oldest"][0].partition("==")[2]
    assert oldest.removesuffix(".0") in page


def test_the_extra_for_openai_installs_beside_hermes() -> None:
    """Hermes 0.19 pins 2.24.0; with a higher bound `foldaway[hermes,openai]` has no solution."""
    (bound,) = re.findall(r">=([\d.]+)", EXTRAS["openai"][0])
    assert numbers(bound) <= numbers("2.24.0")
