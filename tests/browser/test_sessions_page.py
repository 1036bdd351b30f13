"""The list of sessions and the demo in a browser: choosing, comparing, saving, deleting."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Visitor, running

from foldaway.stores.open import open_store
from foldaway.stores.values import NewMessage, NewSession, SessionFilter, TurnUsage

LOOKS = [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")]
LIST = "/inspector/sessions"


def fill(folder: Path) -> None:
    """Write a store of five sessions; the third costs most."""
    with open_store(folder / "sessions") as store:
        for number in range(5):
            body = b'{"role": "user", "content": "Repair number %d"}' % number
            store.create(
                NewSession(id=f"s{number}", dialect="openai-chat", model="gpt-5", source="pi",
                           cwd=f"/work/p{number % 2}", started=1_768_000_000.0 + number),
                messages=[NewMessage(body=body, role="user", text=f"Repair number {number}")],
            )  # fmt: skip
            tokens = 90_000 if number == 2 else 1_000
            store.add_usage(f"s{number}", TurnUsage(position=1, input_tokens=tokens))


@pytest.fixture
def alone(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Visitor, Path]]:
    """Somebody on a machine without files of agents, and the folder of the store."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    home = tmp_path / "home"
    with running("--home", str(home)) as (address, _):
        yield Visitor(chromium, address), home


@pytest.fixture
def filled(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Visitor, Path]]:
    """The same with five sessions in the store."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    home = tmp_path / "home"
    home.mkdir()
    fill(home)
    with running("--home", str(home)) as (address, _):
        yield Visitor(chromium, address), home


def names(page: Any) -> list[str]:
    return page.locator(".sessions .name").all_text_contents()


def open_list(visitor: Visitor, **look: str) -> Any:
    """Return the list with its sums counted."""
    page = visitor.page(LIST, **look)
    page.locator("td", has_text="$").first.wait_for()
    return page


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_sessions_are_chosen_and_deleted_by_keyboard(
    filled: tuple[Visitor, Path], size: str, theme: str
) -> None:
    """The page asks first, and the one that is kept in mind is the button that keeps them."""
    visitor, home = filled
    page = open_list(visitor, size=size, theme=theme)
    boxes = page.locator(".pick input")
    assert page.locator("#chosen").is_hidden()
    for at in (1, 3):
        boxes.nth(at).focus()
        page.keyboard.press("Space")
    assert page.locator("#chosen-count").inner_text() == "2 chosen"
    visitor.check(page)
    page.locator("#delete").focus()
    page.keyboard.press("Enter")
    page.get_by_role("dialog", name="Delete 2 sessions?").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Keep them"
    visitor.check(page)
    page.keyboard.press("Escape")
    assert page.locator("dialog").is_hidden()
    page.locator("#delete").click()
    page.get_by_role("button", name="Delete for good").click()
    page.get_by_text("3 sessions", exact=True).wait_for()
    visitor.check(page)
    with open_store(home / "sessions", read_only=True) as store:
        assert {one.id for one in store.sessions(SessionFilter()).sessions} == {"s0", "s2", "s4"}


def test_the_list_is_sorted_by_its_heads_and_narrowed_by_its_fields(
    filled: tuple[Visitor, Path],
) -> None:
    """The dearest first, then those of one project."""
    visitor, _ = filled
    page = open_list(visitor)
    assert names(page)[0] == "Repair number 4"
    page.get_by_role("link", name="Cost").click()
    page.locator("th[aria-sort]", has_text="Cost").wait_for()
    assert names(page)[0] == "Repair number 2"
    page.get_by_label("Project").select_option(label="p1")
    page.get_by_role("button", name="Show").click()
    page.get_by_text("2 sessions", exact=True).wait_for()
    assert sorted(names(page)) == ["Repair number 1", "Repair number 3"]
    visitor.check(page)


def test_two_are_compared_and_several_are_saved(
    filled: tuple[Visitor, Path], tmp_path: Path
) -> None:
    """Only two can be compared; what is saved is a page for each."""
    visitor, _ = filled
    page = open_list(visitor)
    boxes = page.locator(".pick input")
    for at in range(3):
        boxes.nth(at).check()
    assert page.locator("#compare").is_disabled()
    with page.expect_download() as saved:
        page.locator("#export").click()
    saved.value.save_as(tmp_path / "saved.zip")
    with zipfile.ZipFile(tmp_path / "saved.zip") as archive:
        assert len(archive.namelist()) == 3
    boxes.nth(0).uncheck()
    page.locator("#compare").click()
    page.wait_for_url(re.compile(r"/inspector/lab\?a=s3&b=s2"))
    page.get_by_role("heading", name="Two sessions", level=2).nth(1).wait_for()
    visitor.check(page)


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_the_demo_is_one_click_away_and_goes_again(
    alone: tuple[Visitor, Path], size: str, theme: str
) -> None:
    """It works without any file, and no session is left in the store."""
    visitor, home = alone
    page = visitor.page("/inspector", size=size, theme=theme)
    page.get_by_role("button", name="Open a demo session").wait_for()
    visitor.check(page)
    page.get_by_role("button", name="Open a demo session").click()
    page.get_by_role("heading", name="A demo: the orders service").wait_for()
    page.locator("#timeline canvas").first.wait_for()
    visitor.check(page)
    page.goto(f"{visitor.origin}/inspector")
    page.get_by_role("button", name="Remove it").click()
    page.get_by_role("button", name="Remove it").wait_for(state="detached")
    visitor.check(page)
    if (home / "sessions").exists():
        with open_store(home / "sessions", read_only=True) as store:
            assert store.count(SessionFilter(kind="any")) == 0
