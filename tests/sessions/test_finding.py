"""Past sessions found again: discover, scroll, read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.rows import each_row

from foldaway.errors import UnknownSession
from foldaway.search.values import Filters
from foldaway.sessions.finding import AROUND, ENDS, discover, read, scroll
from foldaway.sessions.hiding import Show, as_it_is
from foldaway.sessions.library import TITLE_CHARS, short_title
from foldaway.sessions.session import Session
from foldaway.stores.open import open_store
from foldaway.stores.store import Store
from foldaway.stores.values import NewMessage, NewSession

Begin = Callable[..., Session]


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def hidden(text: str) -> str:
    return text.replace("secret", "[gone]")


def test_a_hit_shows_where_it_stands(kept: Store, begin: Begin) -> None:
    """Snippet with its marks, five messages either side, the first three and the last three."""
    session = begin(source="codex", source_id="c1")
    (hit,) = discover(kept, "module_10.py")
    assert (hit.session, hit.source, hit.source_id) == (session.id, "codex", "c1")
    assert (hit.position, hit.role, hit.title) == (21, "user", "Modules")
    assert [hit.snippet[start:stop] for start, stop in hit.spans] == ["module_10.py"]
    around = range(21 - AROUND, 21 + AROUND + 1)
    assert [row.position for row in hit.window] == list(around)
    assert [row.position for row in hit.first] == list(range(ENDS))
    assert [row.position for row in hit.last] == [38, 39, 40]


def test_the_best_place_of_a_lineage_stands_for_it(kept: Store, begin: Begin) -> None:
    """Other places are counted; a branch is of the same lineage, another session is not."""
    session = begin()
    session.branch(11)
    begin(said("user", "another question"))
    hits = discover(kept, "question")
    assert len(hits) == 2
    assert next(hit for hit in hits if hit.session != hits[0].session).more >= 0
    mine = next(hit for hit in hits if kept.session(hit.session).root_id == session.info.root_id)
    assert mine.more > 3


@pytest.mark.parametrize("show", [as_it_is, hidden])
def test_twenty_sessions_are_found_if_there_are_twenty(kept: Store, show: Show) -> None:
    """Also where one long session holds all of the newest hits, and the session that asks more."""
    for number in range(19):
        keep(kept, f"old{number}", f"the deploy number {number}")
    keep(kept, "long", *(f"another deploy, {number}" for number in range(650)))
    keep(kept, "mine", *(f"my own deploy, {number}" for number in range(650)))
    hits = discover(kept, "deploy", current="mine", most=20, around=1, show=show)
    assert {hit.session for hit in hits} == {"long", *(f"old{number}" for number in range(19))}


def keep(store: Store, name: str, *texts: str) -> None:
    store.create(NewSession(dialect="openai-chat", id=name))
    store.append(name, [
        NewMessage(body=json.dumps(said("user", text)).encode(), role="user", text=text)
        for text in texts
    ])  # fmt: skip


def test_within_a_session_every_place_is_a_hit(kept: Store, begin: Begin) -> None:
    """By the filter or typed into the query; the best first, no place twice."""
    session = begin()
    for hits in (
        discover(kept, "question", filters=Filters(sessions=(session.id,)), most=4),
        discover(kept, f"question session:{session.id}", most=4),
    ):
        assert len({hit.position for hit in hits}) == len(hits) == 4
        assert {hit.session for hit in hits} == {session.id}
        assert all(hit.more == 0 for hit in hits)


def test_what_a_compaction_folded_is_found(kept: Store, begin: Begin) -> None:
    """Folding hides a message from the model and not from a search."""
    session = begin()
    session.compact(force=True)
    assert [hit.position for hit in discover(kept, '"module_2.py"')] == [5]


def test_what_the_model_sees_anyway_is_not_found_for_it(kept: Store, begin: Begin) -> None:
    """Of the current session only what was folded; of others everything."""
    session = begin()
    other = begin(said("user", "module_19.py too, and module_2.py"))
    assert {hit.session for hit in discover(kept, "module_19.py", current=session.id)} == {other.id}
    session.compact(force=True)
    assert {hit.session for hit in discover(kept, "module_19.py", current=session.id)} == {other.id}
    folded = discover(kept, "module_2.py", current=session.id)
    assert {hit.session for hit in folded} == {session.id, other.id}


def test_subagents_are_found_on_request(kept: Store, begin: Begin) -> None:
    """A search of a person looks in sessions of people."""
    begin(said("user", "a zebra"), kind="subagent")
    assert discover(kept, "zebra") == []
    assert len(discover(kept, "zebra", kinds=())) == 1


def test_filters_narrow(kept: Store, begin: Begin) -> None:
    """By role, source and session."""
    one = begin(said("user", "a zebra"), said("assistant", "which zebra?"), source="codex")
    two = begin(said("user", "my zebra"), source="pi")
    find = lambda **chosen: [  # noqa: E731
        (hit.session, hit.role) for hit in discover(kept, "zebra", filters=Filters(**chosen))
    ]
    assert find(roles=("assistant",)) == [(one.id, "assistant")]
    assert {session for session, _ in find(sources=("pi",))} == {two.id}
    assert {session for session, _ in find(sessions=(one.id,))} == {one.id}
    assert find(since=4e9) == []


def test_a_hit_leads_to_the_session_that_goes_on(kept: Store, begin: Begin) -> None:
    """After a rotation the child is what a person would resume."""
    session = begin(mode="rotate")
    was = session.id
    session.compact(force=True)
    assert session.id != was
    (hit,) = discover(kept, "module_10.py")
    assert hit.session == session.id
    assert scroll(kept, was, 21).session.id == session.id
    assert scroll(kept, was, 21).rows == scroll(kept, session.id, 21).rows


def test_scrolling_forth_shows_every_message_once(kept: Store, begin: Begin) -> None:
    """`later` goes on where the page ended, `earlier` before it began."""
    session = begin()
    at: int | None = AROUND
    seen: list[int] = []
    while at is not None:
        page = scroll(kept, session.id, at)
        seen += [row.position for row in page.rows]
        at = page.later
    assert sorted(set(seen)) == list(range(41))
    back: int | None = 40
    found: set[int] = set()
    while back is not None:
        page = scroll(kept, session.id, back)
        found |= {row.position for row in page.rows}
        back = page.earlier
    assert found == set(range(41))


@pytest.mark.parametrize("at", [-5, 0, 40, 10**9])
def test_any_place_can_be_asked_for(kept: Store, begin: Begin, at: int) -> None:
    """A place before the beginning or after the end is the beginning or the end."""
    page = scroll(kept, begin().id, at)
    assert page.rows
    assert min(max(at, 0), 40) in {row.position for row in page.rows}


def test_a_session_is_read_from_both_ends_or_whole(kept: Store, begin: Begin) -> None:
    """The first 20 and the last 10, or everything and in full."""
    session = begin()
    ends = read(kept, session.id)
    assert (len(ends.first), ends.left_out, len(ends.last)) == (20, 11, 10)
    whole = read(kept, session.id, whole=True)
    assert (len(whole.first), whole.left_out, whole.last) == (41, 0, ())
    assert all(row.cut == 0 for row in whole.first)
    short = begin(said("user", "x" * 5000))
    (row,) = read(kept, short.id).first
    assert (len(row.text), row.cut) == (600, 4400)
    with pytest.raises(UnknownSession):
        read(kept, "nobody")


def test_what_is_shown_goes_through_show_whole(kept: Store, begin: Begin) -> None:
    """Also where a cut would part what gives a secret away, and in titles."""
    words = "a zebra " + "x" * 588 + "secret"
    session = begin(said("user", words), title="my secret")
    (hit,) = discover(kept, "zebra", show=hidden)
    texts = [hit.title, hit.snippet, *(row.text for row in (*hit.window, *hit.first, *hit.last))]
    texts += [row.text for row in scroll(kept, session.id, 0, show=hidden).rows]
    texts += [row.text for row in read(kept, session.id, whole=True, show=hidden).first]
    assert not [text for text in texts if "secr" in text]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples of a property."""
    with open_store(tmp_path_factory.mktemp("shared") / "s.db") as opened:
        opened.create(NewSession(id="s", dialect="openai-chat"))
        yield opened


@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=60), query=st.text(max_size=60))
def test_any_text_is_a_query(shared: Store, text: str, query: str) -> None:
    """Nothing that a person types is an error, whatever was said."""
    shared.append("s", [NewMessage(body=b'{"role":"user"}', role="user", text=text)])
    for hit in discover(shared, query, around=0):
        assert all(0 <= start <= stop <= len(hit.snippet) for start, stop in hit.spans)


def test_the_newest_and_the_oldest_go_by_when_it_was_said(kept: Store) -> None:
    """Not by when it was stored, and the same however many are asked for."""
    for number, time in enumerate((300.0, 100.0, 200.0)):
        info = kept.create(NewSession(dialect="openai-chat", title=f"t{number}", started=time))
        body = json.dumps({"role": "user", "content": "pelican"}).encode()
        rows = [NewMessage(body=body, role="user", text="pelican", time=time)] * 20
        kept.append(info.id, rows)
    for most in (1, 2, 3):
        newest = [hit.time for hit in discover(kept, "pelican", sort="newest", most=most)]
        oldest = [hit.time for hit in discover(kept, "pelican", sort="oldest", most=most)]
        assert newest == [300.0, 200.0, 100.0][:most]
        assert oldest == [100.0, 200.0, 300.0][:most]


@each_row(
    "text", ["[" * 3_000_000, "![](" * 800_000, "#" * 3_000_000, " -" * 1_500_000, "a" * 3_000_000]
)
def test_a_title_of_a_hostile_text_is_short_and_made_at_once(text: str) -> None:
    """Whatever a file says. It took minutes once, and every page of the inspector waited."""
    assert len(short_title(text)) <= TITLE_CHARS + 1


def test_no_piece_of_a_secret_is_in_a_title_that_was_cut() -> None:
    """Also where a long text is cut before its marks are taken out."""
    secret = "sk-live-" + "a1b2c3d4" * 8
    assert "sk-" not in short_title("x" * 70 + " " + secret)
    assert "sk-" not in short_title("`" * 1_980 + " " + secret)
