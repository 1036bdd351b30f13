"""A page as one file, opened without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(("size", "theme"), [("wide", "light"), ("phone", "dark")])
def test_a_saved_page_opens_by_itself(visitor: Any, tmp_path: Path, size: str, theme: str) -> None:
    """From a file: no error, no request, its chart is drawn and light turns dark by keyboard."""
    page = visitor.page("/inspector/lab")
    names = page.eval_on_selector_all("#session option", "all => all.map(one => one.value)")
    pair = next(
        address for other in names[2:]
        if (address := f"/inspector/lab?a={names[1]}&b={other}")
        and 'id="fill"' in page.request.get(visitor.origin + address).text()
    )  # fmt: skip
    page.goto(visitor.origin + pair)
    with page.expect_download() as saved:
        page.get_by_label("Save this page as one file").click()
    path = tmp_path / saved.value.suggested_filename
    saved.value.save_as(path)
    wrong: list[str] = []
    asked: list[str] = []
    width = {"wide": 1440, "phone": 390}[size]
    context = visitor.browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme
    )
    shown = context.new_page()
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(path.as_uri())
    shown.locator("#fill canvas").wait_for()
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.locator("#theme").focus()
    shown.keyboard.press("Enter")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert not [url for url in asked if not url.startswith(("file:", "data:"))]
    assert len([url for url in asked if url.startswith("file:")]) == 1
    assert not wrong
    assert shown.locator("form, input, select").count() == 0
    context.close()


def addresses(visitor: Any) -> dict[str, str]:
    """Return an address of each kind of page; the session is one that was compacted."""
    page = visitor.page("/inspector/sessions")
    links = "all => all.map(one => one.getAttribute('href'))"
    for session in page.eval_on_selector_all("main a[href*='/inspector/session/']", links):
        page.goto(visitor.origin + session)
        made = page.eval_on_selector_all(".steps a[href*='/compaction/']", links)
        if made:
            return {
                "home": "/inspector", "sessions": "/inspector/sessions",
                "search": "/inspector/search?q=error", "session": session.partition("?")[0],
                "compaction": made[0],
            }  # fmt: skip
    raise AssertionError("no session was compacted")


def test_every_kind_of_page_opens_as_a_file(visitor: Any, tmp_path: Path) -> None:
    """No error, no request, nothing that still waits for a server; on a phone nothing is cut."""
    wrong: list[str] = []
    context = visitor.browser.new_context(viewport={"width": 390, "height": 844})
    shown = context.new_page()
    shown.on("pageerror", lambda error: wrong.append(str(error)))
    shown.on("console", lambda said: said.type == "error" and wrong.append(said.text))
    shown.on("requestfailed", lambda request: wrong.append(request.url))
    page = visitor.page("/inspector/live")
    for name, address in addresses(visitor).items():
        asked = visitor.origin + address + ("&" if "?" in address else "?") + "export=1"
        if name in ("session", "compaction"):
            asked = f"{visitor.origin}{address}/export"
        path = tmp_path / f"{name}.html"
        path.write_bytes(page.request.get(asked).body())
        shown.goto(path.as_uri())
        shown.wait_for_timeout(300)
        assert not wrong, (name, wrong)
        assert shown.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name
        assert shown.locator("main").inner_text().strip(), name
        assert shown.locator("button:not(#theme, [data-view]), form, input").count() == 0, name
        if name == "session":
            shown.locator("#timeline canvas").wait_for()
            assert shown.locator("article.row, .row").count() > 40
        if name == "compaction":
            assert "Looking through" not in shown.locator("#facts").inner_text()
            assert shown.locator(".lines .line").count() > 10
    context.close()


def test_a_saved_page_that_was_changed_does_not_run(visitor: Any, tmp_path: Path) -> None:
    """A script that somebody adds to the file is not among those that its policy names."""
    page = visitor.page("/inspector/live")
    html = page.request.get(f"{visitor.origin}/inspector/live?export=1").text()
    path = tmp_path / "page.html"
    path.write_text(html.replace("</body>", "<script>window.evil = 1</script></body>"))
    context = visitor.browser.new_context()
    shown = context.new_page()
    shown.goto(path.as_uri())
    assert shown.evaluate("window.evil") is None
    assert shown.evaluate("fetch('http://127.0.0.1:9/').then(() => 1, () => 0)") == 0
    context.close()
