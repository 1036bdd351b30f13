"""Every page on real sessions of six agents: no fault, nothing cut off, usable by keyboard."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter, SessionInfo


def press(page: Any, where: str) -> None:
    """Use a button or link by the keyboard alone."""
    page.locator(where).first.focus()
    page.keyboard.press("Enter")


LOOKS = [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")]


@pytest.fixture(scope="session")
def sessions(home: Path) -> dict[str, SessionInfo]:
    """For each agent its longest session, with what was compacted first."""
    with open_store(home / "sessions", read_only=True) as store:
        found = store.sessions(SessionFilter(kind="any"), most=500).sessions
    order = sorted(found, key=lambda one: (one.view > 0, one.length))
    return {one.source: one for one in order}


@pytest.fixture(scope="session")
def compacted(sessions: dict[str, SessionInfo]) -> SessionInfo:
    """The longest session that was compacted."""
    return max((one for one in sessions.values() if one.view), key=lambda one: one.length)


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_every_page_is_whole_in_every_look(
    visitor: Any, sessions: dict[str, SessionInfo], compacted: SessionInfo, size: str, theme: str
) -> None:
    """No script error, no other host, nothing wider than the screen, nothing found by axe."""
    address = f"/inspector/session/{compacted.id}"
    paths = ["/inspector", "/inspector/sessions", "/inspector/search?q=error", "/inspector/live",
             "/inspector/lab", f"{address}?show=view", f"{address}/compaction",
             f"{address}/compaction/{compacted.view}", f"{address}/request/2",
             f"{address}/window", f"{address}/window?by=message",
             *(f"/inspector/session/{one.id}" for one in sessions.values())]  # fmt: skip
    assert len(sessions) >= 5
    for path in paths:
        page = visitor.page(path, size=size, theme=theme)
        visitor.check(page)
        page.context.close()


def test_the_window_is_drawn_and_leads_to_the_request(visitor: Any, compacted: SessionInfo) -> None:
    """Enter in the chart opens the request that it is at; what is said of it is beside it."""
    page = visitor.page(f"/inspector/session/{compacted.id}")
    chart = page.locator("#timeline")
    assert chart.locator("canvas").count() == 1
    chart.focus()
    page.keyboard.press("End")
    tip = page.locator("#pointed")
    assert tip.inner_text().startswith("Request")
    page.keyboard.press("Home")
    assert re.match(r"Requests? 1\b", tip.inner_text())
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/request/\d+$"))
    visitor.check(page)


def test_a_tooltip_is_at_the_pointer_and_moves_nothing(
    visitor: Any, compacted: SessionInfo
) -> None:
    """Beside the pointer, inside the chart; a click there opens that request."""
    page = visitor.page(f"/inspector/session/{compacted.id}")
    over = page.locator("#timeline .u-over").bounding_box()
    height = "document.querySelector('.two').scrollHeight"
    before = page.evaluate(height)
    for share in (0.2, 0.7):
        at = over["x"] + over["width"] * share
        page.mouse.move(at, over["y"] + over["height"] / 2)
        tip = page.locator("#pointed").bounding_box()
        assert min(abs(tip["x"] - at), abs(tip["x"] + tip["width"] - at)) < 20
        assert page.evaluate(height) == before
    said = page.locator("#pointed").inner_text()
    visitor.check(page)
    page.mouse.click(at, over["y"] + over["height"] / 2)
    page.wait_for_url(re.compile(r"/request/\d+$"))
    number = page.url.rpartition("/")[2]
    assert re.search(rf"\b{number}\b", said.splitlines()[0])


@pytest.mark.parametrize("size", ["wide", "phone"])
def test_the_chart_stays_in_sight_while_the_conversation_scrolls(
    visitor: Any, compacted: SessionInfo, size: str
) -> None:
    """On a wide screen beside it, on a phone above it; no message is hidden behind it."""
    at = compacted.length // 2
    page = visitor.page(f"/inspector/session/{compacted.id}?at={at}#m{at}", size=size)
    page.wait_for_selector(f"#m{at}:focus")
    expect(page.locator("#timeline")).to_be_in_viewport(ratio=0.9)
    chart, row = (page.locator(one).bounding_box() for one in ("#timeline", f"#m{at}"))
    assert row["y"] >= chart["y"] + chart["height"] or row["x"] >= chart["x"] + chart["width"]
    visitor.check(page)


def test_the_chart_has_an_axis_of_time(visitor: Any, compacted: SessionInfo) -> None:
    """And below it what each request cost, or how long its answer took."""
    page = visitor.page(f"/inspector/session/{compacted.id}")
    page.locator("[data-axis=time]").focus()
    page.keyboard.press("Enter")
    assert page.locator("[data-axis=time]").get_attribute("aria-pressed") == "true"
    labels = page.locator("#timeline .u-axis").first.bounding_box()
    assert labels["height"] >= 46, "two lines, the time and the day, have no room"
    for name in ("cost", "seconds", "paid"):
        page.locator("#lower").select_option(name)
        assert page.locator("#paid canvas").count() == 1
    page.locator("#timeline").focus()
    page.keyboard.press("End")
    said = page.locator("#pointed").inner_text()
    assert re.match(r"Request[^\n]*\s[A-Z][a-z]{2} \d+, \d{4}, \d\d:\d\d\n", said), (
        "as on the whole page"
    )
    visitor.check(page)


def test_a_request_leads_to_the_next_one_and_to_what_is_new(
    visitor: Any, compacted: SessionInfo
) -> None:
    """By links, which the keyboard reaches too."""
    page = visitor.page(f"/inspector/session/{compacted.id}/request/9")
    press(page, "a[rel=next]")
    page.wait_for_url(re.compile(r"/request/10$"))
    press(page, "a[rel=prev]")
    page.wait_for_url(re.compile(r"/request/9$"))
    press(page, "#to-new")
    page.wait_for_selector(".row.sent-new:focus")
    assert page.locator(".row.sent-from").count() > 0
    visitor.check(page)
    answer = page.request.get(visitor.origin + page.locator("text=As JSON").get_attribute("href"))
    assert answer.json()["messages"]


def test_a_tile_leads_to_its_row_where_it_is_folded(visitor: Any, compacted: SessionInfo) -> None:
    """By keyboard alone; the store has it, and an undo shows it again."""
    page = visitor.page(f"/inspector/session/{compacted.id}/window?by=message")
    row = page.locator("tr:has([data-do=fold])").first.get_attribute("id")
    press(page, f".tiles:not(.narrow-only) a[href='#{row}']")
    assert page.locator(f"#{row}:target").count() == 1
    with page.expect_navigation():
        press(page, f"#{row} [data-do=fold]")
    press(page, "text=Look at the last change")
    page.wait_for_url(re.compile(r"/compaction/\d+$"))
    press(page, "#undo")
    page.wait_for_url(re.compile(rf"/session/{compacted.id}$"))
    visitor.check(page)


def test_a_tile_is_pinned_and_unpinned(visitor: Any, compacted: SessionInfo) -> None:
    """A pin is kept by the store."""
    page = visitor.page(f"/inspector/session/{compacted.id}/window?by=message")
    row = page.locator("tr:has([data-do=pin])").first.get_attribute("id")
    for now, then in (("pin", "unpin"), ("unpin", "pin")):
        press(page, f"#{row} [data-do={now}]")
        page.wait_for_selector(f"#{row} [data-do={then}]")
    visitor.check(page)


def test_a_summary_opens_its_originals_in_place(visitor: Any, compacted: SessionInfo) -> None:
    """What was folded is one click away, by keyboard too."""
    page = visitor.page(f"/inspector/session/{compacted.id}?show=view")
    button = page.locator(".row > .originals").first
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".inner .row")
    assert button.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Shift+Tab")
    button.focus()
    page.keyboard.press("Enter")
    assert page.locator(".inner").count() == 0


def test_a_long_conversation_stays_small_in_the_page(visitor: Any, compacted: SessionInfo) -> None:
    """Only what is near the screen is in the page, wherever one scrolls."""
    page = visitor.page(f"/inspector/session/{compacted.id}")
    for share in (0.25, 0.5, 0.75, 1.0):
        page.evaluate(f"scrollTo(0, document.body.scrollHeight * {share})")
        page.wait_for_load_state("networkidle")
    last = compacted.length - 1
    page.goto(f"{page.url.partition('?')[0]}?at={last}#m{last}")
    page.wait_for_selector(f"#m{last}")
    assert page.locator("#talk .row").count() <= 240
    visitor.check(page)


def test_a_message_is_pinned_and_unpinned(visitor: Any, compacted: SessionInfo) -> None:
    """A pin is kept by the store: another visit sees it."""
    path = f"/inspector/session/{compacted.id}?at=3#m3"
    page = visitor.page(path)
    press(page, "#m3 .pin")
    page.wait_for_selector("#m3 .chip.pinned")
    again = visitor.page(path)
    assert again.locator("#m3 .pinned").count() == 1
    press(again, "#m3 .pin")
    again.wait_for_selector("#m3 .chip.pinned", state="detached")
    visitor.check(again)


def test_a_compaction_shows_both_sides_and_what_was_used_later(
    visitor: Any, compacted: SessionInfo
) -> None:
    """Lines on both sides, entries that lead to their messages, facts that are kept or lost."""
    page = visitor.page(f"/inspector/session/{compacted.id}/compaction/{compacted.view}")
    page.wait_for_selector(".lines[data-side=before] .line")
    page.wait_for_selector(".lines[data-side=after] .line")
    page.wait_for_selector("#facts[aria-busy=false]")
    assert page.locator(".entries a").count() > 3
    press(page, ".entries a")
    page.wait_for_selector(".row:focus")
    visitor.check(page)


def test_the_slider_redraws_from_what_is_known(visitor: Any, compacted: SessionInfo) -> None:
    """After the first answer every size is drawn without asking again."""
    page = visitor.page(f"/inspector/session/{compacted.id}/compaction")
    expect(page.locator("#trial-said")).to_contain_text("tokens", timeout=60_000)
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    seen = set()
    page.locator("#size").focus()
    page.keyboard.press("Home")
    for _ in range(9):
        said = page.locator("#trial-said").inner_text()
        assert "Working" not in said
        seen.add(said)
        page.keyboard.press("ArrowRight")
    assert len(seen) > 3
    assert not asked
    visitor.check(page)


def test_compact_with_a_focus_and_undo(visitor: Any, sessions: dict[str, SessionInfo]) -> None:
    """Both are done by the page, and the store has them."""
    info = max((one for one in sessions.values() if not one.view), key=lambda one: one.length,
               default=max(sessions.values(), key=lambda one: one.length))  # fmt: skip
    page = visitor.page(f"/inspector/session/{info.id}/compaction")
    expect(page.locator("#trial-said")).to_contain_text("tokens", timeout=60_000)
    page.locator("#focus").fill("the tests")
    page.locator("#size").focus()
    page.keyboard.press("Home")
    expect(page.locator("#trial-said")).to_contain_text("tokens", timeout=60_000)
    press(page, "#compact")
    page.wait_for_url(re.compile(r"/compaction/\d+$"))
    visitor.check(page)
    press(page, "#undo")
    page.wait_for_url(re.compile(rf"/session/{info.id}$"))
    visitor.check(page)


def test_the_theme_can_be_chosen(visitor: Any) -> None:
    """The choice outlives the page."""
    page = visitor.page("/inspector", theme="light")
    press(page, "#theme")
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    visitor.check(page)


def test_search_from_the_keyboard(visitor: Any) -> None:
    """A slash goes to the search, Enter finds, Tab reaches the first hit."""
    page = visitor.page("/inspector")
    page.keyboard.press("/")
    page.keyboard.type("error")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("q=error"))
    visitor.check(page)


def test_what_a_session_would_have_cost_is_replayed_on_request(
    visitor: Any, compacted: SessionInfo
) -> None:
    """One click from the page of the session."""
    page = visitor.page(f"/inspector/session/{compacted.id}")
    press(page, "details[data-part] summary")
    expect(page.locator("details[data-part] .figures")).to_contain_text("$", timeout=60_000)
    visitor.check(page)


def test_a_step_of_the_timeline_leads_to_its_compaction(
    visitor: Any, compacted: SessionInfo
) -> None:
    """Where the line stands, a click opens what happened there."""
    page = visitor.page(f"/inspector/session/{compacted.id}")
    over = page.locator("#timeline .u-over")
    box = over.bounding_box()
    page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 12)
    page.wait_for_url(re.compile(r"/compaction/\d+$"))
    visitor.check(page)


def test_a_message_is_pinned_from_the_page_of_a_compaction(
    visitor: Any, compacted: SessionInfo
) -> None:
    """Each line has its pin."""
    page = visitor.page(f"/inspector/session/{compacted.id}/compaction/{compacted.view}")
    where = ".lines[data-side=before] .line[data-position='4'] .pin"
    page.wait_for_selector(where)
    press(page, where)
    expect(page.locator(where)).to_have_text("unpin")
    press(page, where)
    expect(page.locator(where)).to_have_text("pin")
    visitor.check(page)
