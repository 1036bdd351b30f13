"""Search: words in context with their place, in the store and in files that nobody imported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.gateway.inspector.conftest import SECRET, Pages
from tests.gateway.inspector.native import Visit, visit, write_session
from tests.gateway.inspector.test_home import HOSTILE, text_of

from foldaway.agents.importers import sessions_in
from foldaway.agents.importers.take import take_all
from foldaway.sessions import Session, SessionOptions
from foldaway.stores import NewSession, Store, open_store
from foldaway.stores.values import SessionFilter


def places_in(page: str) -> list[str]:
    """Return the addresses of the hits."""
    return re.findall(r'<h2><a href="(/inspector/session/[^"]+)"', page)


@pytest.fixture
def made(pages: Pages) -> Visit:
    """The pages of a store with one compacted session."""
    found = Visit(pages.server)
    found.read()
    return found


def test_a_hit_is_marked_and_leads_to_its_message(made: Visit, pages: Pages) -> None:
    """The words as they stand, and where in the conversation they were said."""
    found = made.get("/inspector/search", q='"zebra 7"')
    assert places_in(found) == [f"{pages.address}?at=7#m7"]
    assert "<mark>zebra 7</mark>" in found
    assert "Message 8 of 30" in text_of(found)
    (mark,) = re.findall(r'class="hit-mark" x="([\d.]+)"', found)
    assert float(mark) == pytest.approx(7 / 30 * 1000, abs=0.1)
    assert made.get(places_in(found)[0].partition("#")[0])


def test_what_was_folded_is_found_and_said_to_be(made: Visit, pages: Pages) -> None:
    """What the model does not see any more is a part of the strip."""
    view = pages.store.view(pages.id)
    assert view is not None
    found = made.get("/inspector/search", q='"zebra 7"')
    assert "· folded by a compaction" in found
    assert 'class="folded"' in found
    assert "· folded by a compaction" not in made.get("/inspector/search", q='"zebra 29"')


def test_the_messages_around_a_hit_are_folded_away(made: Visit) -> None:
    """Two before it and two after it, in order."""
    found = made.get("/inspector/search", q='"zebra 7"')
    (around,) = re.findall(r'<details class="around">(.*?)</details>', found, re.S)
    assert re.findall(r"message (\d+)", around) == ["6", "7", "8", "9", "10"]


def test_secrets_are_neither_shown_nor_found(made: Visit) -> None:
    """Also not in the messages around a hit."""
    assert SECRET not in made.get("/inspector/search", q='"zebra 3"')
    assert places_in(made.get("/inspector/search", q=SECRET)) == []


def test_filters_narrow_the_hits(made: Visit, pages: Pages) -> None:
    """By who said it, by agent, by day, and within one conversation."""
    other = Session(
        pages.store,
        "other",
        context_length=8_000,
        options=SessionOptions(new=NewSession(dialect="openai-chat", source="codex")),
    )
    other.append({"role": "user", "content": "a zebra of my own"},
                 {"role": "assistant", "content": "that is a horse"})  # fmt: skip
    address = "/inspector/search"
    assert len(places_in(made.get(address, q="zebra"))) == 2
    assert places_in(made.get(address, q="zebra", agent="codex")) == [
        f"/inspector/session/{other.id}?at=0#m0"
    ]
    assert "said by assistant" in made.get(address, q="zebra", role="assistant")
    assert len(places_in(made.get(address, q="zebra", role="assistant"))) == 1
    assert places_in(made.get(address, q="zebra", until="2001-01-01")) == []
    within = places_in(made.get(address, q="zebra", session=pages.id, most=100))
    assert len(within) == len(set(within)) > 20
    newest = places_in(made.get(address, q="zebra", sort="newest"))
    oldest = places_in(made.get(address, q="zebra", sort="oldest"))
    assert newest[0].startswith(f"/inspector/session/{other.id}")
    assert oldest[-1].startswith(f"/inspector/session/{other.id}")


def test_words_in_a_folder_are_found_without_importing_it(tmp_path: Path) -> None:
    """`foldaway open FOLDER` has no store: its files are copied aside, when first asked."""
    write_session(tmp_path / "files", "one", "why is the zebra red", "go on")
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
        made.get("/inspector/search", q="zebra")
        made.copied()
        found = made.get("/inspector/search", q="zebra red")
        (place,) = places_in(found)
        assert "in a file" in found
        assert made.get(place.partition("#")[0])
        assert {one.name for one in tmp_path.iterdir()} == {"files", "cache"}
        assert 'id="copy"' not in found


def test_large_files_are_copied_only_if_somebody_asks(pages: Pages, tmp_path: Path) -> None:
    """Their titles are searched, a button offers the rest, and it needs the key of the page."""
    path = write_session(tmp_path / "files", "big", "the zebra of the file", "a hidden giraffe")
    with visit(pages.store, [tmp_path / "files"], tmp_path / "cache") as made:
        whole = path.read_bytes()
        with path.open("ab") as file:
            file.truncate(65 * 2**20)
        found = made.get("/inspector/search", q="zebra")
        assert len(places_in(found)) == 1
        assert "1 session in 1 file of your agents (65 MB) are not searched yet" in text_of(found)
        assert "In titles of sessions that are not searched yet the zebra" in text_of(found)
        assert places_in(made.get("/inspector/search", q="hidden giraffe")) == []
        made.copy_files(403, with_key=False)
        assert made.server.shelf.copying.progress.state.step == "waiting"
        path.write_bytes(whole)
        made.copy_files()
        found = made.get("/inspector/search", q="hidden giraffe")
        assert len(places_in(found)) == 1
        assert 'id="copy"' not in found
        assert len(places_in(made.get("/inspector/search", q="zebra"))) == 2
        assert pages.store.count(SessionFilter(kind="any")) == 1


def test_a_session_in_the_store_and_in_a_file_is_found_once(tmp_path: Path) -> None:
    """What was imported is not copied again."""
    write_session(tmp_path / "files", "one", "red zebra")
    write_session(tmp_path / "files", "two", "blue zebra")
    with open_store(tmp_path / "store") as store:
        for _ in take_all(store, sessions_in(tmp_path / "files" / "one.jsonl")):
            pass
        with visit(store, [tmp_path / "files"], tmp_path / "cache") as made:
            made.get("/inspector/search", q="zebra")
            made.copied()
            found = places_in(made.get("/inspector/search", q="zebra"))
            assert len(found) == 2
            assert sessions_of(made.server.shelf.copies().store) == ["two"]


def test_a_copy_of_a_subagent_knows_its_parent(tmp_path: Path) -> None:
    """Sessions are copied before those that come from them, whatever their files are called."""
    write_session(tmp_path / "files" / "z", "main", "red zebra")
    write_session(tmp_path / "files" / "a", "helper", "look for zebras", parent="main")
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
        made.get("/inspector/search", q="zebra")
        made.copied()
        store = made.server.shelf.copies().store
        kept = store.sessions(SessionFilter(kind="any")).sessions
        assert {one.kind: bool(one.parent_id) for one in kept} == {"main": False, "subagent": True}
        assert len(places_in(made.get("/inspector/search", q="look"))) == 0
        assert len(places_in(made.get("/inspector/search", q="look", subagents=1))) == 1


def test_hostile_words_are_text(tmp_path: Path) -> None:
    """In the query, the hit and what is around it."""
    write_session(tmp_path / "files", "bad", HOSTILE, f"zebra {HOSTILE}", HOSTILE)
    with visit(None, [tmp_path / "files"], tmp_path / "cache") as made:
        made.get("/inspector/search", q="zebra")
        made.copied()
        for q in ("zebra", "alert", HOSTILE, "\x00", "\ud800".encode("utf-8", "replace")):
            found = made.get("/inspector/search", q=q)
            assert "<script>alert" not in found
            assert "<img" not in found
            assert "\u202e" not in "".join(re.findall(r'<p class="said">(.*?)</p>', found))
        assert places_in(made.get("/inspector/search", q="zebra"))


def sessions_of(store: Store) -> list[str]:
    """Return the agents' ids of all sessions."""
    return [one.source_id for one in store.sessions(SessionFilter(kind="any")).sessions]
