"""The tools of an agent: every answer is JSON, bounded, marked, and without others' secrets."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.redaction import RedactionPolicy, Redactor
from holdfast.sessions.session import Session
from holdfast.sessions.tools import MARK, TOOLS, Library, answer, call
from holdfast.stores.store import Store

Begin = Callable[..., Session]
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
LIMIT = 40_000
NAMES = [tool.name for tool in TOOLS]


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def asked(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    done = answer(library, f"holdfast_sessions_{name}", arguments)
    assert not done.failed, done.text
    assert len(done.text) <= LIMIT
    found: dict[str, Any] = json.loads(done.text)
    assert found["note"] == MARK
    return found


def outside(store: Store) -> Library:
    return Library(store, show=Redactor(RedactionPolicy(personal=False)))


def test_every_tool_answers(kept: Store, begin: Begin) -> None:
    """Search, read in three ways, recall, status, pin."""
    session = begin()
    report = session.compact(force=True)
    library = Library(kept)
    assert asked(library, "search", query="module_3.py")["hits"][0]["session"] == session.id
    assert asked(library, "read")["sessions"][0]["session"] == session.id
    assert len(asked(library, "read", session=session.id[:20])["first"]) == 20
    around = asked(library, "read", session=session.id, around=12)
    assert [row["position"] for row in around["rows"]] == list(range(7, 18))
    ref = report.references[0]
    recalled = asked(library, "recall", ref=ref.ref)
    assert recalled["positions"] == list(ref.positions)
    assert asked(library, "status")["store"]["messages"] == 41
    assert asked(library, "pin", session=session.id, position=3, note="why")["pins"] == [3]
    assert asked(library, "status", session=session.id)["pins"] == [3]
    assert asked(library, "pin", session=session.id, position=3, unpin=True)["pins"] == []


def test_within_a_session_recall_is_verbatim_and_across_sessions_redacted(
    kept: Store, begin: Begin
) -> None:
    """What an agent said and saw itself it may see again; others' secrets it may not."""
    session = begin(*session_words(f"the token is {SECRET}"))
    ref = session.compact(force=True).references[0].ref
    show = Redactor(RedactionPolicy(personal=False))
    own = asked(Library(kept, session.id, show), "recall", ref=ref)
    other = asked(Library(kept, begin(said("user", "hi")).id, show), "recall", ref=ref)
    folded = session.recall(ref)
    assert json.loads(own["originals"]) == folded
    assert SECRET in own["originals"]
    assert SECRET not in other["originals"]
    assert other["session"] == session.id


def test_after_a_rotation_the_session_is_still_the_same(kept: Store, begin: Begin) -> None:
    """The child recalls verbatim what its parent gave out."""
    session = begin(*session_words(f"the token is {SECRET}"), mode="rotate")
    ref = session.compact(force=True).references[0].ref
    library = Library(kept, session.id, Redactor(RedactionPolicy(personal=False)))
    assert SECRET in asked(library, "recall", ref=ref)["originals"]


def session_words(middle: str = "") -> list[Any]:
    """Return a talk that is long enough to be folded, with something said in its middle."""
    return [said(role, f"{role} {n} {middle if n == 6 else ''} " + "word " * 150)
            for n in range(20) for role in ("user", "assistant")]  # fmt: skip


def test_no_secret_leaves_through_any_tool(kept: Store, begin: Begin) -> None:
    """Words, titles, goals, folders and notes; the frame stays where it is."""
    frame = json.dumps({"key": "messages", "body": {"system": SECRET}}).encode()
    session = begin(
        said("user", f"zebra {SECRET}"), *session_words(), title=f"my {SECRET}",
        goal=f"hide {SECRET}", cwd=f"/home/{SECRET}", frame=frame,
    )  # fmt: skip
    library = outside(kept)
    texts = [
        call(library, name, {
            "query": "zebra", "session": session.id, "around": 0, "ref": "hf-1", "position": 0,
        })
        for name in NAMES
    ]  # fmt: skip
    texts.append(call(library, "holdfast_sessions_read", {}))
    texts.append(call(library, "holdfast_sessions_read", {"session": session.id}))
    texts.append(call(library, "holdfast_sessions_read", {"session": SECRET}))
    assert not [text for text in texts if SECRET in text]


def test_no_piece_of_a_secret_is_in_the_title_of_a_session(kept: Store, begin: Begin) -> None:
    """It is the beginning of what was asked, cut wherever that may be."""
    for room in range(150, 200, 4):
        begin(
            said("user", f"{'wo ' * 70}"[:room] + f" postgres://app:{SECRET}@db/x and more"),
            title="",
        )
        begin(said("user", f"{'wo ' * 70}"[:room] + f" {SECRET} and more"), title="")
    shown = call(outside(kept), "holdfast_sessions_read", {})
    assert '"title":"wo wo' in shown
    assert SECRET[4:12] not in shown


def test_long_answers_are_cut_and_stay_json(kept: Store, begin: Begin) -> None:
    """Whatever is left out is counted."""
    for number in range(25):
        begin(*(said("user", f"zebra {number} {at} " + "é\n" * 600) for at in range(6)))
    library = Library(kept)
    found = asked(library, "search", query="zebra", most=20)
    assert found["hits_not_shown"] == 20 - len(found["hits"]) > 0
    long = begin(*(said("user", f"{at} " + '"\\\x01' * 400) for at in range(60)))
    whole = asked(library, "read", session=long.id)
    assert whole["left_out"] == 30


def test_a_long_original_is_cut_at_its_end(kept: Store, begin: Begin) -> None:
    """The beginning is there, and how much is not."""
    session = begin(*session_words(), said("user", "next"))
    ref = next(
        row for row in session.compact(force=True).references if row.stop - row.start > 3
    ).ref
    wide = Library(kept, session.id, show=lambda text: text * 20)
    other = Library(kept, show=lambda text: text * 20)
    assert "not_shown" not in asked(wide, "recall", ref=ref)
    found = asked(other, "recall", ref=ref)
    assert found["not_shown"] > 0
    assert found["originals"].startswith('[{"role":')


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search", {}, "'query' is missing"),
        ("search", {"query": "x", "most": "many"}, "not what it must be"),
        ("search", {"query": "x", "session": "nobody"}, "no session 'nobody'"),
        ("read", {"session": "nobody"}, "no session 'nobody'"),
        ("recall", {"ref": "hf-0000000000"}, "no original under 'hf-0000000000'"),
        ("pin", {"session": "nobody"}, "no session"),
        ("status", {"session": "nobody"}, "no session"),
        ("fly", {}, "no tool 'holdfast_sessions_fly'"),
    ],
)
def test_what_cannot_be_done_is_said(
    kept: Store, name: str, arguments: dict[str, Any], told: str
) -> None:
    """One sentence, nothing raised, and the caller is told that it failed."""
    done = answer(Library(kept), f"holdfast_sessions_{name}", arguments)
    assert done.failed
    assert told in done.text


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(NAMES),
    arguments=st.dictionaries(
        st.sampled_from(["query", "session", "around", "ref", "position", "most", "role", "sort"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.lists(st.integers()),
    ),
)  # fmt: skip
def test_no_argument_of_a_model_raises(kept: Store, name: str, arguments: dict[str, Any]) -> None:
    """Models send anything."""
    answer(Library(kept), name, arguments)


def test_schemas_are_what_engines_and_servers_want() -> None:
    """A name, a description that marks the answers, and an object of parameters."""
    for tool in TOOLS:
        schema = tool.schema()
        assert set(schema) == {"name", "description", "parameters"}
        assert MARK in schema["description"]
        assert set(schema["parameters"]["required"]) <= set(schema["parameters"]["properties"])
    assert [tool.name for tool in TOOLS if not tool.reads] == ["holdfast_sessions_pin"]


def test_a_search_is_narrowed_by_day_and_tool(kept: Store, begin: Begin) -> None:
    """The same filters as the command line has."""
    call = {"id": "c1", "type": "function", "function": {"name": "shell", "arguments": '"grep"'}}
    begin(
        said("user", "where is the needle"),
        {"role": "assistant", "content": "the needle", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a needle"},
    )
    library = Library(kept)

    def found(**filters: str) -> bool:
        return bool(asked(library, "search", query="needle", **filters)["hits"])

    assert found(tool="shell", since="2020-01-01", until="2999-12-31T10:00")
    assert not found(tool="browser")
    assert not found(since="2999-01-01")
    assert not found(until="2020-01-01")
    today = date.today().isoformat()
    assert found(since=today, until=today)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("search", {"query": "x", "sort": "bogus"}, "relevance, newest or oldest"),
        ("search", {"query": "x", "since": "yesterday"}, "2026-01-31"),
        ("search", {"query": "x", "until": 7}, "2026-01-31"),
        ("recall", {"ref": "hf-0123456789", "offset": -1}, "next"),
    ],
)
def test_an_argument_that_means_nothing_is_refused(
    kept: Store, name: str, arguments: dict[str, Any], said: str
) -> None:
    """A sentence that says what can be given, and no answer to another question."""
    done = answer(Library(kept), f"holdfast_sessions_{name}", arguments)
    assert done.failed
    assert said in done.text


def test_originals_that_are_too_long_are_read_page_by_page(kept: Store, begin: Begin) -> None:
    """`next` of one answer is the offset of the following one; together they are the whole."""
    words = [said(("user", "assistant")[n % 2], f"{n} " + "so on " * 120) for n in range(120)]
    session = begin(*words)
    ref = session.compact(force=True).references[0]
    library, pages, offset = Library(kept, session.id), [], 0
    while offset is not None:
        page = asked(library, "recall", ref=ref.ref, offset=offset)
        pages.append(page["originals"])
        offset = page.get("next")
    assert len(pages) > 1
    assert json.loads("".join(pages)) == session.recall(ref.ref)
    past = {"ref": ref.ref, "offset": len("".join(pages))}
    assert answer(library, "holdfast_sessions_recall", past).failed
