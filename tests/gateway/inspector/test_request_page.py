"""The page of one request: what was sent, what of it was new, and where it comes from."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.inspector.conftest import SECRET, Pages
from tests.gateway.inspector.native import visit, write_session
from tests.gateway.inspector.serving import TOKEN, gateway_with_pages

from foldaway.stores import NewMessage, NewSession, TurnUsage
from foldaway.testing.model_server import ModelServer

SENT = re.compile(r'class="row f-(\w+) sent-(\w+)"')
NUMBERS = re.compile(r"<li><strong>([^<]+)</strong><span>([^<]+)</span>")


def figures(text: str) -> dict[str, str]:
    """Return the figures of a page by what they are called."""
    return {name: value for value, name in NUMBERS.findall(text)}


@pytest.fixture
def asked(pages: Pages) -> Pages:
    """A session with a request before its compaction and two after it."""
    said = {"role": "user", "content": "and now?"}
    new = NewMessage(body=json.dumps(said).encode(), role="user", tokens=6, time=1_000.0)
    usage: dict[str, Any] = {"model": "claude-sonnet-4-5", "view": 1, "input_tokens": 2_000}
    pages.store.add_usage(pages.id, TurnUsage(position=30, **usage, output_tokens=7))
    pages.store.append(pages.id, [new])
    pages.store.add_usage(
        pages.id, TurnUsage(position=31, time=1_002.5, **usage, cache_read_tokens=1_980)
    )
    return pages


def test_a_request_shows_its_own_prompt(asked: Pages) -> None:
    """As many messages as the model saw then, with the view that was sent."""
    whole = asked.get(f"{asked.address}/request/1")
    assert figures(whole)["messages, 29 new"] == "29"  # the last one is the answer
    assert 'class="row f-added' not in whole
    compacted = asked.get(f"{asked.address}/request/2")
    assert 'class="row f-added' in compacted
    assert "a compaction came between" in compacted or "after compaction 1" in compacted


def test_what_was_cached_and_what_was_new_is_said_of_each_message(asked: Pages) -> None:
    """Nothing new came out of the cache; only the newest message is new to the model."""
    last = asked.get(f"{asked.address}/request/3")
    marks = [mark for _, mark in SENT.findall(last)]
    assert marks == [*["from"] * (len(marks) - 1), "new"]
    before = {mark for _, mark in SENT.findall(asked.get(f"{asked.address}/request/2"))}
    assert "sent" in before  # nothing of it was cached, although some was sent before
    found = figures(last)
    assert found["from the cache, 99%"] == "2.0k"
    assert found["not from the cache"] == "20"
    assert found["to the answer"] == "2.5 s"
    assert found["at list prices"].startswith("$0.0")


def test_requests_lead_to_each_other(asked: Pages) -> None:
    """And there is none before the first or after the last."""
    first, last = (asked.get(f"{asked.address}/request/{at}") for at in (1, 3))
    assert 'rel="prev"' not in first
    assert f'rel="next" href="{asked.address}/request/2"' in first
    assert f'rel="prev" href="{asked.address}/request/2"' in last
    assert 'rel="next"' not in last
    for wrong in ("0", "4", "x", "99999999999999"):
        asked.get(f"{asked.address}/request/{wrong}", 404)


def test_the_rest_of_a_prompt_has_the_same_marks(asked: Pages) -> None:
    """Parts that the page asks for later end where the prompt ended."""
    text = asked.get(f"{asked.address}/request/1")
    (rows,) = re.findall(r'data-rows="([^"]+)"', text)
    part = asked.get(rows.replace("&amp;", "&") + "start=0&stop=40")
    assert len(SENT.findall(part)) == 29
    assert {mark for _, mark in SENT.findall(part)} == {"new"}


def test_a_secret_stays_hidden_and_no_word_becomes_an_element(asked: Pages) -> None:
    """As on all other pages: one is shown on request, and hostile words are text."""
    text = asked.get(f"{asked.address}/request/1")
    assert SECRET not in text
    (mark,) = re.findall(r'data-mark="([^"]+)"', text)
    shown = asked.post(f"{asked.address}/secret", position=2, mark=mark)
    assert shown == {"secret": SECRET}


def test_the_system_prompt_beside_the_messages_is_closed_and_its_secrets_hidden(
    pages: Pages,
) -> None:
    """It is no message of the log, so it has a place of its own."""
    frame = {"key": "messages", "body": {"system": f"Obey <b>me</b>, token {SECRET}"}}
    said = {"role": "user", "content": "hello"}
    info = pages.store.create(
        NewSession(dialect="anthropic", source="codex", frame=json.dumps(frame).encode()),
        messages=[NewMessage(body=json.dumps(said).encode(), role="user", tokens=5)],
    )
    pages.store.add_usage(info.id, TurnUsage(position=1, input_tokens=50))
    text = pages.get(f"/inspector/session/{info.id}/request/1")
    assert "<summary>System prompt" in text
    assert "&lt;b&gt;me" in text
    assert SECRET not in text
    (mark,) = re.findall(r'data-mark="([^"]+)"', text)
    found = pages.post(f"/inspector/session/{info.id}/secret", position=-1, mark=mark)
    assert found == {"secret": SECRET}


def test_a_request_says_where_it_comes_from(asked: Pages, tmp_path: Path) -> None:
    """From our own log, or put together from what an agent wrote down."""
    assert "As it was sent" in asked.get(f"{asked.address}/request/1")
    write_session(tmp_path / "files", "one", "first words", "second words")
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as pages:
        (address,) = set(re.findall(r"/inspector/session/file-\w+", pages.get("/inspector")))
        text = pages.get(f"{address}/request/2")
        assert "Reconstructed from the file of claude-code" in text
        assert f'href="{address}/request/1"' in text  # an address that another start keeps


def test_a_system_prompt_and_rules_files_are_closed_in_the_conversation(pages: Pages) -> None:
    """What the user says beside rules files is seen."""
    rules = "<system-reminder>\nContents of /work/CLAUDE.md:\n" + "Be brief. " * 40
    said = [
        {"role": "system", "content": "You are an agent"},
        {"role": "user", "content": f"{rules}</system-reminder>\nplant a tree"},
    ]
    info = pages.store.create(
        NewSession(dialect="openai-chat"),
        messages=[
            NewMessage(body=json.dumps(one).encode(), role=one["role"], tokens=200) for one in said
        ],
    )
    text = pages.get(f"/inspector/session/{info.id}")
    assert re.search(r"<details><summary>System prompt <small>200 tokens", text)
    assert re.search(r"plant a tree.*<details><summary>Rules files", text, re.S)


def shown_page(client: httpx.Client, address: str) -> str:
    """Return a page as soon as it is there: an answer is taken down after the client has it."""
    ends = time.monotonic() + 60
    while (found := client.get(address)).status_code == 404 and time.monotonic() < ends:
        time.sleep(0.05)
    return found.text


def test_the_prompt_of_a_gateway_is_what_its_provider_got(tmp_path: Path) -> None:
    """Message for message, before a compaction and after it; nothing of it was cached."""
    said: list[Any] = [{"role": "user", "content": "Repair it."}]
    with (
        ModelServer("Done.") as model,
        gateway_with_pages(tmp_path, model, 8_000) as url,
        httpx.Client(base_url=url, follow_redirects=True, timeout=60) as client,
    ):
        for at in range(30):
            call = {"name": "read_file", "arguments": json.dumps({"path": f"src/{at}.py"})}
            said += [
                {"role": "assistant", "content": None,
                 "tool_calls": [{"id": f"c{at}", "type": "function", "function": call}]},
                {"role": "tool", "tool_call_id": f"c{at}", "content": f"line {at} fails; " * 150},
            ]  # fmt: skip
            body, headers = {"model": "gpt-5", "messages": said}, {"x-foldaway-session": "one"}
            httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=60)
        client.post("/inspector/enter", data={"token": TOKEN})
        (name,) = set(
            re.findall(r"/inspector/session/[\w-]+", client.get("/inspector/sessions").text)
        )
        for number in (2, 30):
            page = shown_page(client, f"{name}/request/{number}")
            assert "As it was sent" in page
            assert 'sent-from"' not in page
            (address,) = re.findall(r'href="(/foldaway/[^"]+)"', page)
            shown = client.get(address.replace("&amp;", "&")).json()["messages"]
            assert shown == model.requests[number - 1].body["messages"]
        assert "after compaction" in page
        assert len(shown) < len(said)
