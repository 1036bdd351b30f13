"""A conversation belongs to the credential that began it, whoever else names it."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from foldaway.gateway.owners import Owners
from foldaway.sessions.library import Library, Project
from foldaway.sessions.tools import answer
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

ALICE = {"authorization": "Bearer sk-alice-0123456789"}
BOB = {"authorization": "Bearer sk-bob-0123456789"}
OAUTH = "Bearer sk-ant-oat01-"


def keys(store: Any) -> list[str]:
    """Return the keys of all conversations."""
    return sorted(one.source_id for one in store.all_sessions(SessionFilter(kind="any")))


def jwt(**claims: str) -> str:
    """Return a token that says who somebody is."""
    parts = ({"alg": "none"}, claims)
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(one).encode()).decode().rstrip("=")
           for one in parts), "c2ln"]
    )  # fmt: skip


def owned(store: Any, *, is_shared: bool = False, user_id: str = "", **headers: str) -> str:
    """Return whom a request belongs to."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    frame = {"metadata": {"user_id": user_id}} if user_id else {}
    return Owners(store, is_shared=is_shared).of(named, frame)


NAMES = ("x-foldaway-session", "x-claude-code-session-id", "thread-id", "session-id", "session_id",
         "x-session-id", "x-session-affinity", "agent-session-id")  # fmt: skip


@pytest.mark.parametrize("header", NAMES)
async def test_another_key_does_not_reach_a_conversation_by_its_name(
    gateway: Any, kit: Any, tmp_path: Path, header: str
) -> None:
    """Whichever header names it, and whatever is said in it: it is a conversation of its own, and
    the first stays as it was.
    """
    long, begun = kit.packed(kit.talk("chat", 30)), kit.packed(kit.talk("chat", 2))
    with open_store(tmp_path / "own") as store:
        async with gateway(store=store) as stand:
            url = stand.url + kit.paths["chat"]
            for headers, body in ((ALICE, long), (BOB, begun), ({}, begun), (ALICE, long)):
                sent = {**headers, header: "hers"}
                async with stand.client.post(url, data=body, headers=sent) as got:
                    await got.read()
            hers, bobs, nobodys, again = stand.upstream.asked
        assert b"fa-" in hers  # it was compacted
        assert again == hers
        assert bobs == nobodys == begun
        found = list(store.all_sessions(SessionFilter(kind="any")))
        assert len({one.root_id for one in found}) == 3


async def test_another_key_is_counted_as_it_is(gateway: Any, kit: Any) -> None:
    """A count would say how much of another conversation is folded."""
    async with gateway() as stand:
        body = kit.packed(kit.talk("messages", 30))
        assert (await stand.post(body, "messages", **ALICE)).note == "compacted 1"
        url = f"{stand.url}/v1/messages/count_tokens"
        for headers, note in ((ALICE, "counted as it would be sent"), (BOB, "pass; nothing is due"),
                              ({}, "pass; nothing is due")):  # fmt: skip
            sent = {"x-foldaway-session": "one", **headers}
            stand.upstream.script = _count
            async with stand.client.post(url, data=body, headers=sent) as got:
                assert got.headers["x-foldaway"] == note


async def _count(request: web.Request, _: bytes) -> web.StreamResponse:
    return web.json_response({"input_tokens": 1})


async def test_a_name_cannot_be_made_to_look_bound(gateway: Any, kit: Any, tmp_path: Path) -> None:
    """Somebody without a key who writes the whole name of the store gets a conversation of his."""
    with open_store(tmp_path / "own") as store:
        async with gateway(store=store) as stand:
            body = kit.packed(kit.talk("chat", 30))
            assert (await stand.post(body, **ALICE)).note == "compacted 1"
        (key,) = keys(store)
        assert key.startswith("chat:one@")
        assert "alice" not in key
        async with gateway(store=store) as stand:
            name = key.removeprefix("chat:")
            short = kit.packed(kit.talk("chat", 2, name="b"))
            assert (await stand.post(short, key=name)).status == 200
        assert len(keys(store)) == 2


async def test_a_restart_and_a_second_gateway_know_the_owner(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """What binds is in the store."""
    body = kit.packed(kit.talk("chat", 30))
    with open_store(tmp_path / "own") as store:
        async with gateway(store=store) as stand:
            await stand.post(body, **ALICE)
            hers = stand.upstream.asked[0]
    with open_store(tmp_path / "own") as store:
        async with gateway(store=store) as stand:
            await stand.post(body, **ALICE)
            assert stand.upstream.asked == [hers]
        assert len(keys(store)) == 1
    held = b"".join(path.read_bytes() for path in (tmp_path / "own").rglob("*") if path.is_file())
    assert b"sk-alice" not in held


async def test_an_old_conversation_goes_to_the_first_key_that_quotes_all_of_it(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Stores from before have no owner: who knows every message may go on with them."""
    body, more = kit.packed(kit.talk("chat", 30)), kit.packed(kit.talk("chat", 31))
    begun = kit.packed(kit.talk("chat", 2))
    with open_store(tmp_path / "own") as store:
        async with gateway(store=store) as stand:
            assert (await stand.post(body)).note == "compacted 1"
            folded = stand.upstream.asked[0]
        assert keys(store) == ["chat:one"]
        async with gateway(store=store) as stand:
            assert (await stand.post(begun, **BOB)).note == "pass; nothing is due"
            assert (await stand.post(more, **ALICE)).note == "compacted 1"
            assert stand.upstream.asked[1][:2_000] == folded[:2_000]
            await stand.post(body)  # without a key, as before: no longer
        assert len(keys(store)) == 3
        assert {"chat:one", "chat:one@"} < set(keys(store))
        async with gateway(store=store) as stand:
            assert (await stand.post(more, **ALICE)).note == "compacted 1"
            assert stand.upstream.asked[0][:2_000] == folded[:2_000]


async def test_a_summary_for_a_client_is_made_of_its_own_conversations(
    gateway: Any, kit: Any
) -> None:
    """The text of a conversation without a name is compared with those of the same key alone."""
    async with gateway(answers_compactions=True) as stand:
        body = kit.talk("chat", 30)
        await stand.post(body, **ALICE)
        asks = {**body, "tools": [], "messages": [
            {"role": "system", "content": "You are a context summarization assistant."},
            {"role": "user", "content": _as_text(body)},
        ]}  # fmt: skip
        url = stand.url + kit.paths["chat"]
        notes = []
        for headers in (BOB, {}, ALICE):
            async with stand.client.post(url, data=kit.packed(asks), headers=headers) as got:
                notes.append(got.headers["x-foldaway"].partition(";")[0])
        assert notes == ["pass", "pass", "answered"]


def _as_text(body: Any) -> str:
    return "\n\n".join(str(one.get("content") or "") for one in body["messages"])


# Whom a request belongs to


def test_each_way_to_send_a_key_counts_and_none_can_be_read_back() -> None:
    """The same key gives the same owner in one store, and another one in another store."""
    with open_store(":memory:") as store, open_store(":memory:") as other:
        assert owned(store) == ""
        said = {owned(store, authorization="Bearer k1"), owned(store, x_api_key="k1"),
                owned(store, x_goog_api_key="k1"), owned(store, api_key="k1")}  # fmt: skip
        assert len(said) == 1
        assert "k1" not in said.pop()
        assert owned(store, x_api_key="k1") != owned(store, x_api_key="k2")
        assert owned(store, x_api_key="k1") != owned(other, x_api_key="k1")
        both = owned(store, x_api_key="k1", authorization="Bearer k2")
        assert both not in (owned(store, x_api_key="k1"), owned(store, x_api_key="k2"))


async def test_a_key_in_the_address_counts(gateway: Any, kit: Any, tmp_path: Path) -> None:
    """Gemini takes it there."""
    with open_store(tmp_path / "own") as store:
        async with gateway(store=store) as stand:
            for key in ("k1", "k2"):
                url = f"{stand.url}{kit.paths['gemini']}&key={key}"
                body = kit.packed(kit.talk("gemini", 2))
                sent = {"x-foldaway-session": "one"}
                async with stand.client.post(url, data=body, headers=sent) as got:
                    await got.read()
        assert len(keys(store)) == 2


def test_a_subscription_is_known_by_its_account_and_not_by_its_token() -> None:
    """Such tokens change every few hours."""
    with open_store(":memory:") as store:
        ids = "user_0a1b_account_uuid-1_session_"
        first = owned(store, authorization=OAUTH + "1", user_id=f"{ids}s1")
        assert first == owned(store, authorization=OAUTH + "2", user_id=f"{ids}s2")
        other = "user_2_account_3_session_1"
        assert first != owned(store, authorization=OAUTH + "2", user_id=other)
        named = {"device_id": "0a1b", "account_uuid": "uuid-1"}
        as_json = [json.dumps({**named, "session_id": one}) for one in ("s1", "s2")]
        second, third = (owned(store, authorization=OAUTH + "1", user_id=one) for one in as_json)
        assert second == third
        one = {"sub": "user-1", "iss": "https://auth"}
        tokens = [jwt(**one, exp="1"), jwt(**one, exp="2"), jwt(sub="user-2", iss="https://auth")]
        found = [owned(store, authorization=f"Bearer {token}", chatgpt_account_id="a")
                 for token in tokens]  # fmt: skip
        assert found[0] == found[1] != found[2]
        assert found[0] != owned(store, authorization=f"Bearer {tokens[0]}", chatgpt_account_id="b")


def test_a_token_that_changes_and_names_nobody() -> None:
    """Alone on this machine such clients share; among others each token is somebody else."""
    with open_store(":memory:") as store:
        tokens = (OAUTH + "1", OAUTH + "2")
        alone = {owned(store, authorization=one) for one in tokens}
        assert len(alone) == 1
        assert owned(store, authorization="Bearer sk-1") not in alone
        assert len({owned(store, authorization=one, is_shared=True) for one in tokens}) == 2


def test_a_count_without_an_account_belongs_to_the_account_of_its_token() -> None:
    """Claude Code names the account in turns and not in counts."""
    with open_store(":memory:") as store:
        owners = Owners(store, is_shared=False)
        headers = {"authorization": OAUTH + "1"}
        turn = owners.of(headers, {"metadata": {"user_id": "user_1_account_2_session_3"}})
        assert owners.of(headers, {}) == turn
        assert owners.of({"authorization": OAUTH + "2"}, {}) != turn


# What an agent may ask for


async def test_an_agent_recalls_what_was_folded_in_its_own_folder_only(
    gateway: Any, kit: Any, tmp_path: Path
) -> None:
    """Through the tools of MCP, on the store of its gateway."""
    with open_store(tmp_path / "store.db") as store:
        async with gateway(store=store, folder=str(tmp_path / "here")) as stand:
            assert (await stand.post(kit.talk("chat", 30), **ALICE)).note == "compacted 1"
            listed = json.dumps(json.loads(stand.upstream.asked[-1])["messages"])
        (reference, *_) = re.findall(r"fa-[0-9a-f]{10}", listed)
        told = [
            answer(Library(store, project=Project.at(tmp_path / folder)), name, arguments)
            for folder in ("here", "elsewhere")
            for name, arguments in (
                ("foldaway_sessions_recall", {"ref": reference}),
                ("foldaway_sessions_search", {"query": "module_3"}),
            )
        ]
    assert ["the parser of module_" in one.text for one in told] == [True, True, False, False]
