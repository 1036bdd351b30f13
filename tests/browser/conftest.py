"""A real browser in front of a real inspector, on sessions of real agents.

`make test-browser` installs what this needs: Playwright, Debian's Chromium, axe-core.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

playwright = pytest.importorskip("playwright.sync_api", reason="run `make test-browser`")

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = Path(os.environ.get("FOLDAWAY_DATA") or ROOT.parent / "shared" / "data")
AXE = Path(os.environ.get("FOLDAWAY_AXE", ROOT / ".venv" / "browser" / "node_modules" / "axe-core"))
AGENTS = ("claude-code", "codex", "pi", "opencode", "openhands", "aider-chat-history")
SIZES = {"wide": (1440, 900), "tablet": (768, 1024), "phone": (390, 844)}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync",
         "--disable-component-update", "--no-first-run"]  # fmt: skip
_LEAST = 30
"""Messages of a session that is worth compacting."""


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with sessions of six agents; the longest of each was compacted, some twice."""
    native = DATA / "native"
    if not native.is_dir():
        pytest.skip(f"no real sessions at {native}; set FOLDAWAY_DATA")
    folder = tmp_path_factory.mktemp("home")
    with open_store(folder / "sessions") as store:
        for agent in AGENTS:
            for _ in take_all(store, sessions_in(native / agent)):
                pass
            page = store.sessions(SessionFilter(kind="any"), most=500)
            mine = [one for one in page.sessions if one.source and one.source in agent]
            for info in sorted(mine, key=lambda one: -one.length)[:2]:
                if info.length >= _LEAST:
                    Session.open(store, info.id).compact(force=True)
    return folder


@contextmanager
def opened(*arguments: str) -> Iterator[str]:
    """Run `foldaway open`, and give the address that lets a browser in."""
    with running(*arguments) as (address, _):
        yield address


@contextmanager
def running(*arguments: str) -> Iterator[tuple[str, int]]:
    """Run `foldaway open`, and give the address that lets a browser in and the process id."""
    command = [sys.executable, "-m", "foldaway", "open", "--no-browser", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"http://\S+", line):
                break
        else:
            raise AssertionError("".join(lines))
        try:
            yield found[0], process.pid
            assert process.poll() is None, f"the server stopped by itself: {process.returncode}"
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """One browser for all tests."""
    program = os.environ.get("FOLDAWAY_CHROMIUM") or shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium; run `make test-browser`")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


PATIENCE = 120_000
"""Milliseconds that a page has for what it does, also on a busy machine."""


class Visitor:
    """A browser that was let in, and what must not happen in it."""

    def __init__(self, browser: Any, address: str, token: str = "") -> None:
        """Enter with the address that works once, or by typing the token."""
        self.browser, self.origin = browser, f"http://{urlsplit(address).netloc}"
        self.wrong: list[str] = []
        first = browser.new_context()
        page = first.new_page()
        page.goto(address)
        if token:
            page.get_by_label("The token of this server").fill(token)
            page.get_by_role("button", name="Enter").click()
            page.wait_for_url("**/inspector")
        self.state = first.storage_state()
        self.start = page.url
        first.close()

    def page(self, path: str, *, size: str = "wide", theme: str = "light") -> Any:
        """Open a page in a window of its own; every fault of it is noted."""
        width, height = SIZES[size]
        context = self.browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme,
            storage_state=self.state, reduced_motion="reduce",
        )  # fmt: skip
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(f"{path}: {error}"))
        page.on("console", lambda said: said.type == "error" and self.wrong.append(said.text))
        page.on("request", self._asked)
        page.goto(self.origin + path)
        page.wait_for_load_state("networkidle")
        return page

    def _asked(self, request: Any) -> None:
        name = urlsplit(request.url)
        if name.scheme not in ("data", "blob") and f"{name.scheme}://{name.netloc}" != self.origin:
            self.wrong.append(f"asked another host: {request.url}")

    def check(self, page: Any) -> None:
        """Nothing found by axe, nothing wider than the screen, no fault so far."""
        page.evaluate((AXE / "axe.min.js").read_text())
        found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        flaws = [
            (one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]])
            for one in found
        ]
        assert not flaws, flaws
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{page.url}: {wide} pixels are cut off"
        wrong, self.wrong = self.wrong, []
        assert not wrong, wrong


@pytest.fixture(scope="session")
def inspector(home: Path) -> Iterator[str]:
    """The inspector on the home."""
    with opened("--home", str(home)) as address:
        yield address


@pytest.fixture(scope="session")
def visitor(chromium: Any, inspector: str) -> Visitor:
    """Somebody who looks at it."""
    return Visitor(chromium, inspector)


@pytest.fixture
def visit(chromium: Any) -> Callable[..., Visitor]:
    """Enter another inspector."""
    return partial(Visitor, chromium)
