"""Browsers and screens: what was done to what."""

from __future__ import annotations

from typing import Any

import pytest

from foldaway.facts.digests import digest

EXAMPLES: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "mcp__playwright__browser_click",
        {"element": "Sign in", "ref": "e12"},
        (
            "### Ran Playwright code\n```js\nawait page.click()\n"
            "```\n### Page state\n- Page URL: https://example.com/login\n"
            "- Page Title: Log in\n- Page Snapshot:\n"
        ),
        (
            "mcp__playwright__browser_click 'Sign in': at https://example.com/login, 'Log "
            "in', 8 lines"
        ),
    ),
    (
        "browser_navigate",
        {"url": "https://example.com"},
        '{"success": true, "url": "https://example.com/", "title": "Example Domain"}',
        (
            "browser_navigate 'https://example.com': success=true, title=Example Domain, "
            "url=https://example.com/"
        ),
    ),
    (
        "computer",
        {"action": "left_click", "coordinate": [120, 44]},
        "Screenshot taken.",
        "computer left_click '120 44': 17 characters",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "output", "line"), EXAMPLES)
def test_a_browser_step_keeps_its_target_and_the_page(
    tool: str, arguments: dict[str, Any], output: str, line: str
) -> None:
    """With the address and the title of the page where the tool tells them."""
    assert digest(tool, arguments, output) == line
