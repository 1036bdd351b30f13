"""A session of 50,000 messages stays small and smooth in the page.

The store is the one of `bench/inspector.py`; FOLDAWAY_LONG_STORE names its folder.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import ROOT, Visitor, running

STORE = Path(os.environ.get("FOLDAWAY_LONG_STORE", ROOT / "bench/.out/inspector-1000000"))
SESSION, LENGTH, STEPS = "/inspector/session/s50000", 50_000, 200
WATCH = """
window.tasks = [];
new PerformanceObserver((seen) => window.tasks.push(...seen.getEntries().map((e) => e.duration)))
  .observe({ type: "longtask", buffered: true });
"""
_MOST_NODES = 15_000
"""Of the page wherever one is: some hundred rows, and an empty element for each part of 50."""
_MOST_GROWTH = 30e6
"""Bytes that the heap of the scripts may differ by between the first and the last message."""


class LongVisit:
    """A page of the long session, and what it and its server use."""

    def __init__(self, visitor: Visitor, process: int) -> None:
        self.process = process
        self.context = visitor.browser.new_context(
            viewport={"width": 1400, "height": 900}, storage_state=visitor.state,
            bypass_csp=True,  # the test waits for conditions, which Playwright evaluates
        )  # fmt: skip
        self.context.add_init_script(WATCH)
        self.page = self.context.new_page()
        self.devtools = self.context.new_cdp_session(self.page)
        self.devtools.send("Performance.enable")
        self.asked = 0
        self.page.on("request", lambda _: self._count())
        self.origin = visitor.origin
        self.figures: dict[str, Any] = {}

    def _count(self) -> None:
        self.asked += 1

    def cpu(self) -> float:
        """Return the CPU seconds of the server so far."""
        fields = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def sizes(self) -> dict[str, float]:
        """Return what the page holds, after its garbage was collected."""
        self.devtools.send("HeapProfiler.collectGarbage")
        found = {
            one["name"]: one["value"]
            for one in self.devtools.send("Performance.getMetrics")["metrics"]
        }
        elements = self.page.evaluate("document.getElementsByTagName('*').length")
        return {"heap": found["JSHeapUsedSize"], "elements": elements, "rows": self._rows()}

    def _rows(self) -> int:
        return self.page.evaluate("document.querySelectorAll('#talk .row').length")

    def tasks(self) -> list[float]:
        """Return how long the long tasks took since this was last asked, in milliseconds."""
        return self.page.evaluate("window.tasks.splice(0)")

    def settle(self) -> None:
        """Wait until what is on the screen is there."""
        self.page.wait_for_function(
            "[...document.querySelectorAll('#talk > .chunk')].every((one) => one.dataset.loaded ||"
            " one.getBoundingClientRect().bottom < 0 ||"
            " one.getBoundingClientRect().top > innerHeight)"
        )


@pytest.fixture(scope="module")
def long_visit(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LongVisit]:
    """The first page of the long session in the store of a million messages."""
    if not STORE.is_dir():
        pytest.skip(f"no store at {STORE}; `python bench/inspector.py` makes it")
    home = tmp_path_factory.mktemp("home")
    (home / "sessions").symlink_to(STORE)
    nobody = str(tmp_path_factory.mktemp("nobody"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", nobody)
        with running("--home", str(home)) as (address, process):
            made = LongVisit(Visitor(chromium, address), process)
            yield made
            if name := os.environ.get("FOLDAWAY_LONG_FIGURES"):
                Path(name).write_text(json.dumps(made.figures, indent=1) + "\n")


def test_a_long_session_stays_small_and_smooth(long_visit: LongVisit) -> None:
    """From the first to the last message: the same number of elements, a flat heap, no frame that
    takes a second, a request for each part that was seen.
    """
    made, page = long_visit, long_visit.page
    cpu, began = made.cpu(), time.monotonic()
    page.goto(made.origin + SESSION, wait_until="commit")
    page.wait_for_selector("#talk .row")
    made.figures["seconds to first rows"] = time.monotonic() - began
    made.figures["server CPU with the reading of figures"] = made.cpu() - cpu
    page.wait_for_selector("#timeline canvas")
    page.wait_for_load_state("networkidle")
    made.figures["start"] = first = made.sizes()
    made.figures["requests to open"], made.figures["tasks to open"] = made.asked, made.tasks()
    began, asked = time.monotonic(), made.asked
    for step in range(1, STEPS + 1):
        page.evaluate(f"scrollTo(0, document.body.scrollHeight * {step / STEPS})")
        page.wait_for_function("new Promise((done) => requestAnimationFrame(() => done(true)))")
        if step % 20 == 0:
            made.settle()
    made.settle()
    made.figures["scroll"] = {
        "seconds": time.monotonic() - began, "requests": made.asked - asked,
        "tasks over 100 ms": [one for one in made.tasks() if one > 100],
    }  # fmt: skip
    made.figures["after scrolling"] = last = made.sizes()
    assert last["elements"] < _MOST_NODES
    assert last["rows"] <= 400
    assert last["heap"] - first["heap"] < _MOST_GROWTH
    assert max(made.figures["scroll"]["tasks over 100 ms"], default=0) < 1_000


def test_keys_and_the_chart_reach_every_message(long_visit: LongVisit) -> None:
    """End goes to the last one, j and k to the next and the one before, Enter in the chart to a
    request.
    """
    made, page = long_visit, long_visit.page
    page.goto(made.origin + SESSION)
    page.wait_for_selector("#timeline canvas")
    made.tasks()
    page.locator("#main").focus()
    page.keyboard.press("End")
    page.wait_for_selector(f"#m{LENGTH - 1}")
    page.goto(f"{made.origin}{SESSION}?at=25000#m25000")
    page.wait_for_function("document.activeElement?.dataset.position === '25000'")
    began = time.monotonic()
    for at in range(25_001, 25_101):
        page.keyboard.press("j")
        page.wait_for_function(f"document.activeElement?.dataset.position === '{at}'")
    page.keyboard.press("k")
    page.wait_for_function("document.activeElement?.dataset.position === '25099'")
    made.figures["100 times j, seconds"] = time.monotonic() - began
    page.locator("#timeline").focus()
    page.keyboard.press("End")
    began = time.monotonic()
    page.keyboard.press("Enter")
    page.wait_for_url("**/request/*")
    made.figures["chart to request, seconds"] = time.monotonic() - began
    made.figures["tasks of keys over 100 ms"] = [one for one in made.tasks() if one > 100]
    made.figures["after keys"] = sizes = made.sizes()
    assert sizes["elements"] < _MOST_NODES
