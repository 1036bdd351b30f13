"""The numbers of the pages are those of the commands and of the gateway, for the same requests."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.inspector.serving import TOKEN, gateway_with_pages
from tests.gateway.inspector.test_live import Talk

from foldaway.stores import SessionFilter, open_store
from foldaway.testing.model_server import ModelServer
from foldaway.usage import full, money, short

WINDOW = 16_000
STEPS = 40
GIVEN = {"x-foldaway-token": TOKEN}


def text_of(page: str) -> str:
    """Return what a page says, without its elements."""
    bare = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", bare)).split())


def command(folder: Path, *arguments: str) -> Any:
    """Return what a command says about the store."""
    environment = {"HOME": str(folder), "PATH": os.environ["PATH"],
                   "FOLDAWAY_HOME": str(folder / "h"), "FOLDAWAY_STORE": str(folder / "store"),
                   "PYTHONPATH": os.pathsep.join(sys.path)}  # fmt: skip
    program = [sys.executable, "-m", "foldaway", *arguments, "--json"]
    found = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def page_of(url: str, path: str) -> str:
    return httpx.get(url + path, headers={**GIVEN, "accept": "text/html"}, timeout=60).text


def overview_of(url: str) -> str:
    """Return the overview when all is read."""
    for _ in range(600):
        page = page_of(url, "/inspector")
        if 'id="bars"' in page and 'id="progress"' not in page:
            return page
        time.sleep(0.05)
    raise AssertionError(page)


def billed(url: str) -> tuple[float, int]:
    """Return the money and the tokens that the gateway counted."""
    found = httpx.get(f"{url}/metrics", headers=GIVEN).text
    dollars = re.findall(r"^foldaway_dollars_total\{.*\} (\S+)", found, re.M)
    sides = r'^foldaway_tokens_total\{kind="(?:input|output)".*\} (\S+)'
    return sum(map(float, dollars)), int(sum(map(float, re.findall(sides, found, re.M))))


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """A gateway through which a conversation went that was compacted."""
    with ModelServer("Done.") as model, gateway_with_pages(tmp_path, model, WINDOW) as url:
        talk = Talk(url)
        for _ in range(STEPS):
            assert talk.say().status_code == 200
        yield url


@pytest.mark.slow
def test_pages_commands_and_the_gateway_have_the_same_numbers(gateway: str, tmp_path: Path) -> None:
    """Requests, tokens, money and compactions: each is counted once, wherever it is shown."""
    overview = text_of(overview_of(gateway))
    whole = command(tmp_path, "usage")["total"]
    dollars, tokens = billed(gateway)
    assert whole["requests"] == STEPS
    assert whole["total_tokens"] == tokens > 0
    assert whole["cost"] == pytest.approx(dollars, abs=1e-5)
    assert f"You spent {money(dollars)}" in overview
    assert f"{short(tokens)} tokens" in overview
    assert f"{STEPS} requests" in overview

    with open_store(tmp_path / "store", read_only=True) as store:
        (info,) = store.sessions(SessionFilter()).sessions
    shown = command(tmp_path, "sessions", "show", info.id)
    made = sum(bool(one["tokens_before"]) and not one["undone"] for one in shown["steps"])
    noun = "compaction" if made == 1 else "compactions"
    assert made == whole["compactions"] > 0
    assert f" {made} {noun} " in overview
    assert f"{made} {noun} by Foldaway made" in overview
    assert "by the agents" not in overview
    assert shown["totals"]["input_tokens"] + shown["totals"]["output_tokens"] == tokens
    assert shown["totals"]["cost"] == pytest.approx(dollars, abs=1e-5)

    session = text_of(page_of(gateway, f"/inspector/session/{info.id}"))
    assert f"{short(tokens)} tokens in all requests" in session
    assert f"{money(dollars)} at list prices" in session
    assert f" {made} {noun} " in session
    live = text_of(page_of(gateway, "/inspector/live"))
    assert f"{full(STEPS)} requests {money(dollars)} spent" in live
    assert f" {made} {noun} " in live
    listed = text_of(page_of(gateway, "/inspector/sessions"))
    assert f"{short(tokens)} {money(dollars)} {made}×" in listed
