"""The overview and the page of a compaction, as somebody uses them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import DATA, PATIENCE, Visitor, opened
from tests.browser.test_pages import press

from foldaway.gateway.inspector.message_fates import fates
from foldaway.stores.open import open_store
from foldaway.stores.values import SessionFilter

LOOKS = [("wide", "light"), ("wide", "dark"), ("tablet", "light"), ("phone", "light"),
         ("phone", "dark")]  # fmt: skip
TITLE = r"^\w+, \w+ \d+, \d{4} at \d\d:\d\d:\d\d \S+"
LEAST = 160
"""Messages of a session that fills more than one part of its page, and of each list."""
AFTER = ".lines[data-side=after]"


@pytest.fixture(scope="module")
def spent(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """Somebody who looks at files of two agents that recorded what they used."""
    if not (DATA / "native").is_dir():
        pytest.skip(f"no real sessions at {DATA / 'native'}; set FOLDAWAY_DATA")
    folder = tmp_path_factory.mktemp("files")
    for agent in ("claude-code", "codex"):
        for path in (DATA / "native" / agent).glob("*.gz"):
            (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    home = tmp_path_factory.mktemp("empty")
    with opened(str(folder), "--home", str(home)) as address:
        yield Visitor(chromium, address)


def overview(visitor: Visitor, size: str, theme: str = "light") -> Any:
    """Return the overview when all is read and replayed."""
    page = visitor.page("/inspector", size=size, theme=theme)
    expect(page.locator("#progress")).to_have_count(0, timeout=PATIENCE)
    page.wait_for_selector("#chart canvas")
    return page


@pytest.fixture(scope="session")
def compaction(home: Path) -> str:
    """The address of a compaction of a real session, a short one, that rewrote messages."""
    with open_store(home / "sessions", read_only=True) as store:
        found = store.sessions(SessionFilter(kind="any"), most=500).sessions
        for one in sorted(found, key=lambda one: one.length):
            kinds = {fate.kind for fate in fates(store, one).items} if one.view else set()
            if one.length > LEAST and {"rewritten", "folded", "kept"} <= kinds:
                return f"/inspector/session/{one.id}/compaction/{one.view}"
    raise AssertionError("no session was rewritten")


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_the_overview_leaves_no_room_empty(spent: Visitor, size: str, theme: str) -> None:
    """Cards fill their row: three of them at 1440 pixels, one on a phone."""
    page = overview(spent, size, theme)
    boxes = [one.bounding_box() for one in page.locator(".tables > .card").all()]
    rows: dict[int, list[Any]] = {}
    for box in boxes:
        rows.setdefault(round(box["y"]), []).append(box)
    whole = page.locator(".tables").bounding_box()
    for row in rows.values():
        assert min(box["x"] for box in row) == pytest.approx(whole["x"], abs=1)
        right = max(box["x"] + box["width"] for box in row)
        assert right == pytest.approx(whole["x"] + whole["width"], abs=1)
    counts = [len(row) for row in rows.values()]
    assert counts == {"wide": [3, 1, 3], "tablet": [2, 1, 1, 2, 1]}.get(size, [1] * 7)
    spent.check(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_overview_tells_of_sessions_without_a_title(visitor: Visitor, theme: str) -> None:
    """The link of a compaction of one is no word within a text that only its color tells apart."""
    page = overview(visitor, "wide", theme)
    assert "Untitled" in page.locator("section[aria-labelledby=compacted]").inner_text()
    visitor.check(page)


def test_the_overview_begins_with_a_sentence(spent: Visitor) -> None:
    """What was spent is the first thing below the heading, and the largest."""
    page = overview(spent, "wide")
    lead = page.locator(".lead")
    assert re.match(r"You spent \$\d+\.\d\d", lead.inner_text())
    size = "parseFloat(getComputedStyle({}).fontSize)"
    assert lead.evaluate(f"one => {size.format('one')}") > page.evaluate(
        size.format("document.body")
    )


def test_what_it_would_have_cost_shows_its_sum(spent: Visitor) -> None:
    """By keyboard: the bill times the quotient of two replays, for each session and together."""
    page = overview(spent, "wide")
    card = page.locator("section[aria-labelledby=otherwise]")
    paid, expected = re.findall(r"\$(\d+\.\d\d)", card.locator("p").first.inner_text())[:2]
    press(page, "section[aria-labelledby=otherwise] summary")
    sums = card.locator(".sums li").all_inner_texts()
    assert f"${paid} → ${expected}" in " ".join(sums[-1].split())
    rows = [re.findall(r"\$(\d+\.\d\d)", one) for one in sums[:-1]]
    assert len(rows) == card.locator("tbody tr").count() > 1
    assert sum(float(row[0]) for row in rows) == pytest.approx(float(paid), abs=0.05)
    assert sum(float(row[-1]) for row in rows) == pytest.approx(float(expected), abs=0.05)
    spent.check(page)


@pytest.mark.parametrize(("size", "theme"), [look for look in LOOKS if look[0] != "tablet"])
def test_rows_of_a_compaction_open_in_place(
    visitor: Visitor, compaction: str, size: str, theme: str
) -> None:
    """By keyboard, without leaving the page; a rewritten one shows its words and its new size."""
    page = visitor.page(compaction, size=size, theme=theme)
    page.wait_for_selector("#facts[aria-busy=false]")
    row = f"{AFTER} .line.f-rewritten"
    page.wait_for_selector(row)
    press(page, f"{row} > details > summary")
    diff = page.locator(f"{row} .word-diff").first
    expect(diff).to_be_visible()
    assert diff.locator("del, ins").count()
    said = page.locator(f"{row} .said p").first.inner_text()
    was, now = (int(one.replace(",", "")) for one in re.findall(r"[\d,]+\d|\d", said)[:2])
    assert now < was
    size_shown = page.locator(f"{row} summary .number").first.get_attribute("title")
    assert size_shown
    assert size_shown.startswith(f"{now:,} token")
    press(page, ".lines[data-side=before] .line.f-folded > details > summary")
    opened_row = page.locator(".lines[data-side=before] details[open] > .said").first
    expect(opened_row).not_to_contain_text("Reading …")
    assert page.url.endswith(compaction)
    visitor.check(page)


def test_an_opened_row_stays_open_when_one_scrolls(visitor: Visitor, compaction: str) -> None:
    """Other lines far from the screen are taken out of the page, this one is not."""
    page = visitor.page(compaction)
    list_ = page.locator(".lines[data-side=before]")
    page.wait_for_selector(".lines[data-side=before] .line")
    press(page, ".lines[data-side=before] .line > details > summary")
    page.locator("#find").focus()
    list_.evaluate("one => one.scrollTo(0, one.scrollHeight)")
    page.wait_for_load_state("networkidle")
    assert list_.locator("details[open]").count() == 1
    visitor.check(page)


def test_the_record_tells_apart_and_leads_to_its_messages(
    visitor: Visitor, compaction: str
) -> None:
    """The present state, then what happened; a link goes to the message of an entry."""
    page = visitor.page(compaction)
    assert page.locator(".told > h3").all_inner_texts() == ["The present state", "What happened"]
    link = page.locator(".told .from a").first
    number = int(link.inner_text().removeprefix("#"))
    press(page, ".told .from a")
    page.wait_for_selector(f"#m{number}:focus")
    visitor.check(page)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Sao_Paulo"])
def test_times_are_words_in_the_zone_of_the_reader(
    visitor: Visitor, compaction: str, zone: str
) -> None:
    """A moment ago is said so, the exact time is a hover away; without script it is ISO 8601."""
    context = visitor.browser.new_context(storage_state=visitor.state, timezone_id=zone)
    page = context.new_page()
    page.goto(visitor.origin + compaction)
    time = page.locator("#compaction time").first
    expect(time).to_have_text(re.compile(r"^(now|\d+ (second|minute)s? ago)$"))
    assert re.match(TITLE, time.get_attribute("title"))
    exact = page.evaluate(
        "one => new Date(one).toLocaleString('en', {timeStyle: 'medium', hourCycle: 'h23', "
        f"timeZone: '{zone}'}})",
        time.get_attribute("datetime"),
    )
    assert exact in time.get_attribute("title")
    context.close()
    plain = visitor.browser.new_context(storage_state=visitor.state, java_script_enabled=False)
    page = plain.new_page()
    for path in (compaction, "/inspector/sessions", compaction.partition("/compaction")[0]):
        page.goto(visitor.origin + path)
        for one in page.locator("time").all()[:5]:
            assert one.inner_text() == one.get_attribute("datetime")
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one.inner_text())
    plain.close()


def test_a_time_that_arrives_later_is_written_too(visitor: Visitor, compaction: str) -> None:
    """Messages that are loaded while one scrolls have the times of the reader."""
    page = visitor.page(compaction.partition("/compaction")[0])
    page.evaluate("scrollTo(0, document.body.scrollHeight / 2)")
    page.wait_for_load_state("networkidle")
    expect(page.locator("#talk .chunk[data-loaded]")).not_to_have_count(1)
    expect(page.locator("time:not([title])")).to_have_count(0)
    visitor.check(page)
