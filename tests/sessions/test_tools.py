"""The tools of an agent: every answer is JSON, bounded, marked, and without others' secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldaway.redaction import RedactionPolicy, Redactor
from foldaway.search.values import Sort
from foldaway.sessions.finding import AROUND
from foldaway.sessions.hiding import SPEAKERS
from foldaway.sessions.library import LEAST_TOKENS, MOST_TOKENS, TOKENS, date_of
from foldaway.sessions.session import Session
from foldaway.sessions.tools import MARK, MOST_HITS, TOOLS, Library, answer
from foldaway.stores.store import Store
from foldaway.stores.views import NOTE_CHARS
from foldaway.transcript import estimate_text

Begin = Callable[..., Session]
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
NAMES = [tool.name for tool in TOOLS]
OTHER_SOURCES = {
    "tau-bench", "tau2-bench", "sharegpt", "openai-chat", "openai-responses", "anthropic", "gemini",
}  # fmt: skip
"""Benchmarks, and formats of plain files."""


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def asked(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    done = answer(library, f"foldaway_sessions_{name}", arguments)
    assert not done.failed, done.text
    limit = min(max(arguments.get("max_tokens", 2_000), 500), 10_000)
    assert estimate_text(done.text) <= limit
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
    whole = asked(library, "read", session=session.id[:20], max_tokens=10_000)
    assert len(whole["first"]) == 20
    assert len(whole["last"]) == 10
    around = asked(library, "read", session=session.id, around=12, max_tokens=10_000)
    assert [row["position"] for row in around["rows"]] == list(range(7, 18))
    ref = report.references[0]
    recalled = asked(library, "recall", ref=ref.ref)
    assert recalled["positions"] == list(ref.positions)
    assert asked(library, "status")["offered"] == {"sessions": 1}
    assert asked(library, "pin", session=session.id, position=3, note="why")["pins"] == [3]
    assert asked(library, "status", session=session.id)["pins"] == [3]
    assert asked(library, "pin", session=session.id, position=3, unpin=True)["pins"] == []


def test_recall_hides_secrets(kept: Store, begin: Begin) -> None:
    """The session itself recalls verbatim what it said; the tool shows it without secrets."""
    session = begin(*session_words(f"the token is {SECRET}"))
    ref = session.compact(force=True).references[0].ref
    other = asked(outside(kept), "recall", ref=ref, max_tokens=10_000)
    assert SECRET in json.dumps(session.recall(ref))
    assert SECRET not in other["originals"]
    assert other["session"] == session.id


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
        answer(library, name, {
            "query": "zebra", "session": session.id, "around": 0, "ref": "fa-1", "position": 0,
        }).text
        for name in NAMES
    ]  # fmt: skip
    texts.append(answer(library, "foldaway_sessions_read", {}).text)
    texts.append(answer(library, "foldaway_sessions_read", {"session": session.id}).text)
    texts.append(answer(library, "foldaway_sessions_read", {"session": SECRET}).text)
    assert not [text for text in texts if SECRET in text]


def test_no_piece_of_a_secret_is_in_the_title_of_a_session(kept: Store, begin: Begin) -> None:
    """It is the beginning of what was asked, cut wherever that may be."""
    for room in range(150, 200, 4):
        begin(
            said("user", f"{'wo ' * 70}"[:room] + f" postgres://app:{SECRET}@db/x and more"),
            title="",
        )
        begin(said("user", f"{'wo ' * 70}"[:room] + f" {SECRET} and more"), title="")
    shown = answer(outside(kept), "foldaway_sessions_read", {}).text
    assert '"title":"wo wo' in shown
    assert SECRET[4:12] not in shown


def test_long_answers_are_cut_and_stay_json(kept: Store, begin: Begin) -> None:
    """Whatever is left out is counted, and the answer says how to read on."""
    for number in range(25):
        begin(*(said("user", f"zebra {number} {at} " + "é\n" * 600) for at in range(6)))
    library = Library(kept)
    found = asked(library, "search", query="zebra", most=20)
    assert found["hits_not_shown"] == 20 - len(found["hits"]) > 0
    long = begin(*(said("user", f"{at} " + '"\\\x01' * 400) for at in range(60)))
    whole = asked(library, "read", session=long.id)
    shown = [row["position"] for row in (*whole["first"], *whole["last"])]
    assert whole["left_out"] == 60 - len(shown) > 0
    start = len(whole["first"])
    assert shown == [*range(start), *range(60 - len(whole["last"]), 60)]
    (around,) = re.findall(r"around=(\d+)", whole["more"])
    after = asked(library, "read", session=long.id, around=int(around), max_tokens=10_000)
    assert after["rows"][0]["position"] == start
    assert "more" not in asked(library, "read", session=begin(said("user", "hi")).id)


def test_a_long_original_is_cut_at_its_end(kept: Store, begin: Begin) -> None:
    """The beginning is there, and how much is not."""
    session = begin(*session_words(), said("user", "next"))
    ref = next(
        row for row in session.compact(force=True).references if row.stop - row.start > 3
    ).ref
    other = Library(kept, show=lambda text: text * 20)
    assert "next" not in asked(Library(kept), "recall", ref=ref, max_tokens=10_000)
    found = asked(other, "recall", ref=ref, max_tokens=10_000)
    assert found["next"] == len(found["originals"])
    assert found["originals"].startswith('[{"role":')
    assert found["originals"].endswith("},\n")


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search", {}, "'query' is missing"),
        ("search", {"query": "x", "most": "many"}, "not what it must be"),
        ("search", {"query": "x", "session": "nobody"}, "no session 'nobody'"),
        ("read", {"session": "nobody"}, "no session 'nobody'"),
        ("recall", {"ref": "fa-0000000000"}, "unknown reference 'fa-0000000000'"),
        ("pin", {"session": "nobody"}, "no session"),
        ("status", {"session": "nobody"}, "no session"),
        ("fly", {}, "no tool 'foldaway_sessions_fly'"),
        ("search", {"query": "x", "role": "system"}, "give user, assistant or tool"),
        ("read", {"session": "x" * 100_000}, "no session 'xxx"),
        ("read", {"session": "x", "max_tokens": float("inf")}, "not what it must be"),
    ],
)
def test_what_cannot_be_done_is_said(
    kept: Store, name: str, arguments: dict[str, Any], told: str
) -> None:
    """One sentence, nothing raised, and the caller is told that it failed."""
    done = answer(Library(kept), f"foldaway_sessions_{name}", arguments)
    assert done.failed
    assert told in done.text
    assert len(done.text) <= 500


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    name=st.sampled_from(NAMES),
    arguments=st.dictionaries(
        st.sampled_from(["query", "session", "around", "ref", "position", "most", "role", "sort",
                         "max_tokens", "offset", "since"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
        | st.lists(st.integers()),
    ),
)  # fmt: skip
def test_no_argument_of_a_model_raises(kept: Store, name: str, arguments: dict[str, Any]) -> None:
    """Models send anything."""
    answer(Library(kept), name, arguments)


def test_schemas_are_what_servers_want() -> None:
    """A description that marks the answers, and an object of parameters."""
    for tool in TOOLS:
        assert MARK in tool.description
        assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
    assert [tool.name for tool in TOOLS if not tool.reads] == ["foldaway_sessions_pin"]


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
        ("recall", {"ref": "fa-0123456789", "offset": -1}, "next"),
    ],
)
def test_an_argument_that_means_nothing_is_refused(
    kept: Store, name: str, arguments: dict[str, Any], said: str
) -> None:
    """A sentence that says what can be given, and no answer to another question."""
    done = answer(Library(kept), f"foldaway_sessions_{name}", arguments)
    assert done.failed
    assert said in done.text


def test_originals_that_are_too_long_are_read_page_by_page(kept: Store, begin: Begin) -> None:
    """`next` of one answer is the offset of the following one; together they are the whole."""
    words = [said(("user", "assistant")[n % 2], f"{n} " + "so on " * 120) for n in range(120)]
    session = begin(*words)
    ref = session.compact(force=True).references[0]
    library, offset = Library(kept), 0
    pages: list[str] = []
    while offset is not None:
        page = asked(library, "recall", ref=ref.ref, offset=offset)
        pages.append(page["originals"])
        offset = page.get("next")
    assert len(pages) > 1
    assert json.loads("".join(pages)) == session.recall(ref.ref)
    past = {"ref": ref.ref, "offset": len("".join(pages))}
    assert answer(library, "foldaway_sessions_recall", past).failed


def test_times_are_dates_with_their_offset(kept: Store, begin: Begin) -> None:
    """ISO 8601, so that no model has to count seconds; one that is none is left out."""
    session = begin(said("user", "zebra"))
    now = datetime.now().astimezone()
    library = Library(kept)
    hit = asked(library, "search", query="zebra")["hits"][0]
    row = asked(library, "read", session=session.id)
    for text in (hit["time"], row["started"], row["updated"], row["first"][0]["time"]):
        assert abs(datetime.fromisoformat(text) - now).total_seconds() < 120
    assert not re.search(r"\d{9,}\.\d", answer(library, "foldaway_sessions_read", {}).text)
    for odd in (1e300, float("inf"), float("nan")):
        assert date_of(odd) == ""


def test_an_answer_has_nothing_that_a_model_cannot_use(kept: Store, begin: Begin) -> None:
    """No score, no places of letters, no flags that are off; a title as `read` has it."""
    session = begin(said("user", "where is the zebra"), said("assistant", "here"), title="")
    library = Library(kept)
    (hit,) = asked(library, "search", query="zebra")["hits"]
    assert set(hit) == {"session", "title", "time", "position", "role", "text", "around"}
    assert hit["title"] == "where is the zebra"
    assert hit["around"] == [{"position": 1, "role": "assistant", "text": "here"}]
    whole = asked(library, "read", session=session.id)
    assert whole["title"] == hit["title"]
    assert set(whole["first"][0]) == {"position", "role", "time", "text"}


def test_an_answer_is_as_long_as_the_caller_asks(kept: Store, begin: Begin) -> None:
    """2,000 tokens, or what is asked for, at most 10,000; longer ones tell more."""
    session = begin(*session_words())
    library = Library(kept)
    for arguments in ({"session": session.id}, {"session": session.id, "around": 20}, {}):
        sizes = [len(json.dumps(asked(library, "read", **arguments, max_tokens=tokens)))
                 for tokens in (1, 700, 2_000, 10_000, 10**9)]  # fmt: skip
        assert sizes == sorted(sizes)
    for number in range(30):
        begin(*(said("user", f"pelican {number} {at} " + "and so on " * 80) for at in range(6)))
    few = asked(library, "search", query="pelican", most=20)
    many = asked(library, "search", query="pelican", most=20, max_tokens=10_000)
    assert len(few["hits"]) < len(many["hits"]) <= 20


def test_the_message_that_is_asked_for_is_whole(kept: Store, begin: Begin) -> None:
    """Those around it are cut, which is said; one that is too long is cut too."""
    words = " ".join(f"word{number}" for number in range(700))
    session = begin(said("user", words), said("assistant", words))
    found = asked(Library(kept), "read", session=session.id, around=1, max_tokens=10_000)
    assert found["rows"][1]["text"] == words
    assert re.fullmatch(r"word0 .*… \([\d,]+ more characters\)", found["rows"][0]["text"])
    short = asked(Library(kept), "read", session=session.id, around=1, max_tokens=500)
    assert short["rows"][0]["text"].endswith("more characters)")
    assert short["earlier"] == 0


@pytest.mark.soak
def test_lists_in_an_answer_are_bounded_too(kept: Store, begin: Begin) -> None:
    """Names of tools, pins and the positions of prompts: the first 20, and how many more."""
    calls = [
        {"id": f"c{at}", "type": "function", "function": {"name": f"{at}{'x' * 300}",
                                                          "arguments": "{}"}}
        for at in range(900)
    ]  # fmt: skip
    session = begin(
        {"role": "assistant", "content": "hi", "tool_calls": calls},
        *(said("system", "be brief") for _ in range(900)), *session_words(),
    )  # fmt: skip
    for at in range(900):
        kept.pin(session.id, at, "")
    library = Library(kept)
    row = asked(library, "read", session=session.id, around=0)["rows"][0]
    assert (len(row["tools"]), row["more_tools"]) == (20, 880)
    status = asked(library, "status", session=session.id)
    assert (status["pins"], status["more_pins"]) == (list(range(20)), 880)
    for at in range(900):
        kept.unpin(session.id, at)
    refs = session.compact(force=True).references
    longest = max(refs, key=lambda ref: ref.positions[1] - ref.positions[0])
    found = asked(library, "recall", ref=longest.ref)
    assert len(found["left_out"]) == 20
    assert found["more_left_out"] > 800


def test_a_note_of_a_pin_has_a_limit(kept: Store, begin: Begin) -> None:
    """1,000 characters; a longer one is refused, and nothing is pinned."""
    session = begin(said("user", "hi"))
    arguments = {"session": session.id, "position": 0, "note": "x" * 1_000_000}
    done = answer(Library(kept), "foldaway_sessions_pin", arguments)
    assert done.failed
    assert "at most 1,000 are kept" in done.text
    assert kept.pins(session.id) == ()
    assert asked(Library(kept), "pin", **{**arguments, "note": "x" * 1_000})["pins"] == [0]


def test_the_tools_say_when_to_use_them_and_what_may_be_given() -> None:
    """A model that sees only the schemas knows when to call, what comes back, and one call."""
    for tool in TOOLS:
        assert " when " in tool.description
        assert "Call it" in tool.description
        assert re.search("[Rr]eturns? |Say ", tool.description)
        example = json.loads(tool.description.split("Example: ")[1].removesuffix(f". {MARK}"))
        assert set(tool.parameters["required"]) <= set(example)
        assert set(example) <= set(tool.parameters["properties"])
    # every request of every agent carries them
    carried = [(tool.name, tool.description, tool.parameters) for tool in TOOLS]
    assert estimate_text(json.dumps(carried)) < 2_200


def test_the_schemas_name_the_limits_and_values_that_the_code_has() -> None:
    """They are data, and the code decides."""
    search, read, *_, pin = (tool.parameters["properties"] for tool in TOOLS)
    assert search["role"]["enum"] == list(SPEAKERS)
    assert set(search["source"]["enum"]) == OTHER_SOURCES
    assert search["sort"]["enum"] == list(get_args(Sort))
    assert search["most"]["maximum"] == MOST_HITS
    assert f"at most {MOST_HITS}." in search["most"]["description"]
    assert f"with {AROUND} messages" in read["around"]["description"]
    assert pin["note"]["maxLength"] == NOTE_CHARS
    for limit in (tool.parameters["properties"].get("max_tokens") for tool in TOOLS[:6]):
        assert (limit["minimum"], limit["maximum"]) == (LEAST_TOKENS, MOST_TOKENS)
        assert f"{TOKENS:,} if not given, at most {MOST_TOKENS:,}" in limit["description"]
