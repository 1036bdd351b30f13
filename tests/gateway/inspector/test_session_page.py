"""The page of a session: its messages, what became of them, and where it comes from."""

from __future__ import annotations

import re

import pytest
from tests.gateway.inspector.conftest import Pages

from foldaway.gateway.inspector.message_fates import fates
from foldaway.gateway.inspector.session_page import CHUNK
from foldaway.sessions import short_title

PLACES = re.compile(r'<article class="row f-(\w+)" id="(\w)(\d+)"')


def rows(text: str) -> list[tuple[str, str, int]]:
    """Return the messages of a page: what became of each, in which list, at which place."""
    return [(fate, kind, int(place)) for fate, kind, place in PLACES.findall(text)]


def test_every_message_is_on_one_page_with_what_became_of_it(pages: Pages) -> None:
    """The margin says what the view does."""
    info = pages.store.session(pages.id)
    known = fates(pages.store, info)
    found = rows(pages.get(f"{pages.address}/rows?start=0&stop={CHUNK}"))
    assert [place for _, _, place in found] == list(range(info.length))
    assert all(fate == known.at(place).kind for fate, _, place in found)
    assert {"kept", "folded"} <= {fate for fate, _, _ in found}


def test_what_the_model_sees_is_shown_whole(pages: Pages) -> None:
    """As many messages as the view has, and the summary opens what it stands for."""
    known = fates(pages.store, pages.store.session(pages.id))
    text = pages.get(f"{pages.address}?show=view")
    assert len(rows(text)) == known.shown
    opened = {
        (int(a), int(b)) for a, b in re.findall(r'data-start="(\d+)" data-stop="(\d+)"', text)
    }
    folded = {(one.start, one.stop) for one in known.items if one.kind == "folded"}
    assert folded <= opened


@pytest.mark.parametrize("query", ["?start=5&stop=9", "?start=0&stop=0", "?start=29&stop=500"])
def test_a_part_has_what_was_asked_for(pages: Pages, query: str) -> None:
    """Never more than a chunk, never past the end."""
    start, stop = map(int, re.findall(r"\d+", query))
    found = rows(pages.get(f"{pages.address}/rows{query}"))
    assert [place for _, _, place in found] == list(range(start, min(stop, 30)))


def test_a_message_can_be_had_as_text(pages: Pages) -> None:
    """All of it, as plain text."""
    assert pages.get(f"{pages.address}/message/4").startswith("zebra 4")


def test_branches_and_subagents_are_a_tree(pages: Pages) -> None:
    """Each below the session that it comes from, with what it is."""
    info = pages.store.session(pages.id)
    branch = pages.store.create(
        info.branch("Another way"), parent_id=info.id, descent="branch", at=6
    )
    pages.store.create(branch.branch("A helper"), parent_id=branch.id, descent="delegation")
    text = pages.get(pages.address)
    tree = re.findall(r'<li class="d(\d)".*?<span class="dim">(.*?)</span>', text, re.S)
    assert tree == [("0", ""), ("1", "branch from #6"), ("2", "subagent")]
    assert f'href="/inspector/session/{branch.id}"' in text
    assert "Another way" in pages.get(f"/inspector/session/{branch.id}")


def test_a_reference_leads_to_its_first_message(pages: Pages) -> None:
    """From wherever a summary names it."""
    fold, *_ = [one for one in fates(pages.store, pages.store.session(pages.id)).items
               if one.kind == "folded"]  # fmt: skip
    found = pages.client.get(f"{pages.address}/reference/{fold.reference}")
    assert found.headers["location"].endswith(f"?at={fold.start}#m{fold.start}")


def test_the_title_is_that_of_the_list(pages: Pages) -> None:
    """On one short line, without the signs of Markdown."""
    text = "## Fix the **parser** of `config.py` " + "and then its many friends " * 9
    made = pages.store.create(pages.store.session(pages.id).branch(text))
    (heading,) = re.findall(r"<h1>(.*?)</h1>", pages.get(f"/inspector/session/{made.id}"))
    assert heading == short_title(text)
    assert heading.startswith("Fix the parser of config.py and")


def test_a_pin_is_shown(pages: Pages) -> None:
    """Where the message is, and nowhere else."""
    pages.store.pin(pages.id, 3)
    assert pages.get(f"{pages.address}/rows").count('class="chip pinned"') == 1


def test_a_session_without_messages_has_a_page(pages: Pages) -> None:
    """It says that nothing was sent."""
    made = pages.store.create(pages.store.session(pages.id).branch("Empty"))
    assert "Nothing was sent to a model yet" in pages.get(f"/inspector/session/{made.id}")
