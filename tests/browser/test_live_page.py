"""The live page in a browser, in front of a gateway through which an agent talks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.inspector.serving import TOKEN, gateway_with_pages

from foldaway.testing import ModelServer

HOSTILE = "<img src=x onerror=alert(1)> \x1b[31mred \u202eright"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A gateway with pages whose conversations are compacted after a few steps."""
    folder = tmp_path_factory.mktemp("gateway")
    with ModelServer("Done.") as model, gateway_with_pages(folder, model, 16_000) as url:
        yield url


def talk(url: str, name: str, steps: range) -> None:
    """Send a conversation step by step."""
    messages: list[Any] = [{"role": "user", "content": f"Repair {name}. {HOSTILE}"}]
    for at in range(steps.stop):
        function = {"name": "read_file", "arguments": f'{{"path": "src/{at}.py"}}'}
        call = {"id": f"call_{at}", "type": "function", "function": function}
        text = f"{name} {at}: the parser of module_{at}.py fails at line {at * 7}; " * 25
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{at}", "content": text},
        ]
        if at in steps:
            tools = [{"type": "function", "function": {"name": "read_file"}}]
            httpx.post(
                f"{url}/v1/chat/completions", timeout=60,
                json={"model": "gpt-5", "messages": messages, "tools": tools},
                headers={"x-foldaway-session": name, "user-agent": "opencode/1.0"},
            ).raise_for_status()  # fmt: skip


def test_the_page_that_asks_for_the_token_takes_it(chromium: Any, gateway: str) -> None:
    """A browser must say where the form comes from, and says it only to pages that allow that."""
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{gateway}/inspector/live")
        page.get_by_label("The token of this server").fill("wrong")
        page.get_by_role("button", name="Enter").click()
        page.get_by_role("alert").wait_for()
        page.get_by_label("The token of this server").fill(TOKEN)
        page.get_by_role("button", name="Enter").click()
        page.wait_for_url("**/inspector")


@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_happens_appears_by_itself(
    visit: Callable[..., Any], gateway: str, size: str, theme: str
) -> None:
    """A conversation appears, fills its window and is compacted while somebody looks, and what
    has the focus keeps it.
    """
    visitor, name = visit(f"{gateway}/inspector/live", TOKEN), f"{size} {theme}"
    page = visitor.page("/inspector/live", size=size, theme=theme)
    page.get_by_text("connected", exact=True).wait_for()
    talk(gateway, name, range(2))
    title = page.get_by_role("link", name=f"Repair {name}.")
    title.wait_for()
    title.focus()
    talk(gateway, name, range(2, 40))
    row = page.locator(".live-row", has_text=f"Repair {name}.")
    row.get_by_text("compaction 1:").or_(row.get_by_text("compaction 2:")).wait_for()
    assert page.evaluate("document.activeElement.textContent").startswith(f"Repair {name}.")
    assert (
        row.locator("svg[role=img]").get_attribute("aria-label").endswith("of the window is filled")
    )
    feed = page.locator(".feed")
    for kind in ("request", "tool", "compaction"):
        feed.locator(f".step-{kind}").first.wait_for()
    assert "$" in feed.locator(".step-request .number").first.inner_text()
    visitor.check(page)


def test_notices_come_before_and_after_a_compaction(
    visit: Callable[..., Any], gateway: str
) -> None:
    """By the browser if its user asked for that, and on the page in any case."""
    page = visit(f"{gateway}/inspector/live", TOKEN).page("/inspector/live")
    page.evaluate("""() => {
        window.shown = [];
        window.Notification = class { constructor(title) { window.shown.push(title); } };
        Notification.requestPermission = async () => "granted";
    }""")
    page.get_by_text("connected", exact=True).wait_for()
    button = page.get_by_role("button", name="Notify me of compactions")
    button.focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Notifications are on").wait_for()
    page.wait_for_timeout(400)  # the first look only learns what was said before
    talk(gateway, "notices", range(40))
    page.wait_for_function("window.shown.includes('Foldaway: Compacted')")
    shown = page.evaluate("window.shown")
    assert shown.index("Foldaway: Compacted") > 0, shown
    assert "compact" in page.locator("#said").text_content().lower()  # or that the next is near


def test_a_file_that_is_written_to_is_shown_without_a_gateway(visitor: Any, tmp_path: Path) -> None:
    """`foldaway open` says how to get a gateway."""
    page = visitor.page("/inspector/live")
    page.get_by_text("foldaway serve").wait_for()
    page.get_by_text("reading files", exact=True).wait_for()
    visitor.check(page)
