"""Content that tries to run, to leave its place or to reach another host is shown as text."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import opened, running
from tests.browser.hostile_files import BESIDE, write_all, write_long_line

WATCH = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => window.violations.push(
  `${event.violatedDirective} ${event.blockedURI} ${event.sourceFile ?? ""} ${event.sample}`));
"""
LONG_LINE = 50_000_000
_SECONDS = 30.0
"""For any one page, on a machine with other work; most take a tenth of a second."""
_LONG_SECONDS = 90.0
"""To read, copy and show a file with a line of 50 MB."""
_MOST_CHARS = 2_000_000
"""Of any page of it as HTML: what is shown of a message has a bound of 60,000."""
_MOST_COPIES = 30
"""Of the long line, in memory at once: 1.5 GB."""


class Watched:
    """A visitor whose pages report whatever hostile content could do."""

    def __init__(self, visitor: Any) -> None:
        self.visitor = visitor
        context = visitor.browser.new_context(
            viewport={"width": 390, "height": 844}, storage_state=visitor.state
        )
        context.add_init_script(WATCH)
        self.page = context.new_page()
        self.wrong: list[str] = []
        note = self.wrong.append
        self.page.on("dialog", lambda one: (note(f"dialog {one.message}"), one.dismiss()))
        self.page.on("pageerror", lambda error: note(f"{self.page.url}: {error}"))
        self.page.on("console", self._said)
        self.page.on("request", lambda request: self._asked(request.url))
        context.on("page", lambda page: page != self.page and note(f"opened {page.url}"))

    def _said(self, said: Any) -> None:
        url = said.location["url"]
        if said.type == "error" and not url.endswith("/favicon.ico"):  # of a text without HTML
            self.wrong.append(f"{said.text} {url}")

    def _asked(self, url: str) -> None:
        if not url.startswith((self.visitor.origin + "/", "data:image/", "blob:", "file:")):
            self.wrong.append(f"asked {url[:200]}")

    def go(self, path: str, seconds: float = _SECONDS) -> Any:
        """Open a page, open everything that is folded in it, and find nothing wrong."""
        address = path if path.startswith("file:") else self.visitor.origin + path
        began = time.monotonic()
        answer = self.page.goto(address, timeout=seconds * 1_000)
        self.page.wait_for_load_state("networkidle", timeout=seconds * 1_000)
        took = time.monotonic() - began
        assert answer is None or answer.status in (0, 200), (path, answer.status)
        self.check(path)
        assert took < seconds, (path, took)
        return self.page

    def check(self, path: str) -> None:
        """Open what is folded; nothing ran, nothing was blocked, nothing is cut off."""
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        found = self.page.evaluate(
            "({evil: window.evil, violations: window.violations, polluted: ({}).polluted,"
            " wide: document.documentElement.scrollWidth - innerWidth, where: location.href,"
            " base: document.baseURI, handlers: [...document.querySelectorAll('*')].filter("
            "   (one) => [...one.attributes].some((a) => /^on/i.test(a.name))).length,"
            " foreign: document.querySelectorAll('iframe, object, embed, base, main style,"
            " main link,"
            ' main script:not([type="application/json"]), [style*=url]\').length,'
            " links: [...document.links].map((one) => one.protocol)"
            "   .filter((name) => !/^(https?|file|mailto):$/.test(name))})"
        )
        assert found["evil"] is None, path
        assert found["polluted"] is None, path
        assert not found["violations"], (path, found["violations"])
        assert found["handlers"] == found["foreign"] == 0, (path, found)
        assert not found["links"], (path, found["links"])
        assert found["wide"] <= 0, (path, found["wide"])
        assert not self.wrong, (path, self.wrong)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of hostile files, with a hostile name."""
    folder = tmp_path_factory.mktemp("files") / '"><script>alert(1)<'
    write_all(folder)
    return folder


@pytest.fixture(scope="module")
def watched(files: Path, chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The inspector on that folder."""
    from tests.browser.conftest import Visitor

    home = tmp_path_factory.mktemp("home")
    with opened(str(files), "--home", str(home)) as address:
        yield Watched(Visitor(chromium, address))


@pytest.fixture(scope="module")
def sessions(watched: Watched) -> list[str]:
    """The addresses of all sessions."""
    return _sessions(watched)


def _sessions(watched: Watched) -> list[str]:
    page = watched.go("/inspector/sessions")
    page.wait_for_selector("#progress", state="detached", timeout=60_000)
    found = page.eval_on_selector_all(
        "main a[href*='/inspector/session/']", "all => all.map((one) => one.getAttribute('href'))"
    )
    return sorted(set(found))


def test_lists_search_and_live_show_hostile_names_as_text(
    watched: Watched, sessions: list[str]
) -> None:
    """Titles, projects, models and agents of files, on every page that lists them."""
    assert len(sessions) >= 20
    page = watched.go("/inspector")
    page.wait_for_selector("#progress", state="detached", timeout=60_000)
    watched.check("/inspector")
    for link in page.eval_on_selector_all(
        "main a[href^='/inspector?']", "all => all.map((one) => one.getAttribute('href'))"
    )[:12]:
        watched.go(link)
    watched.go("/inspector/live")
    watched.go("/inspector/lab")
    page = watched.go(f"/inspector/search?q={BESIDE}")
    page.wait_for_selector("#copying", state="detached", timeout=60_000)
    page = watched.go(f"/inspector/search?q={BESIDE}")
    assert page.locator("[data-part] a[href*='/session/']").count() >= 5
    watched.check("search")
    watched.go("/inspector/search?q=%3Cscript%3Ealert(1)%3C/script%3E%20%22onload=%22{{7*7}}%00")


def test_every_session_shows_its_messages_as_text(watched: Watched, sessions: list[str]) -> None:
    """The log and the view, scrolled to the end, with everything unfolded."""
    for address in sessions:
        page = watched.go(address)
        for _ in range(4):
            page.evaluate("scrollTo(0, document.body.scrollHeight)")
            page.wait_for_load_state("networkidle")
        watched.check(address)
        watched.go(f"{address}?show=view")
        watched.go(f"{address}/message/0")


def _compacted(watched: Watched, address: str) -> str:
    """Compact a session in the page, and return the address of what came of it."""
    page = watched.go(f"{address}/compaction")
    done = "#trial-said:not(:has-text('Working'))"
    page.wait_for_selector(done, timeout=60_000)
    page.locator("#focus").fill("<script>window.evil=1</script>{{7*7}}\u202e")
    page.locator("#size").focus()
    page.keyboard.press("Home")
    page.wait_for_selector(done, timeout=60_000)
    watched.check("trial")
    page.locator("#compact").click()
    page.wait_for_url(re.compile(r"/compaction/\d+$"))
    page.wait_for_selector("#facts[aria-busy=false]", timeout=60_000)
    watched.check("compaction")
    return page.url.removeprefix(watched.visitor.origin)


def _longest(watched: Watched, sessions: list[str], count: int) -> list[str]:
    sizes = {
        one: int(watched.go(one).locator("#talk").get_attribute("data-total")) for one in sessions
    }
    return sorted(sizes, key=lambda one: -sizes[one])[:count]


def test_what_is_made_of_hostile_sessions_is_text_too(
    watched: Watched, sessions: list[str], tmp_path: Path
) -> None:
    """A trial, a compaction, a comparison, and every page saved and opened from a file."""
    first, *_, last = longest = _longest(watched, sessions, 2)
    made = [_compacted(watched, one) for one in longest]
    for address in made:
        watched.go(address)
        watched.go(f"{address.rpartition('/compaction')[0]}?show=view")
    names = [one.rpartition("/")[2] for one in (first, last)]
    compare = f"/inspector/lab?a={names[0]}&b={names[1]}"
    watched.go(compare)
    pages = ["/inspector", "/inspector/sessions", f"/inspector/search?q={BESIDE}", compare,
             *longest, *made]  # fmt: skip
    for at, address in enumerate(pages):
        asked = watched.visitor.origin + address + ("&" if "?" in address else "?") + "export=1"
        path = tmp_path / f"{at}.html"
        path.write_bytes(watched.page.request.get(asked).body())
        watched.go(path.as_uri())


def test_a_line_of_fifty_megabytes_is_shown_in_bounded_time_and_memory(
    visit: Callable[[str], Any], tmp_path: Path
) -> None:
    """The page holds its beginning; the server needs some copies of it, not tens of them."""
    write_long_line(tmp_path / "files", LONG_LINE)
    with running(str(tmp_path / "files" / "long.jsonl"), "--home", str(tmp_path / "home")) as (
        address,
        process,
    ):
        watched = Watched(visit(address))
        start = watched.visitor.start.removeprefix(watched.visitor.origin)
        for path in (start, f"{start}?show=view", "/inspector", "/inspector/live",
                     f"/inspector/search?q={BESIDE}", f"{start}/compaction"):  # fmt: skip
            page = watched.go(path, _LONG_SECONDS)
            assert page.evaluate("document.documentElement.outerHTML.length") < _MOST_CHARS, path
        peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        assert peak is None or int(peak[1]) * 1024 < _MOST_COPIES * LONG_LINE
