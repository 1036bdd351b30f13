"""The REST API: every route over a small store, what it refuses, and its description."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from foldaway._core.exports import __version__
from foldaway.errors import StoreUnavailable
from foldaway.gateway.actions import ApiContext
from foldaway.gateway.api import ENDPOINTS, ROOT, api_routes
from foldaway.gateway.app import GatewayServer, make_app
from foldaway.gateway.events import Events, TooManyReaders
from foldaway.gateway.guard import Owner
from foldaway.gateway.options import GatewayOptions
from foldaway.sessions import Session, SessionOptions
from foldaway.sessions.idle import Retention
from foldaway.stores import NewSession, Store, open_store

SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
WINDOW = 8_000
OWNER = "the secret of the owner"
GIVEN = {"x-foldaway-token": OWNER}
JSON = {"content-type": "application/json"}


def talk(count: int, word: str = "zebra") -> list[dict[str, Any]]:
    """Return messages of a user and a model; one has a secret in it."""
    return [
        {"role": "user" if at % 2 == 0 else "assistant",
         "content": f"{word} {at} {SECRET if at == 2 else ''} " + "word " * 150}
        for at in range(count)
    ]  # fmt: skip


def fill(store: Store) -> tuple[str, str]:
    """Put two sessions into a store, of which the first was compacted; return their ids."""
    long = Session(
        store,
        "long",
        context_length=WINDOW,
        model="m",
        options=SessionOptions(
            new=NewSession(dialect="openai-chat", title="The long one", source="claude-code")
        ),
    )
    long.append(*talk(30))
    long.used({"prompt_tokens": 6_000, "completion_tokens": 40})
    assert long.compact(force=True).status == "compacted"
    short = Session(store, "short", context_length=WINDOW)
    short.append(*talk(4, "giraffe"))
    return long.id, short.id


class Api:
    """A store with two sessions, and a client of its API."""

    def __init__(self, store: Store, *, token: str = "", **options: Any) -> None:
        self.store, self.events = store, Events()
        self.long, self.short = fill(store)
        chosen = GatewayOptions(context_length=WINDOW, token=token, most_bytes=1 << 20)
        app = make_app(store, chosen, self.events, owner=Owner(token=OWNER), **options)
        headers = {"x-foldaway-token": token or OWNER}
        self.client = TestClient(app, "http://127.0.0.1", headers=headers)

    def get(self, path: str, status: int = 200, **query: Any) -> Any:
        """Return the answer to a GET."""
        found = self.client.get(ROOT + path, params=query)
        assert found.status_code == status, found.text
        return found.json()

    def post(self, path: str, status: int = 200, /, *, root: str = ROOT, **body: Any) -> Any:
        """Return the answer to a POST."""
        found = self.client.post(root + path, json=body)
        assert found.status_code == status, found.text
        return found.json()

    def delete(self, path: str, status: int = 200) -> Any:
        """Return the answer to a DELETE."""
        found = self.client.delete(ROOT + path, headers=JSON)
        assert found.status_code == status, found.text
        return found.json()

    def ref(self) -> str:
        """Return a reference that the compaction gave out."""
        return self.get(f"/sessions/{self.long}/views/1")["report"]["references"][0]["ref"]


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    """For tests that change nothing."""
    with open_store(":memory:") as store:
        yield Api(store)


@pytest.fixture
def fresh() -> Iterator[Api]:
    """For tests that change something."""
    with open_store(":memory:") as store:
        yield Api(store)


# What is read


def test_sessions_are_listed_page_by_page(api: Api) -> None:
    """The last used first; the mark of a page leads to the next, which ends with ""."""
    first = api.get("/sessions", most=1)
    second = api.get("/sessions", most=1, after=first["next"])
    assert [first["sessions"][0]["session"], second["sessions"][0]["session"]] == [
        api.short, api.long,
    ]  # fmt: skip
    assert second["next"] == ""
    assert "frame" not in first["sessions"][0]
    found = api.get("/sessions", source="claude-code", text="long")["sessions"]
    assert [row["session"] for row in found] == [api.long]
    assert api.get("/sessions", since=4e9)["sessions"] == []


def test_a_session_has_its_facts_compactions_usage_pins_and_lineage(api: Api) -> None:
    """As `foldaway sessions show` has them; it is found by its own id, its beginning, its key."""
    found = api.get(f"/sessions/{api.long}")
    assert (found["session"]["messages"], found["session"]["compactions"]) == (30, 1)
    assert found["details"]["steps"][0]["current"] is True
    assert found["details"]["totals"]["input_tokens"] == 6_000
    assert found["details"]["pins"] == []
    assert [row["session"] for row in found["lineage"]] == [api.long]
    assert api.get("/sessions/long")["session"] == found["session"]


def test_the_log_is_read_by_position_and_is_whole(api: Api) -> None:
    """All pages together are all messages, also those that a compaction folded."""
    rows: list[Any] = []
    start: int | None = 0
    while start is not None:
        page = api.get(f"/sessions/{api.long}/messages", start=start, most=7)
        rows += page["messages"]
        start = page["next"]
    assert [row["position"] for row in rows] == list(range(30))
    assert [row["message"]["role"] for row in rows] == [one["role"] for one in talk(30)]
    assert rows[3]["message"] == talk(30)[3]
    assert api.get(f"/sessions/{api.long}/messages", start=99)["messages"] == []


def test_a_view_is_what_the_model_sees_or_saw(api: Api) -> None:
    """The current one, one by its number, the log as it is; page by page."""
    now = api.get(f"/sessions/{api.long}/view", most=500)
    seen = Session.open(api.store, api.long, context_length=WINDOW).messages
    assert (now["view"], now["total"]) == (1, len(seen))
    assert len(now["messages"]) == len(seen) < 30
    assert now["messages"] == api.get(f"/sessions/{api.long}/view", number=1)["messages"]
    before = api.get(f"/sessions/{api.long}/view", number=0, most=10)
    assert (before["total"], len(before["messages"]), before["next"]) == (30, 10, 10)


def test_a_step_says_what_a_compaction_did(api: Api) -> None:
    """Its report, what became of each message, and the summary that it added."""
    (row,) = api.get(f"/sessions/{api.long}/views")["views"]
    step = api.get(f"/sessions/{api.long}/views/{row['number']}")
    assert step["view"] == row
    assert step["report"]["status"] == "compacted"
    fates = step["comparison"]["fates_before"]
    assert len(fates) == 30
    assert fates.count("folded") == step["comparison"]["folded"] > 0
    written = [one for one in step["comparison"]["fates_after"] if one != "kept"]
    assert [one["fate"] for one in step["written"]] == written
    assert "fa-" in json.dumps(step["written"])
    assert "there are 1" in api.get(f"/sessions/{api.long}/views/7", 404)["error"]["message"]
    assert api.get(f"/sessions/{api.short}/views") == {
        "session": api.short, "current": 0, "views": [],
    }  # fmt: skip


def test_a_search_finds_what_was_folded(api: Api) -> None:
    """With what stands around it, in all sessions or in those that are named."""
    (hit,) = api.get("/search", q="zebra", around=1)["hits"]
    assert hit["session"] == api.long
    assert len(hit["window"]) in (2, 3)
    hits = api.get("/search", q="zebra", session=[api.long, api.short], role="user")["hits"]
    assert {one["role"] for one in hits} == {"user"}
    assert len(hits) > 1
    assert api.get("/search", q="zebra", source="codex")["hits"] == []


def test_a_recall_gives_the_originals_page_by_page(api: Api) -> None:
    """All pages together are the messages behind the reference."""
    whole = api.get(f"/recall/{api.ref()}", most=500)
    first = api.get(f"/recall/{api.ref()}", most=1, session=api.long)
    rest = api.get(f"/recall/{api.ref()}", start=first["next"], most=500)
    assert first["messages"] + rest["messages"] == whole["messages"]
    start, stop = whole["positions"]
    assert [row["position"] for row in whole["messages"]] == list(range(start, stop))
    assert api.get("/recall/fa-0000000000", 404)["error"]["kind"] == "UnknownReference"


def readings(api: Api) -> list[str]:
    """Return what every GET that shows content says."""
    paths = [row.path for row in ENDPOINTS if row.method == "GET" and "events" not in row.path]
    values = {"id": api.long, "number": "1", "ref": api.ref()}
    found: list[str] = []
    for path in paths:
        query = {"q": "zebra", "around": 50} if path.endswith("/search") else {}
        answer = api.client.get(
            re.sub(r"\{(\w+)\}", lambda one: values[one[1]], path), params=query
        )
        assert answer.status_code == 200
        found.append(answer.text)
    return found


def test_no_answer_holds_a_secret_and_nothing_else_is_hidden(api: Api) -> None:
    """Each secret is a placeholder, which is all that the redactor changes."""
    texts = readings(api)
    assert not [text for text in texts if SECRET in text]
    hidden = {mask for text in texts for mask in re.findall(r"\[redacted:[^\]]*\]", text)}
    assert len(hidden) == 1


@pytest.mark.parametrize("token", ["", "s3cret"])
def test_what_is_not_redacted_is_shown_to_whoever_has_a_token(token: str) -> None:
    """It is the owner's; by default it is redacted all the same."""
    with open_store(":memory:") as store:
        api = Api(store, token=token)
        path = f"/sessions/{api.long}/messages"
        assert api.get(path, redact="false")["messages"][2]["message"] == talk(3)[2]
        assert SECRET not in json.dumps(api.get(path))
        answer = api.client.get(ROOT + path, headers={"x-foldaway-token": "other"})
        assert answer.status_code == 403


def test_an_error_cannot_confirm_a_guess_at_a_secret(api: Api) -> None:
    """It quotes what was asked without it, and without the tag of a placeholder."""
    said = api.get(f"/sessions/{SECRET}", 404)["error"]["message"]
    assert SECRET not in said
    assert "[redacted]" in said


# What is changed


def test_a_compaction_is_previewed_done_and_undone(fresh: Api) -> None:
    """A preview changes nothing and says what the compaction then does."""
    path = f"/sessions/{fresh.short}"
    Session.open(fresh.store, fresh.short, context_length=WINDOW).append(*talk(30, "giraffe")[4:])
    before = fresh.get(path)
    shown = fresh.post(f"{path}/preview", keep_last=2, focus="the animals")
    assert shown["report"]["status"] == "compacted"
    assert "fa-" in json.dumps(shown["written"])
    assert fresh.get(path) == before
    done = fresh.post(f"{path}/compact", keep_last=2, focus="the animals")
    assert (done["session"], done["previous"], done["view"]) == (fresh.short, fresh.short, 1)
    for name in ("tokens_after", "messages_after", "folded"):
        assert done["report"][name] == shown["report"][name]
    assert fresh.post(f"{path}/undo")["view"] == 0
    assert fresh.post(f"{path}/undo", 409)["error"]["kind"] == "NothingToUndo"


def test_a_budget_is_previewed_as_the_compaction_to_it_is_done(fresh: Api) -> None:
    """Each of several sizes has the report of the real compaction to that size, in any order, and
    the fates cover the log; nothing changes.
    """
    path = f"/sessions/{fresh.short}"
    Session.open(fresh.store, fresh.short, context_length=WINDOW).append(*talk(40, "giraffe")[4:])
    before = fresh.get(path)
    shown = fresh.post(f"{path}/budgets", budgets=[90, 20, 50, 20, 100], focus="animals")
    assert [row["percent"] for row in shown["budgets"]] == [20, 50, 90, 100]
    assert fresh.get(path) == before
    for row in shown["budgets"]:
        alone = fresh.post(f"{path}/preview", target_tokens=row["target_tokens"], focus="animals")
        done = fresh.post(f"{path}/compact", target_tokens=row["target_tokens"], focus="animals")
        real: dict[str, Any] = {**done["report"], "references": [], "persistence": "none"}
        assert row["report"] == real
        assert {**alone["report"], "references": []} == real
        starts, stops = [one[0] for one in row["fates"]], [one[1] for one in row["fates"]]
        assert starts == [0, *stops[:-1]]
        assert stops[-1] == shown["messages"] == 40
        by_fate = {
            fate: sum(stop - start for start, stop, one in row["fates"] if one == fate)
            for fate in ("kept", "rewritten", "folded")
        }
        assert by_fate == {name: real[name] for name in by_fate}
        if real["status"] == "compacted":
            assert json.dumps(row["summary"])[1:-1] in json.dumps(alone["written"])
            fresh.post(f"{path}/undo")
        else:
            assert row["percent"] == 100
    sizes = [row["report"]["tokens_after"] for row in shown["budgets"]]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == shown["tokens"]


def test_a_preview_shows_a_summary_that_goes_into_a_message(fresh: Api) -> None:
    """The message of the user that the summary stands before counts as rewritten, not as kept."""
    path = f"/sessions/{fresh.short}"
    Session.open(fresh.store, fresh.short, context_length=WINDOW).append(*talk(40, "giraffe")[4:])
    shown = fresh.post(f"{path}/preview", target_tokens=1_000)
    assert [row["fate"] for row in shown["written"]] == ["rewritten"]
    fresh.post(f"{path}/compact", target_tokens=1_000)
    step = fresh.get(f"{path}/views/1")
    assert step["comparison"]["fates_after"] == shown["comparison"]["fates_after"]


def test_a_compaction_is_tried_again_on_how_it_was_then(fresh: Api) -> None:
    """Before a view the log is as long as it was, and the same compaction gives the same."""
    path = f"/sessions/{fresh.short}"
    session = Session.open(fresh.store, fresh.short, context_length=WINDOW)
    session.append(*talk(30, "giraffe")[4:])
    first = session.compact(force=True)
    session.append(*talk(70, "lion")[30:])
    second = session.compact(force=True, target_tokens=2_000)
    for number, was, target in ((1, first, None), (2, second, 2_000)):
        shown = fresh.post(f"{path}/preview", before=number, target_tokens=target)["report"]
        for name in ("tokens_before", "tokens_after", "messages_after", "folded"):
            assert shown[name] == getattr(was, name)
    assert fresh.post(f"{path}/budgets", before=1, budgets=[50])["messages"] == 30
    assert fresh.post(f"{path}/preview", 404, before=9)["error"]["kind"] == "NotThere"


def test_a_compaction_that_is_not_due_is_not_done_without_force(fresh: Api) -> None:
    """The report says so; that is no error."""
    done = fresh.post(f"/sessions/{fresh.short}/compact", force=False)
    assert (done["report"]["status"], done["report"]["reason"]) == ("unchanged", "below threshold")


def test_a_message_is_pinned_and_let_go(fresh: Api) -> None:
    """With a note; a position that is not there is refused."""
    path = f"/sessions/{fresh.short}/pins"
    assert fresh.post(f"{path}/1", note="why")["pins"] == [{"position": 1, "note": "why"}]
    assert fresh.post(f"{path}/9", 404)["error"]["kind"] == "UnknownPosition"
    assert fresh.delete(f"{path}/1") == {"session": fresh.short, "pins": []}


@pytest.mark.parametrize("root", [ROOT, "/api"])
def test_a_fork_shares_the_first_messages(fresh: Api, root: str) -> None:
    """At both addresses; neither session changes the other."""
    made = fresh.post(f"/sessions/{fresh.short}/fork", root=root, at=3, title="Another way")
    assert (made["parent"], made["forked_at"], made["title"]) == (fresh.short, 3, "Another way")
    assert made["messages"] == 3
    lineage = fresh.get(f"/sessions/{fresh.short}")["lineage"]
    assert [row["session"] for row in lineage] == [fresh.short, made["session"]]
    fresh.post(f"/sessions/{fresh.short}/fork", 404, root=root, at=5)


def test_a_deleted_session_is_gone(fresh: Api) -> None:
    """Only by its whole id: the beginning of one may be another's."""
    fresh.delete(f"/sessions/{fresh.short[:-1]}", 404)
    gone = fresh.delete(f"/sessions/{fresh.short}")
    assert (gone["erased"]["sessions"], gone["messages"]) == (1, 4)
    fresh.get(f"/sessions/{fresh.short}", 404)
    fresh.delete(f"/sessions/{fresh.short}", 404)


def test_retention_goes_by_the_settings_and_by_what_is_asked() -> None:
    """Without limits nothing is deleted, and in a dry run neither."""
    with open_store(":memory:") as store:
        api = Api(store, retention=Retention(days=1e-9))
        assert api.post("/retention", days=0) == {"sessions": [], "messages": 0, "erased": None}
        plan = api.post("/retention", dry_run=True)
        assert {row["session"] for row in plan["sessions"]} == {api.long, api.short}
        assert plan["erased"] is None
        assert len(api.get("/sessions")["sessions"]) == 2
        assert api.post("/retention")["erased"]["sessions"] == 2
        assert api.get("/sessions")["sessions"] == []


def test_a_list_comes_back_smaller_in_its_own_shape(fresh: Api) -> None:
    """A list as a list, a request as a request; without a key nothing is kept."""
    given = talk(30, "tiger")
    done = fresh.post("/compact", messages=given)
    assert len(done["messages"]) < 30
    assert (done["is_changed"], done["session"]) == (True, "")
    whole = fresh.post("/compact", messages={"model": "m", "messages": given})
    assert whole["messages"]["model"] == "m"
    assert len(whole["messages"]["messages"]) < 30
    assert len(fresh.get("/sessions")["sessions"]) == 2
    same = fresh.post("/compact", messages=talk(4))
    assert (same["messages"], same["is_changed"]) == (talk(4), False)


def test_a_list_with_a_key_is_followed(fresh: Api) -> None:
    """The same list gives the same answer; what is new is appended to the same session."""
    given = talk(60, "tiger")
    first = fresh.post("/compact", messages=given, key="k", context_length=WINDOW)
    assert len(first["messages"]) < 60
    again = fresh.post("/compact", messages=given, key="k", context_length=WINDOW)
    assert again["messages"] == first["messages"]
    assert first["messages"][-1] == given[-1]
    more = [*given, {"role": "user", "content": "and now?"}]
    body = {"model": "m", "messages": more}
    then = fresh.post("/compact", messages=body, key="k", context_length=WINDOW)
    assert then["session"] == first["session"]
    assert then["messages"]["messages"] == [*first["messages"], more[-1]]
    assert fresh.get(f"/sessions/{then['session']}")["session"]["messages"] == 61


# What is refused

BAD: list[tuple[str, str, dict[str, Any]]] = [
    ("GET", "/sessions", {"most": "0"}),
    ("GET", "/sessions", {"most": "501"}),
    ("GET", "/sessions", {"most": "many"}),
    ("GET", "/sessions", {"kind": "nobody"}),
    ("GET", "/sessions", {"since": "yesterday"}),
    ("GET", "/sessions", {"newest": "perhaps"}),
    ("GET", "/sessions", {"after": "nowhere"}),
    ("GET", "/sessions", {"colour": "red"}),
    ("GET", "/sessions", {"most": ["1", "2"]}),
    ("GET", "/sessions/{short}/messages", {"start": "-1"}),
    ("GET", "/sessions/{short}/messages", {"start": str(2**31)}),
    ("GET", "/sessions/{short}/messages", {"id": "other"}),
    ("GET", "/sessions/{short}/views/0", {}),
    ("GET", "/sessions/{short}/views/one", {}),
    ("GET", "/sessions/{short}/view", {"number": "-1"}),
    ("GET", "/search", {}),
    ("GET", "/search", {"q": ""}),
    ("GET", "/search", {"q": "x", "sort": "best"}),
    ("GET", "/search", {"q": "x", "around": "51"}),
    ("POST", "/sessions/{short}/compact", {"keep_last": 0}),
    ("POST", "/sessions/{short}/compact", {"focus": 7}),
    ("POST", "/sessions/{short}/compact", {"force": "perhaps"}),
    ("POST", "/sessions/{short}/compact", {"id": "other"}),
    ("POST", "/sessions/{short}/preview", {"deep": True}),
    ("POST", "/sessions/{short}/preview", {"target_tokens": 0}),
    ("POST", "/sessions/{short}/compact", {"target_tokens": -5}),
    ("POST", "/sessions/{short}/budgets", {}),
    ("POST", "/sessions/{short}/budgets", {"budgets": []}),
    ("POST", "/sessions/{short}/budgets", {"budgets": [0]}),
    ("POST", "/sessions/{short}/budgets", {"budgets": [101]}),
    ("POST", "/sessions/{short}/budgets", {"budgets": list(range(1, 22))}),
    ("POST", "/sessions/{short}/pins/first", {}),
    ("POST", "/sessions/{short}/pins/0", {"note": "x" * 1_001}),
    ("POST", "/sessions/{short}/fork", {"at": -1}),
    ("POST", "/retention", {"days": -1}),
    ("POST", "/retention", {"megabytes": 1e300}),
    ("POST", "/compact", {"messages": "hello"}),
    ("POST", "/compact", {}),
    ("POST", "/compact", {"messages": [], "key": "k" * 201}),
]


@pytest.mark.parametrize(("method", "path", "given"), BAD)
def test_what_is_out_of_range_is_refused(
    api: Api, method: str, path: str, given: dict[str, Any]
) -> None:
    """With 422, what is wrong and of which kind, and never a traceback."""
    place = ROOT + path.format(short=api.short)
    query, body = (given, None) if method == "GET" else (None, given)
    answer = api.client.request(method, place, params=query, json=body)
    assert answer.status_code == 422
    problem = answer.json()["error"]
    assert set(problem) == {"message", "kind"}
    assert problem["message"]
    assert "Traceback" not in answer.text


def test_what_does_not_exist_is_not_found(api: Api) -> None:
    """A session, a path, a method; no such request goes on to a provider."""
    for path in ("", "/messages", "/views", "/views/1", "/view"):
        assert api.get(f"/sessions/nobody{path}", 404)["error"]["kind"] == "UnknownSession"
    for path in ("/compact", "/preview", "/undo", "/pins/0", "/fork"):
        assert api.post(f"/sessions/nobody{path}", 404)["error"]["kind"] == "UnknownSession"
    assert api.get("/nothing", 404)["error"]["kind"] == "NoRoute"
    assert api.get("/sessions/", 404)["error"]["kind"] == "NoRoute"
    assert api.post("/sessions", 405)["error"]["kind"] == "NoRoute"
    assert api.client.head(f"{ROOT}/events").status_code == 405


def test_a_name_of_several_sessions_is_a_conflict(fresh: Api) -> None:
    """It says which they are."""
    shared = min(len(fresh.long), len(fresh.short), 6)
    answer = fresh.get(f"/sessions/{fresh.long[:shared]}", 409)
    assert answer["error"]["kind"] == "AmbiguousSession"
    assert fresh.short in answer["error"]["message"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"a": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_object_is_not_readable(api: Api, body: bytes) -> None:
    """With 400."""
    answer = api.client.post(f"{ROOT}/compact", content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["kind"] == "NotReadable"


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
@pytest.mark.parametrize("row", [row for row in ENDPOINTS if row.method != "GET"])
def test_a_change_wants_json(api: Api, row: Any, kind: str) -> None:
    """So that no form of a browser can ask for one; nothing is looked at before."""
    path = row.path.format(id=api.short, position=0)
    headers = {"content-type": kind} if kind else {}
    answer = api.client.request(row.method, path, content=b"{}", headers=headers)
    assert answer.status_code == 415


def test_parameters_of_a_change_are_not_taken_from_the_address(fresh: Api) -> None:
    """A dry run that is asked for in the wrong place must not delete."""
    answer = fresh.client.post(f"{ROOT}/retention?dry_run=true", json={"megabytes": 0.000001})
    assert answer.status_code == 422
    assert len(fresh.get("/sessions")["sessions"]) == 2


def test_a_body_is_bounded_also_when_it_is_packed(api: Api) -> None:
    """By what the gateway takes of any request."""
    large = json.dumps({"messages": talk(4), "focus": "x" * (1 << 20)}).encode()
    answer = api.client.post(f"{ROOT}/compact", content=large, headers=JSON)
    assert answer.status_code == 413
    packed = {**JSON, "content-encoding": "gzip"}
    answer = api.client.post(f"{ROOT}/compact", content=gzip.compress(large), headers=packed)
    assert answer.status_code == 400
    small = gzip.compress(json.dumps({"messages": talk(4)}).encode())
    answer = api.client.post(f"{ROOT}/compact", content=small, headers=packed)
    assert answer.status_code == 200


class Broken:
    """A store that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fail(*args: object, **kwargs: object) -> Any:
            raise self.error

        return fail


@pytest.mark.parametrize(
    ("error", "status"),
    [(StoreUnavailable("there", "it is locked", remedy="wait"), 503), (RuntimeError("words"), 500)],
)
def test_a_store_that_fails_is_an_answer(
    error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Without a traceback, and with nothing that was said in the log."""
    store: Any = Broken(error)
    context = ApiContext.of(store, GatewayOptions(), Events())
    client = TestClient(Starlette(routes=api_routes(context)))
    answer = client.get(f"{ROOT}/sessions")
    assert answer.status_code == status
    assert answer.json()["error"]["kind"] == type(error).__name__
    assert "words" not in answer.text + caplog.text
    assert ("gateway.api_failed" in caplog.text) is (status == 500)


@given(st.text(min_size=1, max_size=20))
def test_any_name_of_a_session_is_answered(api: Api, name: str) -> None:
    """Found, unknown, ambiguous or no path: never an error of the gateway."""
    path = "".join(f"%{byte:02x}" for byte in name.encode("utf-8", "replace"))
    answer = api.client.get(f"{ROOT}/sessions/{path}")
    assert answer.status_code in (200, 404, 409)


# The description


def routes_of(api: Api) -> set[tuple[str, str]]:
    """Return the method and path of every route that is there."""
    context = ApiContext.of(api.store, GatewayOptions(), Events())
    found: set[tuple[str, str]] = set()
    for route in api_routes(context):
        within = route.routes if isinstance(route, Mount) else [route]
        prefix = route.path if isinstance(route, Mount) else ""
        for one in within:
            assert isinstance(one, Route)
            found |= {
                (method, prefix + one.path) for method in one.methods or () if method != "HEAD"
            }
    return found


def test_a_gateway_says_its_version_and_that_it_is_well(api: Api) -> None:
    """Whoever watches it sees which release answers."""
    assert api.client.get("/healthz").json() == {"status": "ok", "version": __version__}


def test_every_route_is_described_and_nothing_else(api: Api) -> None:
    """Each with its own name, its parameters in the path, and a schema that is there."""
    page = api.get("/openapi.json")
    assert page["openapi"] == "3.1.0"
    assert page["info"]["version"] == __version__
    described = {
        (method.upper(), path): operation
        for path, methods in page["paths"].items() for method, operation in methods.items()
    }  # fmt: skip
    assert described.keys() == routes_of(api)
    names = [operation["operationId"] for operation in described.values()]
    assert len(set(names)) == len(names)
    for (method, path), operation in described.items():
        assert operation["summary"].endswith((".", ":"))
        placed = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
        assert placed == re.findall(r"\{(\w+)\}", path)
        assert all(one["schema"].get("description") for one in operation["parameters"])
        assert ("requestBody" in operation) == (method != "GET")
    refs = set(re.findall(r'"\$ref": ?"#/components/schemas/(\w+)"', json.dumps(page)))
    assert refs <= page["components"]["schemas"].keys()


def test_the_page_names_every_route(api: Api) -> None:
    """A reader finds each path in docs/gateway-api.md."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway-api.md").read_text()
    rows = re.findall(r"^\| `(GET|POST|DELETE) ([^`]+)`", page, re.MULTILINE)
    assert set(rows) == routes_of(api)


# Events, at a socket


@contextmanager
def served(api: Api) -> Generator[str]:
    """Yield the address of a real server; it must stop by itself, whoever still listens."""
    listening = socket.create_server(("127.0.0.1", 0))
    options = GatewayOptions(context_length=WINDOW)
    app = make_app(api.store, options, api.events, owner=Owner(token=OWNER))
    config = uvicorn.Config(app, log_level="critical", lifespan="on")
    server = GatewayServer(config, api.events)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


def test_events_arrive_as_they_happen_and_end_with_the_server(fresh: Api) -> None:
    """A change by the API is one; a stream that is open does not keep the server alive."""
    with httpx.Client(timeout=10, headers=GIVEN) as client:
        with served(fresh) as address:
            request = client.build_request("GET", f"{address}{ROOT}/events")
            answer = client.send(request, stream=True)
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.iter_lines()
            assert next(lines).startswith(":")
            fresh.events.publish({"kind": "request", "tokens": 3})
            path = f"{ROOT}/sessions/{fresh.short}/pins/0"
            done = httpx.post(address + path, json={}, headers=GIVEN)
            assert done.status_code == 200
            told = [json.loads(line[6:]) for line in (next(lines) for _ in range(4)) if line]
        assert told == [
            {"kind": "request", "tokens": 3},
            {"kind": "changed", "what": "pinMessage", "session": fresh.short},
        ]
        assert [line for line in lines if line] == []


def read_events(events: Events, act: Callable[[], object], count: int) -> list[bytes]:
    """Return the first frames that a reader gets who looks only after `act`."""

    async def read() -> list[bytes]:
        frames = events.listen()
        found = [await anext(frames)]
        act()
        return found + [await anext(frames) for _ in range(count)]

    # in debug mode a thread that does what only the loop may is refused
    return asyncio.run(asyncio.wait_for(read(), 10), debug=True)


def test_a_slow_reader_loses_the_oldest_events_and_is_told_so() -> None:
    """What waits is bounded."""
    events = Events(most_waiting=2)

    def publish() -> None:
        for number in range(5):
            events.publish({"n": number})

    frames = read_events(events, publish, 3)
    assert [json.loads(frame[6:]) for frame in frames[1:]] == [
        {"kind": "lost", "events": 3}, {"n": 3}, {"n": 4},
    ]  # fmt: skip


def test_silence_is_broken_by_a_comment() -> None:
    """So that nobody between takes the connection for dead."""
    assert read_events(Events(ping_seconds=0.001), lambda: None, 1)[1] == b": ping\n\n"


def test_events_may_come_from_any_thread() -> None:
    """While the reader waits in the event loop, which is woken by the rules of asyncio."""
    events = Events(ping_seconds=5)
    thread = threading.Thread(target=events.publish, args=({"n": 1},))

    def publish() -> None:
        asyncio.get_running_loop().call_later(0.001, thread.start)

    (_, frame) = read_events(events, publish, 1)
    assert frame == b'data: {"n":1}\n\n'


def test_what_was_published_before_the_end_is_still_told() -> None:
    """Also if the reader was busy with an event when the next ones came."""
    events = Events()

    async def read() -> list[bytes]:
        frames = events.listen()
        await anext(frames)
        events.publish({"n": 1})
        await anext(frames)
        events.publish({"n": 2})
        events.close()
        return [frame async for frame in frames]

    assert asyncio.run(read()) == [b'data: {"n":2}\n\n']


def test_readers_are_bounded_and_make_room_when_they_go(fresh: Api) -> None:
    """One more gets 503; whoever goes is forgotten."""
    events = Events(most_readers=1)

    async def two() -> None:
        first = events.listen()
        await anext(first)
        with pytest.raises(TooManyReaders):
            events.listen()
        await first.aclose()
        events.listen()

    asyncio.run(two())
    fresh.events.close()
    assert fresh.get("/events", 503)["error"]["kind"] == "TooManyReaders"


@pytest.mark.slow
def test_nothing_but_the_gateway_loads_a_server() -> None:
    """Neither `import foldaway` nor another command pays for `foldaway serve` or its pages."""
    source = Path(__file__).resolve().parents[2] / "src" / "foldaway"
    loads = re.compile(r"^(?:from|import) (?:foldaway\.gateway|starlette|uvicorn|aiohttp)", re.M)
    found = [path.relative_to(source) for path in source.rglob("*.py")
             if loads.search(path.read_text())]  # fmt: skip
    known = {"gateway", "integrations", "testing"}
    assert {path.parts[0] for path in found} <= known
    script = (
        "import sys, foldaway.integrations.clients\n"
        "print({'starlette', 'uvicorn', 'aiohttp'} & sys.modules.keys())"
    )  # adapters of frameworks read requests as the gateway does, without a server
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"set()\n"
