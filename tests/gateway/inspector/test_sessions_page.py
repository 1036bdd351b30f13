"""The list of sessions: its order, what it can be narrowed by, and several sessions at once; and
the demo session.
"""

from __future__ import annotations

import html
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gateway.inspector.conftest import SECRET, Pages
from tests.gateway.inspector.native import MODEL, Visit, visit, write_session
from tests.gateway.inspector.test_home import names_in, text_of, titles_in

from foldaway.caching import PriceList
from foldaway.gateway.inspector.addresses import Choice
from foldaway.gateway.inspector.session_list import list_sessions
from foldaway.gateway.inspector.session_sources import DEMO
from foldaway.stores import NewSession, Store, TurnUsage, open_store

LIST = "/inspector/sessions"
ORDERS = ("", "cost", "used_tokens", "compactions", "cwd", "model", "source")


@pytest.fixture
def store() -> Iterator[Store]:
    """Nine sessions of three agents; every second one used something."""
    with open_store(":memory:") as made:
        for number in range(9):
            made.create(
                NewSession(
                    id=f"s{number}", title=f"stored {number}", started=1_768_000_000.0 + number,
                    source=("pi", "codex", "")[number % 3], cwd=f"/work/p{number % 2}",
                    model=(MODEL, "gpt-5")[number % 2],
                )
            )  # fmt: skip
            if number % 2:
                made.add_usage(f"s{number}", TurnUsage(input_tokens=1_000 * number, model=MODEL))
        yield made


@pytest.fixture
def page(store: Store, tmp_path: Path) -> Iterator[Visit]:
    """The pages of that store, and of three sessions in files."""
    write_session(tmp_path / "files", "one", "red zebra", "and then", project="/work/p1")
    write_session(tmp_path / "files", "two", "blue zebra", project="/work/p0")
    write_session(tmp_path / "files", "three", "green giraffe", project="/work/zoo")
    with visit(store, [tmp_path / "files"], tmp_path / "cache") as made:
        yield made


@pytest.mark.parametrize("order", ORDERS)
def test_every_order_has_every_session_once(page: Visit, order: str) -> None:
    """Stored ones and those of files together, from page to page."""
    shelf, spending = page.server.shelf, page.server.spending.spending
    whole = list_sessions(shelf, spending, Choice(order=order), most=99).rows
    found: list[str] = []
    after = ""
    while True:
        part = list_sessions(shelf, spending, Choice(order=order), most=5, after=after)
        found += [row.name for row in part.rows]
        after = part.next
        if not after:
            break
    assert found == [row.name for row in whole]
    assert len(set(found)) == 12
    values = [row.place[0] for row in whole]
    is_named = order in ("cwd", "model", "source")
    assert values == sorted(values, reverse=not is_named)  # pyright: ignore


def test_the_sums_of_a_list_are_those_that_the_store_keeps(page: Visit, store: Store) -> None:
    """Nothing else is read for them, and the dearest session comes first."""
    row = re.findall(r"<tr>.*?</tr>", page.get(LIST, order="cost"), re.S)[1]
    assert "stored 7" in row
    cost = PriceList().cost(TurnUsage(input_tokens=7_000, model=MODEL))
    assert store.session("s7").cost == cost
    assert "7.0k" in text_of(row)
    assert 'aria-sort="descending"' in page.get(LIST, order="cost")


def test_a_list_is_narrowed_by_project_and_model(page: Visit) -> None:
    """The names are offered, and what fits is counted."""
    said = page.get(LIST)
    for name in ("/work/p1", "/work/zoo", "gpt-5", "codex", "claude-code"):
        assert f'<option value="{name}">' in said
    found = page.get(LIST, project="/work/p1")
    assert sorted(titles_in(found)) == ["red zebra", "stored 1", "stored 3", "stored 5", "stored 7"]
    assert "5 sessions" in text_of(found)
    assert sorted(titles_in(page.get(LIST, model="gpt-5", project="/work/p1"))) == [
        "stored 1", "stored 3", "stored 5", "stored 7",
    ]  # fmt: skip
    page.get(LIST, 404, order="key")


def test_a_folder_with_a_secret_is_in_no_address(store: Store, tmp_path: Path) -> None:
    """It is neither offered nor in the mark of the next page."""
    for number in range(60):
        store.create(NewSession(id=f"x{number}", cwd=f"/{SECRET}", started=5.0))
    with visit(store, [], tmp_path / "cache") as made:
        for after in ("", "x30"):
            said = made.get(LIST, order="cwd", after=after)
            assert SECRET not in html.unescape(said)
            assert 'rel="next"' in said or after


def test_titles_are_short_and_without_markdown(tmp_path: Path) -> None:
    """As the commands show them."""
    write_session(tmp_path / "f", "one", "--- Input: --- ## Determining **the** `cause` of it")
    with visit(None, [tmp_path / "f"], tmp_path / "cache") as made:
        assert titles_in(made.get(LIST)) == ["Input: Determining the cause of it"]


def test_several_sessions_are_deleted_together(pages: Pages) -> None:
    """With the key of the page alone; all or none, and none of a file."""
    pages.store.create(NewSession(id="other"))
    address = f"{LIST}/delete"
    pages.post(address, 403, with_key=False, sessions=[pages.id])
    pages.post(address, 404, sessions=[pages.id, "nothing"])
    assert pages.store.session(pages.id)
    gone = pages.post(address, sessions=[pages.id, "other"])
    assert gone["sessions"] == 2
    assert names_in(pages.get(LIST)) == []


def test_a_session_of_a_file_is_not_deleted(page: Visit) -> None:
    """Files of agents are only read."""
    [name] = [one for one in names_in(page.get(LIST)) if one.startswith("file-")][:1]
    terms = page.server.terms
    headers = {"origin": "http://127.0.0.1:80", "x-foldaway-page": terms.page_key}
    found = page.client.post(f"{LIST}/delete", json={"sessions": [name, "s1"]}, headers=headers)
    assert found.status_code == 403
    assert "Delete its file" in found.text
    assert "stored 1" in page.get(LIST)


def test_several_sessions_are_saved_as_files(pages: Pages) -> None:
    """One page each, without secrets and keys."""
    found = pages.client.get(f"{LIST}/export", params={"id": [pages.id, pages.id]})
    with zipfile.ZipFile(io.BytesIO(found.content)) as archive:
        [name] = archive.namelist()
        said = archive.read(name).decode()
    assert name == f"foldaway-session-{pages.id}.html"
    assert "zebra 29" in said
    assert SECRET not in said
    assert pages.server.terms.page_key not in said


def test_the_demo_is_opened_and_removed(tmp_path: Path) -> None:
    """It is compacted, can be compacted again, and is in no store of the person."""
    with open_store(":memory:") as store, visit(store, [], tmp_path / "cache") as made:
        assert "Open a demo session" in made.get("/inspector")
        assert "Remove it" not in made.get("/inspector")
        headers = {
            "origin": "http://127.0.0.1:80", "x-foldaway-page": made.server.terms.page_key,
        }  # fmt: skip
        assert made.client.post("/inspector/demo").status_code == 403
        address = ""
        for _ in range(2):
            address = made.client.post("/inspector/demo", headers=headers).json()["address"]
        assert address == f"/inspector/session/{DEMO}"
        assert set(re.findall(rf"{address}/compaction/(\d)", made.get(address))) >= {"1", "2"}
        assert made.get(f"{address}/compaction/2")
        assert ">a demo</li>" in made.get(address)
        assert "read from a file" not in made.get(address)
        assert "Remove it" in made.get("/inspector")
        assert titles_in(made.get(LIST)) == []
        found = made.client.request("DELETE", "/inspector/demo", headers=headers).json()
        assert found["address"] == "/inspector"
        made.get(address, 404)
        assert "Remove it" not in made.get("/inspector")


def test_comparing_begins_with_two_recent_sessions(page: Visit) -> None:
    """They are chosen already; a trial is offered only if what it needs is installed."""
    said = page.get("/inspector/lab")
    names = names_in(page.get(LIST))
    for field, name in (("a", names[0]), ("b", names[1])):
        assert re.search(rf'name="{field}" value="{name}" required checked', said)
    assert ("Choose it" in said) is ("foldaway[lab]" not in said)
