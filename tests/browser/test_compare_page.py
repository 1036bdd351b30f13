"""Comparisons in a browser, on real sessions."""

from __future__ import annotations

from typing import Any

import pytest

LOOKS = [("wide", "light"), ("wide", "dark"), ("phone", "light"), ("phone", "dark")]


def choose(page: Any, field: str, at: int) -> None:
    page.locator(f"#{field}").select_option(index=at)


@pytest.mark.parametrize(("size", "theme"), LOOKS)
def test_two_sessions_are_chosen_and_compared_by_keyboard(
    visitor: Any, size: str, theme: str
) -> None:
    """Two recent ones are chosen already. Their prompts are drawn in one chart, which is also told
    in words.
    """
    page = visitor.page("/inspector/lab", size=size, theme=theme)
    assert page.locator(".choose input:checked").count() == 2
    visitor.check(page)
    page.locator("input[name=b]:checked").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Two sessions", level=2).nth(1).wait_for()
    if page.locator("#fill").count():
        page.locator("#fill canvas").wait_for()
        assert "requests" in page.locator("#fill").get_attribute("aria-label")
    visitor.check(page)


def test_strategies_are_tried_on_a_session(visitor: Any) -> None:
    """A click begins, progress is told, and the tables appear by themselves."""
    page = visitor.page("/inspector/lab")
    texts = page.locator("#session option").all_text_contents()
    at = next(at for at, text in enumerate(texts) if "codex" in text)
    choose(page, "session", at)
    page.get_by_role("button", name="Choose it").click()
    page.get_by_role("button", name="Measure this session").click()
    page.get_by_text("Where Foldaway loses here").wait_for(timeout=240_000)
    address = page.url.removeprefix(visitor.origin)
    for size, theme in LOOKS:
        shown = visitor.page(address, size=size, theme=theme)
        assert shown.locator("tr.ours").first.text_content().strip().startswith("foldaway")
        assert shown.locator("svg.plot circle").count() >= 2
        visitor.check(shown)
