"""The pictures of docs/inspector.md, made from the pages as they are.

The sessions are public ones under the MIT license; names of home folders in them are replaced. One
is played again, message by message, so that it is compacted on the way: its usage is simulated.
"""

from __future__ import annotations

import gzip
import os
import re
import runpy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import DATA, ROOT, Visitor, opened

from foldaway.agents.importers import ImportedSession, sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.sessions import Session, SessionOptions, internals
from foldaway.stores import NewSession, Store, open_store

PICTURES = ROOT / "docs" / "pictures" / "inspector"
SHRINK = runpy.run_path(str(ROOT / "docs" / "small_pictures.py"))["shrink"]
AGENTS = ("claude-code", "codex", "opencode", "pi")
WINDOW = 100_000
_HOMES = re.compile(rb"/(?:Users|home)/[\w.-]+")
_RUDE = re.compile(rb"\bfuck(?=ed|ing|\b)", re.IGNORECASE)
_TWO_DAYS = 172_800


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of four agents, with other names of home folders and a milder word."""
    if not (DATA / "native").is_dir():
        pytest.skip(f"no real sessions at {DATA / 'native'}; set FOLDAWAY_DATA")
    folder = tmp_path_factory.mktemp("files")
    for agent in AGENTS:
        for path in (DATA / "native" / agent).glob("*.gz"):
            if "fixture" not in path.name:
                text = _HOMES.sub(b"/home/dev", gzip.decompress(path.read_bytes()))
                (folder / path.stem).write_bytes(_RUDE.sub(b"mess", text))
    return folder


def play(store: Store, found: ImportedSession) -> str:
    """Append a session message by message, compact when it is due, and note simulated usage."""
    session = Session(
        store,
        "played",
        context_length=WINDOW,
        model=found.model,
        options=SessionOptions(
            new=NewSession(
                dialect=found.transcript.dialect,
                source="pi",
                cwd=found.cwd,
                model=found.model,
                started=time.time() - _TWO_DAYS,
            )
        ),
    )
    last, view = 0, 0
    for message in found.transcript.messages:
        if message.role == "assistant":
            session.compact()
            prompt = internals(session).engine.estimate()
            read = last if session.info.view == view else 0
            view, last = session.info.view, prompt
            session.used({
                "input_tokens": prompt - read - (prompt - read), "output_tokens": 200,
                "cache_read_input_tokens": read, "cache_creation_input_tokens": prompt - read,
            })  # fmt: skip
        session.append(message.wire)
    return session.id


@pytest.fixture(scope="module")
def shown(chromium: Any, files: Path, tmp_path_factory: Any) -> Iterator[tuple[Visitor, str]]:
    """The inspector on a home with these sessions, and the one that was played."""
    home = tmp_path_factory.mktemp("home")
    with open_store(home / "sessions") as store:
        for _ in take_all(store, sessions_in(files)):
            pass
        (long,) = [
            one for one in sessions_in(files / "large-session.jsonl")
            if isinstance(one, ImportedSession)
        ]  # fmt: skip
        name = play(store, long)
    with opened("--home", str(home)) as address:
        yield Visitor(chromium, address), name


def take(page: Any, name: str, *, height: int = 860) -> None:
    """Write a picture of what is seen."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.set_viewport_size({"width": page.viewport_size["width"], "height": height})
    page.wait_for_load_state("networkidle")
    (PICTURES / f"{name}.png").write_bytes(SHRINK(page.screenshot()))


@pytest.mark.skipif("FOLDAWAY_NO_PICTURES" in os.environ, reason="no pictures are wanted")
def test_the_pictures_of_the_page(shown: tuple[Visitor, str]) -> None:
    """Six pages, each with something to see."""
    visitor, name = shown
    address = f"/inspector/session/{name}"
    page = visitor.page("/inspector")
    page.wait_for_selector("canvas")
    take(page, "overview")
    take(visitor.page(address), "session")
    view = visitor.page(f"{address}?show=view", theme="dark")
    view.locator(".row.f-added .originals").first.scroll_into_view_if_needed()
    take(view, "model-sees")
    compaction = visitor.page(f"{address}/compaction/1")
    compaction.wait_for_selector("#facts[aria-busy=false]")
    take(compaction, "compaction", height=1_150)
    take(visitor.page("/inspector/search?q=theme"), "search")
    phone = visitor.page(address, size="phone", theme="dark")
    take(phone, "phone")
    assert not visitor.wrong
